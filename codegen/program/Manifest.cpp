//===- Manifest.cpp - writes a program's manifest -------------------------===//
//
// There is one function for each section of docs/manifest.md, in the same order.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/Manifest.h"
#include "codegen/program/CallTraceWriter.h"
#include "codegen/program/MemoryPlanWriter.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Machines.h"
#include "ir/program/Program.h"
#include "ir/program/ProgramMesh.h"
#include "ir/program/Target.h"
#include "passes/cost/KernelWork.h"
#include "passes/memory/BufferList.h"
#include "passes/memory/MemoryTimeline.h"
#include "passes/sharding/DividedLines.h"
#include "runtime/Abi.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;
using llvm::json::OStream;

namespace {

class ManifestWriter {
public:
  ManifestWriter(ModuleOp module, const CodegenSummary &summary, llvm::raw_ostream &out)
      : module(module), summary(summary), order(module), json(out) {}
  void write();

private:
  void writeTarget();
  void writeArena();
  void writeRecomputation(DictionaryAttr times);
  void writeState();
  SmallVector<StringRef> fileOrder(StateOp state);
  void writeEntry(func::FuncOp function);
  void writeValue(NamedTensorType type, DictionaryAttr description, PlaceAttr place);
  void writeGemm(const GemmTable::Entry &entry, uint32_t number);
  void writeKernel(const KernelTable::Entry &kernel, uint32_t number);
  void writeRanks();
  void writeExchange(const ExchangeTable::Entry &entry, uint32_t number);
  void writeCalls(const CallCounts &calls);
  void writeCost(CallKind kind, uint32_t number);
  void writePlan();
  void writePredicted();
  void writePredictedParts(bool isStep, const EntryCost &entry);
  void writeTimeline(const MemoryTimeline &timeline);
  void writeType(NamedTensorType type);
  void writeAttr(Attribute attr);
  void writeAttr(StringRef key, Attribute attr);
  void writeIntegers(StringRef key, ArrayRef<int64_t> numbers);

  ModuleOp module;
  const CodegenSummary &summary;
  AxisOrder order;
  OStream json;
};

} // namespace

static std::string elementTypeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// Keys `type` and `axes`.
void ManifestWriter::writeType(NamedTensorType type) {
  json.attribute("type", elementTypeName(type.getElementType()));
  json.attributeArray("axes", [&] {
    for (AxisAttr axis : type.getAxes())
      json.array([&] {
        json.value(axis.getName());
        json.value(axis.getSize());
      });
  });
}

/// An attribute of the module as a JSON value.
void ManifestWriter::writeAttr(Attribute attr) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(attr))
    return json.object([&] {
      for (NamedAttribute entry : dictionary) writeAttr(entry.getName().getValue(), entry.getValue());
    });
  if (auto array = dyn_cast<ArrayAttr>(attr))
    return json.array([&] {
      for (Attribute element : array) writeAttr(element);
    });
  if (auto string = dyn_cast<StringAttr>(attr)) return json.value(string.getValue());
  if (auto number = dyn_cast<FloatAttr>(attr)) return json.value(number.getValueAsDouble());
  if (auto flag = dyn_cast<BoolAttr>(attr)) return json.value(flag.getValue());
  if (auto number = dyn_cast<IntegerAttr>(attr)) return json.value(number.getValue().getSExtValue());
  if (auto type = dyn_cast<TypeAttr>(attr)) return json.value(elementTypeName(type.getValue()));
  json.value(nullptr);
}

void ManifestWriter::writeAttr(StringRef key, Attribute attr) {
  json.attributeBegin(key);
  writeAttr(attr);
  json.attributeEnd();
}

void ManifestWriter::writeIntegers(StringRef key, ArrayRef<int64_t> integers) {
  json.attributeArray(key, [&] {
    for (int64_t integer : integers) json.value(integer);
  });
}

