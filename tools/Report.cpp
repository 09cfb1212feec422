//===- Report.cpp - what the compiler decided, as a page ------------------===//

#include "tools/Report.h"
#include "ir/program/Program.h"
#include "passes/OutputFile.h"
#include "passes/precision/Policy.h"
#include "passes/precision/Roundings.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

static std::string escaped(StringRef text) {
  std::string result;
  for (char c : text) result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

static std::string mebibytes(int64_t bytes) { return llvm::formatv("{0:f2}", static_cast<double>(bytes) / (1 << 20)); }

static std::string textOf(NamedTensorType type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  StringRef inner = text;
  inner.consume_front("!tsr.tensor<"), inner.consume_back(">");
  return inner.str();
}

static void writePrecision(llvm::raw_ostream &out, ModuleOp module) {
  ComputeSettings settings = ComputeSettings::of(module);
  out << "<h2>Precision</h2>\n";
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!settings.reducedType || !step) {
    out << "<p>Everything is computed in f32.</p>\n";
    return;
  }
  std::string type;
  llvm::raw_string_ostream(type) << settings.reducedType;
  SavedBytes saved = countSaved(step);
  out << "<p>Contractions multiply " << type << " values and accumulate in f32; values in memory are " << type
      << " where this table says so. Everything else is f32.";
  if (settings.fp8)
    out << " GEMMs with weight matrices multiply fp8 values, scaled to the range of the type: e4m3 in the forward "
           "pass, e5m2 for gradients.";
  if (settings.lossScale)
    out << " The loss is scaled by " << *settings.lossScale
        << (settings.isDynamic ? " at first; the scale adapts while training." : ".");
  out << "</p>\n";
  if (saved.bytes > 0)
    out << "<p>Layers save " << mebibytes(saved.bytes) << " MiB for the backward pass; in f32 it would be "
        << mebibytes(saved.inF32) << " MiB.</p>\n";
  out << "<table>\n<tr><th>value<th>line<th>op<th>type<th>times a step<th>why<th>MiB saved</tr>\n";
  for (const RoundingSite &rounding : listRoundings(step))
    out << "<tr><td>" << escaped(rounding.name) << "<td>" << escaped(rounding.line) << "<td>" << rounding.op << "<td>"
        << escaped(textOf(rounding.type)) << "<td class=n>" << rounding.times << "<td>" << rounding.why
        << "<td class=n>" << mebibytes(rounding.bytesSaved) << "</tr>\n";
  out << "</table>\n";
}

void Report::note(StringRef phase, ModuleOp module) {
  if (phase != "precision") return;
  if (auto name = module->getAttrOfType<StringAttr>(attrs::model)) model = name.getValue().str();
  llvm::raw_string_ostream out(precision);
  writePrecision(out, module);
}

std::string Report::write(const std::string &path) const {
  std::string page;
  llvm::raw_string_ostream out(page);
  out << "<!doctype html>\n<meta charset=utf-8>\n<title>" << escaped(model) << "</title>\n<style>\n"
      << "body { font: 14px/1.4 sans-serif; margin: 2em; }\n"
      << "table { border-collapse: collapse; }\n"
      << "th, td { text-align: left; padding: 2px 10px; border-bottom: 1px solid #ddd; font-variant-numeric: "
         "tabular-nums; }\n"
      << "td.n { text-align: right; }\n</style>\n<h1>" << escaped(model) << "</h1>\n"
      << precision;
  return writeOutputFile(path, page);
}
