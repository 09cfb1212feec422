//===- Report.cpp - a program as a page -----------------------------------===//

#include "tools/Report.h"
#include "frontend/diagnostics/Source.h"
#include "ir/program/Program.h"
#include "passes/OutputFile.h"
#include "passes/memory/BufferKinds.h"
#include "passes/memory/Offsets.h"
#include "passes/precision/Policy.h"
#include "passes/precision/Roundings.h"
#include "runtime/base/ElementType.h"
#include "runtime/base/Printable.h"
#include "tools/ProgramPlan.h"
#include "tools/ReportTexts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;
using llvm::json::OStream;

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

static std::string mebibytes(int64_t bytes) { return llvm::formatv("{0:f2}", static_cast<double>(bytes) / (1 << 20)); }

static std::string textOf(NamedTensorType type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  StringRef inner = text;
  inner.consume_front("!tsr.tensor<"), inner.consume_back(">");
  return inner.str();
}

/// The rules by which values are rounded.
static std::string describeRounding(const ComputeSettings &settings) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "Contractions multiply " << settings.reducedType << " values and accumulate in f32; values in memory are "
      << settings.reducedType << " where this table says so. Everything else is f32.";
  if (settings.fp8)
    out << " GEMMs with weight matrices multiply fp8 values, scaled to the range of the type: e4m3 in the forward "
           "pass, e5m2 for gradients.";
  if (settings.lossScale)
    out << " The loss is scaled by " << *settings.lossScale
        << (settings.isDynamic ? " at first; the scale adapts while training." : ".");
  return text;
}

static std::string describeSaved(SavedBytes saved) {
  return "Layers save " + mebibytes(saved.bytes) + " MiB for the backward pass; in f32 it would be " +
         mebibytes(saved.inF32) + " MiB.";
}

static void writeRounding(const RoundingSite &rounding, OStream &json) {
  json.object([&] {
    json.attribute("value", rounding.name);
    json.attribute("line", rounding.line);
    json.attribute("op", rounding.op);
    json.attribute("type", textOf(rounding.type));
    json.attribute("times", rounding.times);
    json.attribute("why", rounding.why);
    json.attribute("saved", rounding.bytesSaved);
  });
}

/// Paragraphs, and the rows of the table; none if all is f32.
static void writePrecision(ModuleOp module, OStream &json) {
  ComputeSettings settings = ComputeSettings::of(module);
  auto step = module.lookupSymbol<func::FuncOp>("step");
  bool isReduced = settings.reducedType && step;
  json.object([&] {
    json.attributeArray("text", [&] {
      if (!isReduced) return json.value("Everything is computed in f32.");
      json.value(describeRounding(settings));
      if (SavedBytes saved = countSaved(step); saved.bytes > 0) json.value(describeSaved(saved));
    });
    json.attributeArray("rows", [&] {
      if (!isReduced) return;
      for (const RoundingSite &rounding : listRoundings(step)) writeRounding(rounding, json);
    });
  });
}

void Report::note(StringRef phase, ModuleOp module) {
  if (phase != "precision") return;
  if (auto name = module->getAttrOfType<StringAttr>(attrs::model)) model = name.getValue().str();
  precision.clear(); // the phases may run again, for a smaller batch
  llvm::raw_string_ostream out(precision);
  OStream json(out);
  writePrecision(module, json);
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

void Report::describe(const std::string &manifest, const ProgramPlan &plan) {
  this->manifest = manifest;
  this->plan = runtime::dumpJson(planSummaryAsJson(plan));
  model = plan.manifest.model;
}

void Report::addTexts(const SourceFiles &sources) {
  for (unsigned file = 0; file < sources.size(); ++file) {
    if (!sources[file].isOnDisk()) continue;
    ModelText text{fileNameInLines(sources[file].name()), {}};
    SmallVector<StringRef> lines;
    sources[file].text().split(lines, '\n');
    for (StringRef line : lines) text.lines.push_back(runtime::printableLines(line.rtrim("\r").str()));
    if (text.lines.back().empty()) text.lines.pop_back(); // after the end of the last line
    texts.push_back(std::move(text));
  }
}

/// Tables of the compiler that the page needs.
static void writeTables(OStream &json) {
  json.attributeArray("kinds", [&] { // of buffers
    for (unsigned kind = 0; kind < bufferKindCount; ++kind)
      json.value(stringifyBufferKind(static_cast<BufferKind>(kind)));
  });
  json.attribute("alignment", bufferAlignment);
  json.attributeObject("element_bytes", [&] {
    for (const ElementTypeInfo &type : elementTypes) json.attribute(type.name, type.bytes);
  });
}

std::string Report::asJson() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  OStream json(out);
  json.object([&] {
    json.attribute("model", llvm::json::fixUTF8(model));
    writeTables(json);
    json.attributeArray("texts", [&] {
      for (const ModelText &file : texts)
        json.object([&] {
          json.attribute("name", file.name);
          json.attributeArray("lines", [&] {
            for (const std::string &line : file.lines) json.value(line);
          });
        });
    });
    for (auto [key, part] : {std::pair("precision", &precision), {"manifest", &manifest}, {"plan", &plan}})
      if (!part->empty()) json.attributeBegin(key), json.rawValue(*part), json.attributeEnd();
  });
  return text;
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

static std::string replaceAll(StringRef text, char c, StringRef by) {
  std::string result;
  for (char each : text) result += each == c ? by.str() : std::string(1, each);
  return result;
}

/// As the text of an element.
static std::string escaped(StringRef text) { return replaceAll(replaceAll(text, '&', "&amp;"), '<', "&lt;"); }

/// The page runs a script, and uses a style, only if it has this hash: text of a model never becomes code.
static std::string contentHash(StringRef text) {
  std::array<uint8_t, 32> hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return "'sha256-" + llvm::encodeBase64(hash) + "'";
}

/// Replaces each `{{name}}` of the page's template by a text, in which no name is replaced.
static std::string fillTemplate(StringRef page, const llvm::StringMap<std::string> &texts) {
  std::string result;
  for (auto [before, rest] = page.split("{{");; std::tie(before, rest) = rest.split("{{")) {
    result += before;
    if (rest.empty()) return result;
    auto [name, after] = rest.split("}}");
    result += texts.at(name);
    rest = after;
  }
}

std::string Report::write(const std::string &path) const {
  using namespace reportTexts;
  llvm::StringMap<std::string> texts;
  texts["title"] = escaped(model);
  texts["style"] = style, texts["chart"] = chart, texts["script"] = script;
  texts["allowed-style"] = contentHash(style);
  texts["allowed-scripts"] = contentHash(chart) + " " + contentHash(script);
  // Within strings of JSON this is the same, and no `</script>` can end the element.
  texts["program"] = replaceAll(asJson(), '<', "\\u003c");
  return writeOutputFile(path, fillTemplate(page, texts));
}