void ManifestWriter::writeTarget() {
  json.attributeObject("target", [&] {
    bool isCuda = !summary.target.architectures.empty();
    json.attribute("kind", isCuda ? "cuda" : "cpu");
    Target target = Target::of(module);
    writeAttr("device", target.recorded(module.getContext()));
    if (std::optional<Machines> machines = Machines::of(module))
      json.attributeObject("machines", [&] {
        json.attribute("count", machines->count);
        json.attribute("devices", machines->devices);
      });
    if (auto found = module->getAttrOfType<DictionaryAttr>(attrs::foundSharding)) writeAttr("search", found);
    if (isCuda && target.figures.gpu.contextBytes) json.attribute("context", *target.figures.gpu.contextBytes);
    if (isCuda)
      json.attributeArray("architectures", [&] {
        for (const std::string &architecture : summary.target.architectures) json.value(architecture);
      });
    if (!summary.target.toolkit.empty()) json.attribute("cuda", summary.target.toolkit);
    json.attribute("march", summary.target.march);
    json.attributeArray("features", [&] {
      for (const std::string &feature : summary.target.features) json.value(feature);
    });
    json.attribute("threads", summary.target.threads);
  });
}

/// In as many characters whatever the times, so that a budget does not change how much memory a plan takes: the tables
/// of the process grow with the manifest.
void ManifestWriter::writeRecomputation(DictionaryAttr times) {
  json.attributeObject("recomputation", [&] {
    for (NamedAttribute entry : times) {
      double seconds = cast<FloatAttr>(entry.getValue()).getValueAsDouble();
      json.attributeBegin(entry.getName().getValue());
      json.rawValue(llvm::formatv("{0:e6}", seconds).str());
      json.attributeEnd();
    }
  });
}

void ManifestWriter::writeArena() {
  json.attributeObject("arena", [&] {
    json.attribute("bytes", summary.arenaBytes);
    if (summary.arenaBound) json.attribute("bound", *summary.arenaBound);
    if (auto times = module->getAttrOfType<DictionaryAttr>(attrs::recomputation)) writeRecomputation(times);
    json.attributeObject("workspace", [&] {
      json.attribute("offset", summary.workspaceOffset);
      json.attribute("bytes", summary.gemms->workspaceBytes());
    });
    json.attributeObject("scratch", [&] { json.attribute("bytes", summary.scratchBytes); });
  });
}

/// The axes of a state entry in the order of checkpoint files.
SmallVector<StringRef> ManifestWriter::fileOrder(StateOp state) {
  if (ArrayAttr declared = state.getOrderAttr()) return names(declared);
  SmallVector<AxisAttr> canonical(state.getTensorType().getAxes());
  order.sort(canonical);
  return llvm::map_to_vector(canonical, [](AxisAttr axis) { return axis.getName(); });
}

void ManifestWriter::writeState() {
  json.attributeArray("state", [&] {
    for (StateOp state : stateTable(module))
      json.object([&] {
        json.attribute("path", state.getPath());
        json.attribute("kind", state.getKind());
        writeType(state.getTensorType());
        json.attributeArray("canonical", [&] {
          for (StringRef name : fileOrder(state)) json.value(name);
        });
        json.attribute("offset", state.getPlace() ? state.getPlace()->getOffset() : 0);
        json.attribute("bytes", state.getTensorType().getNumBytes());
        if (auto divided = state->getAttrOfType<DictionaryAttr>(attrs::divided); divided && !divided.empty())
          writeAttr("divided", divided);
      });
  });
}

void ManifestWriter::writeValue(NamedTensorType type, DictionaryAttr description, PlaceAttr place) {
  json.object([&] {
    for (NamedAttribute entry : description) {
      if (entry.getName() == "order") continue; // the axes below are in this order
      writeAttr(entry.getName().getValue(), entry.getValue());
    }
    writeType(type);
    json.attribute("offset", place ? place.getOffset() : 0);
    json.attribute("bytes", type.getNumBytes());
  });
}

/// Floating-point operations of the contractions in a block; of a tiled op those in its band, as the model of costs
/// counts them. The body of a repeat counts once for each iteration.
static int64_t countFlops(Block &block) {
  int64_t flops = 0;
  for (Operation &op : block) {
    if (auto cost = dyn_cast<CostOpInterface>(op)) flops += cost.getFlops();
    if (auto repeat = dyn_cast<RepeatOp>(op)) flops += repeat.getAxis().getSize() * countFlops(repeat.getBlock());
    if (auto tiled = dyn_cast<TiledOp>(op)) flops += workOf(tiled).flops;
  }
  return flops;
}

