//===- ScatterWriter.cpp - kernels that add at positions --------------------===//
//
// docs/ir.md, Kernels, rule 4. A thread owns its point's part of the result at all positions: it fills that part, with zeros or with
// `init`, then runs the serial loops in order and adds. Updates out of range are dropped.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/KernelWriter.h"
#include "codegen/cuda/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

void KernelWriter::writeScatter() {
  ScatterAddOp scatter = plan.scatter;
  NamedTensorType type = scatter.getType();
  const Access &write = plan.writes.front();
  std::string result = parameters[write.argument], own = expression(write.offset);
  SmallVector<StringRef> axes = names(scatter.getAxes());
  auto init = dyn_cast_if_present<BlockArgument>(scatter.getInit());

  if (init) text.open("if (" + parameters[init.getArgNumber()] + " != " + result + ")");
  std::string place = own;
  SmallVector<std::string> positions;
  for (auto [axis, stride] : llvm::zip(type.getAxes(), type.getStrides())) {
    if (!llvm::is_contained(axes, axis.getName())) continue;
    std::string name = unique(axis.getName());
    text.open("for (" + indexType + " " + name + " = 0; " + name + " < " + Twine(axis.getSize()) + "; ++" + name + ")");
    place += " + " + std::to_string(stride) + " * " + name;
    positions.push_back(name);
  }
  std::string start = init ? parameters[init.getArgNumber()] + "[" + place + "]" : literal(0.0, write.element);
  text.line(result + "[" + place + "] = " + start + ";");
  for (size_t i = 0; i < positions.size(); ++i) text.close();
  if (init) text.close();

  text.open("for (" + indexType + " s = 0; s < " + Twine(schedule.serialCount) + "; ++s)");
  declareIndices(plan.parallelLoops, plan.sizes.size(), "s");
  frames.emplace_back();
  Step step;
  for (Value item : plan.items)
    if (!isa_and_nonnull<ScatterAddOp>(item.getDefiningOp())) step.items.push_back(item);
  writeStep(step);
  std::string inside, at = own;
  for (auto [axis, index] : llvm::zip(axes, scatter.getIndices())) {
    inside += (inside.empty() ? "" : " && ") +
              ("tsr::is_inside(" + use(index) + ", " + std::to_string(type.getSize(axis)) + ")");
    at += " + " + std::to_string(type.getStrides()[type.findAxis(axis)]) + " * " +
          (indexType == "int" ? "int(" : "tsr::i64(") + use(index) + ")";
  }
  Type wide = accumulatorType(write.element);
  text.open("if (" + inside + ")");
  std::string to = unique("to");
  text.line("const " + indexType + " " + to + " = " + at + ";");
  std::string sum = castTo(result + "[" + to + "]", write.element, wide) + " + " +
                    castTo(use(scatter.getUpdates()), scatter.getUpdates().getType().getElementType(), wide);
  text.line(result + "[" + to + "] = " + castTo(sum, wide, write.element) + ";");
  text.close();
  frames.pop_back();
  text.close();
}