void ManifestWriter::writeEntry(func::FuncOp function) {
  json.attributeObject(function.getName(), [&] {
    json.attributeArray("inputs", [&] {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (auto input = function.getArgAttrOfType<DictionaryAttr>(i, attrs::input))
          writeValue(tensorType(function.getArgument(i)), input, function.getArgAttrOfType<PlaceAttr>(i, attrs::place));
    });
    json.attributeArray("outputs", [&] {
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (auto output = function.getResultAttrOfType<DictionaryAttr>(i, attrs::output))
          writeValue(cast<NamedTensorType>(function.getResultTypes()[i]), output,
                     function.getResultAttrOfType<PlaceAttr>(i, attrs::place));
    });
    json.attribute("flops", countFlops(function.getBody().front()));
    if (function.getName() == "step" || function.getName() == "shadow") writeCallTrace(function, *summary.costs, json);
  });
}

/// How often a kernel, a contraction or an exchange is called.
void ManifestWriter::writeCalls(const CallCounts &calls) {
  json.attributeObject("calls", [&] {
    for (auto [entry, count] : calls.entries) json.attribute(entry, count);
  });
  if (calls.passes.empty()) return;
  json.attributeObject("passes", [&] {
    for (auto [pass, count] : calls.passes) json.attribute(pass, count);
  });
}

/// What the model of costs knows of a call.
void ManifestWriter::writeCost(CallKind kind, uint32_t number) {
  const CallCost *cost = summary.costs->meanOf(kind, number);
  if (!cost) return;
  json.attribute("seconds", sixDigits(cost->seconds));
  json.attributeBegin("work");
  cost->work.write(json);
  json.attributeEnd();
}

void ManifestWriter::writeExchange(const ExchangeTable::Entry &entry, uint32_t number) {
  json.object([&] {
    json.attribute("of", entry.of);
    if (!entry.line.empty()) json.attribute("at", entry.line);
    json.attribute("kind", stringifyExchangeKind(entry.kind));
    if (entry.kind == ExchangeKind::ReduceScatter) json.attribute("type", elementTypeName(entry.element));
    json.attribute("along", entry.along);
    json.attribute("bytes", entry.bytes);
    writeCalls(entry.calls);
    writeCost(CallKind::Exchange, number);
  });
}

/// The key `leaves`, and of a program for several ranks `mesh`, `exchanges` and `divided_lines`.
void ManifestWriter::writeRanks() {
  if (auto leaves = module->getAttrOfType<IntegerAttr>(attrs::leaves)) json.attribute("leaves", leaves.getInt());
  ProgramMesh mesh = ProgramMesh::of(module);
  if (mesh.getAxes().empty()) return;
  json.attributeArray("mesh", [&] {
    for (AxisAttr axis : mesh.getAxes())
      json.object([&] {
        json.attribute("name", axis.getName());
        json.attribute("size", axis.getSize());
      });
  });
  json.attributeArray("exchanges", [&] {
    for (auto [number, entry] : llvm::enumerate(summary.exchanges->getEntries())) writeExchange(entry, number);
  });
  if (auto lines = module->getAttrOfType<ArrayAttr>(dividedLinesAttr)) writeAttr("divided_lines", lines);
}

void ManifestWriter::writeGemm(const GemmTable::Entry &entry, uint32_t number) {
  const ContractionGemm &d = entry.description;
  json.object([&] {
    json.attribute("name", entry.name);
    json.attribute("of", entry.of);
    if (!entry.line.empty()) json.attribute("at", entry.line);
    json.attribute("type", elementTypeName(d.a.type));
    if (d.b.type != d.a.type) json.attribute("type_b", elementTypeName(d.b.type));
    if (d.c.type != ElementType::F32) json.attribute("result_type", elementTypeName(d.c.type));
    if (d.tf32) json.attribute("tf32", true);
    writeIntegers("dims_a", d.a.dims);
    writeIntegers("strides_a", d.a.strides);
    writeIntegers("dims_b", d.b.dims);
    writeIntegers("strides_b", d.b.strides);
    writeIntegers("dims_c", d.c.dims);
    writeIntegers("strides_c", d.c.strides);
    if (d.bias)
      writeIntegers("bias", *d.bias);
    else
      json.attribute("bias", nullptr);
    if (d.biasType != ElementType::F32) json.attribute("bias_type", elementTypeName(d.biasType));
    json.attribute("accumulate", d.accumulate);
    if (d.epilogue) json.attribute("epilogue", stringifyEpilogue(*d.epilogue));
    if (d.hasAux) json.attribute("aux", true);
    if (entry.epilogueKernel)
      json.attribute("epilogue_kernel", summary.kernels->getEntries()[*entry.epilogueKernel].kernel.symbol);
    if (entry.isPart) json.attribute("part", true);
    if (!entry.unaligned.empty()) json.attribute("unaligned", entry.unaligned);
    json.attribute("scratch", entry.scratchBytes);
    json.attribute("implementation", entry.implementation);
    writeCalls(entry.calls);
    writeCost(CallKind::Gemm, number);
  });
}

void ManifestWriter::writeKernel(const KernelTable::Entry &kernel, uint32_t number) {
  json.object([&] {
    json.attribute("name", kernel.kernel.symbol);
    json.attribute("of", kernel.origin.of);
    const std::optional<LaunchShape> &shape = kernel.kernel.launch; // of horizontally fused kernels: all their lines
    if (StringRef line = shape && !shape->line.empty() ? shape->line : kernel.origin.line; !line.empty())
      json.attribute("at", line);
    json.attribute("flops", kernel.work.flops);
    json.attribute("contracts", kernel.work.isContraction);
    json.attribute("read", kernel.work.read);
    json.attribute("written", kernel.work.written);
    json.attributeObject("ops", [&] {
      for (const OpCount &count : kernel.work.ops) json.attribute(count.op, count.elements);
    });
    if (const std::optional<LaunchShape> &launch = kernel.kernel.launch) {
      json.attribute("blocks", launch->blocks);
      json.attribute("threads", launch->threads);
      json.attributeArray("arguments", [&] {
        for (const KernelArgument &argument : launch->arguments)
          json.array([&] {
            json.value(argument.bytes);
            json.value(argument.isWritten);
          });
      });
      if (kernel.isPart) json.attribute("part", true);
    }
    writeCalls(kernel.calls);
    writeCost(CallKind::Kernel, number);
  });
}

/// Without the states, which the list of buffers has.
void ManifestWriter::writeTimeline(const MemoryTimeline &timeline) {
  json.object([&] {
    json.attribute("last", timeline.lastMoment);
    json.attribute("peak", timeline.peak);
    json.attributeArray("moments", [&] {
      for (const MemoryMoment &moment : timeline.moments)
        json.object([&] {
          json.attribute("at", moment.number);
          json.attribute("name", moment.name);
          if (moment.pass != StepPass::Forward) json.attribute("pass", stringifyStepPass(moment.pass));
          if (moment.call >= 0) json.attribute("call", moment.call);
          if (const CallCost *cost = summary.costs->costOf(moment.first))
            json.attribute("seconds", sixDigits(cost->seconds));
          if (moment.iterations == 0) return;
          json.attribute("repeat", moment.iterations);
          json.attribute("end", moment.end);
        });
    });
    json.attributeArray("values", [&] {
      for (const MemoryValue &value : timeline.values)
        if (!value.isState)
          json.object([&] {
            json.attribute("name", value.name);
            json.attribute("kind", stringifyBufferKind(value.kind));
            if (!value.line.empty()) json.attribute("at", value.line);
            json.attribute("offset", value.offset);
            json.attribute("bytes", value.bytes);
            json.attribute("first", value.first);
            json.attribute("last", value.last);
          });
    });
  });
}

void ManifestWriter::writePlan() {
  json.attributeObject("plan", [&] {
    json.attributeArray("buffers", [&] {
      for (const BufferInfo &buffer : listBuffers(module))
        json.object([&] {
          json.attribute("name", buffer.name);
          json.attribute("entry", buffer.entry);
          json.attribute("kind", stringifyBufferKind(buffer.kind));
          json.attribute("type", buffer.type);
          if (!buffer.line.empty()) json.attribute("at", buffer.line);
          json.attribute("offset", buffer.offset);
          json.attribute("bytes", buffer.bytes);
        });
    });
    json.attributeObject("timelines", [&] {
      for (func::FuncOp function : entryFunctions(module)) {
        json.attributeBegin(function.getName());
        writeTimeline(memoryTimeline(function));
        json.attributeEnd();
      }
    });
  });
}

void ManifestWriter::writePredictedParts(bool isStep, const EntryCost &entry) {
  if (entry.peak > 0) {
    json.attribute("flops", sixDigits(entry.flops));
    json.attribute("type", tessera::elementTypeName(entry.type));
    json.attribute("peak", sixDigits(entry.peak));
  }
  if (isStep)
    json.attributeObject("passes", [&] {
      for (auto [pass, seconds] : entry.passes) json.attribute(stringifyStepPass(pass), sixDigits(seconds));
    });
  json.attributeArray("repeats", [&] {
    for (const LoopCost &loop : entry.loops)
      json.object([&] {
        json.attribute("axis", loop.axis);
        json.attribute("iterations", loop.iterations);
        if (loop.depth > 0) json.attribute("depth", loop.depth);
        if (isStep && loop.pass != StepPass::Forward) json.attribute("pass", stringifyStepPass(loop.pass));
        json.attribute("seconds", sixDigits(loop.seconds));
      });
  });
}

void ManifestWriter::writePredicted() {
  const CostModel &model = summary.costs->getModel();
  json.attributeObject("predicted", [&] {
    json.attribute("source", stringify(model.getSource()));
    json.attributeObject("entries", [&] {
      for (const auto &[name, entry] : summary.costs->getEntries())
        json.attributeObject(name, [&] {
          json.attribute("seconds", sixDigits(entry.seconds));
          json.attribute("least", sixDigits(model.leastOf(entry.seconds, entry.calls, entry.assumedSeconds)));
          json.attribute("most", sixDigits(model.mostOf(entry.seconds, entry.assumedSeconds)));
          if (entry.besideSeconds > 0) json.attribute("beside", sixDigits(entry.besideSeconds));
          if (!entry.assumedLinks.empty())
            json.attributeArray("assumed_links", [&] {
              for (const std::string &linkClass : entry.assumedLinks) json.value(linkClass);
            });
          writePredictedParts(name == "step", entry);
        });
    });
  });
}

void ManifestWriter::write() {
  json.object([&] {
    json.attribute("abi", static_cast<int64_t>(TSR_ABI_VERSION));
    json.attribute("compiler", "tessera " TESSERA_VERSION);
    auto model = module->getAttrOfType<StringAttr>(attrs::model);
    json.attribute("model", model ? model.getValue() : "model");
    writeTarget();
    writeArena();
    writeState();
    json.attributeObject("entries", [&] {
      for (func::FuncOp function : entryFunctions(module)) writeEntry(function);
    });
    json.attributeArray("kernels", [&] {
      for (auto [number, kernel] : llvm::enumerate(summary.kernels->getEntries())) writeKernel(kernel, number);
    });
    json.attributeArray("gemms", [&] {
      for (auto [number, entry] : llvm::enumerate(summary.gemms->getEntries())) writeGemm(entry, number);
    });
    writeRanks();
    writePredicted();
    writeMemoryPlan(module, summary.arenaBytes, summary.mostBehind, json);
    for (StringRef key : {attrs::data, attrs::settings})
      if (Attribute attr = module->getAttr(key)) writeAttr(key.substr(StringRef("tsr.").size()), attr);
    writePlan();
    if (DictionaryAttr source = sourceOf(module)) writeAttr("source", source);
  });
}

std::string tessera::writeManifest(ModuleOp module, const CodegenSummary &summary) {
  std::string text;
  llvm::raw_string_ostream out(text);
  ManifestWriter(module, summary, out).write();
  return text;
}
