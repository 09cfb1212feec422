//===- LineValues.cpp - values of lines that kernels read -------------------===//

#include "codegen/cuda/tile/LineValues.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

std::string LineValues::parameterOf(const LineValue &value) const {
  const TileKernel &kernel = plan.kernels[value.kernel];
  return scope.parameterFor(kernel.op->getOperand(kernel.plan.reads.find(value.item)->second.argument));
}

/// The value in memory at a line, which may be beyond the last one.
std::string LineValues::load(const LineValue &value, StringRef line) {
  const TileKernel &kernel = plan.kernels[value.kernel];
  const Access &access = kernel.plan.reads.find(value.item)->second;
  scope.enter(kernel);
  for (unsigned loop : {kernel.rowsLoop(), kernel.rowsLoop() + 1}) scope.indices[loop] = line.str();
  return parameterOf(value) + "[" + scope.expression(access.offset) + "]";
}

void LineValues::declare() {
  for (const LineValue &value : plan.otherValues) {
    std::string name = names[value.item] = scope.unique(parameterOf(value) + "_lines");
    scope.text.line("TSR_SHARED(" + scalarType(typeOf(value)) + ", " + name + ", " +
                    Twine(plan.mapping.stages * plan.mapping.otherLines) + ");");
  }
}

/// A value that all lines share is loaded once.
void LineValues::loadOwn() {
  Text &text = scope.text;
  SmallVector<std::pair<const LineValue *, std::string>> arrays;
  for (const LineValue &value : plan.ownValues) {
    std::string type = scalarType(typeOf(value)).str(), name = scope.unique(parameterOf(value) + "_value");
    if (value.isOfAllLines) {
      text.line("const " + type + " " + name + " = " + load(value, "0") + ";");
      scope.bind(value.item, {name, ""});
    } else {
      text.line(type + " " + name + "[2];");
      arrays.push_back({&value, name});
    }
  }
  if (arrays.empty()) return;
  text.line("#pragma unroll");
  text.open("for (int h = 0; h < 2; ++h)");
  std::string line = "own + 8 * h";
  if (plan.hasOwnTail()) line = "tsr::clamp(" + line + ", " + std::to_string(plan.ownAxis().getSize()) + ")";
  text.line("const " + scope.indexType + " line = " + line + ";");
  for (auto &[value, array] : arrays) text.line(array + "[h] = " + load(*value, "line") + ";");
  text.close();
  for (auto &[value, array] : arrays) scope.bind(value->item, {array, "", TileScope::Multiplicity::PerRow});
}

/// Each thread has one line.
std::string LineValues::threads() const { return "if (threadIdx.x < " + std::to_string(plan.mapping.otherLines) + ")"; }

static std::string lineOfThread(StringRef first, const TilePlan &plan) {
  std::string line = (first + " + threadIdx.x").str();
  if (plan.hasOtherTail()) return "tsr::clamp(" + line + ", " + std::to_string(plan.otherAxis().getSize()) + ")";
  return line;
}

void LineValues::store(StringRef first, StringRef start) {
  if (plan.otherValues.empty()) return;
  scope.text.open(threads());
  scope.text.line("const " + scope.indexType + " line = " + lineOfThread(first, plan) + ";");
  for (const LineValue &value : plan.otherValues)
    scope.text.line(names.lookup(value.item) + ".set(" + start + "threadIdx.x, " + load(value, "line") + ");");
  scope.text.close();
}

void LineValues::declareNext() {
  for (const LineValue &value : plan.otherValues) {
    std::string name = nextNames[value.item] = scope.unique(names.lookup(value.item) + "_next");
    scope.text.line(scalarType(typeOf(value)) + " " + name + "{};");
  }
}

void LineValues::loadNext(StringRef first) {
  if (plan.otherValues.empty()) return;
  scope.text.open(threads());
  scope.text.line("const " + scope.indexType + " line = " + lineOfThread(first, plan) + ";");
  for (const LineValue &value : plan.otherValues)
    scope.text.line(nextNames.lookup(value.item) + " = " + load(value, "line") + ";");
  scope.text.close();
}

void LineValues::storeNext(StringRef start) {
  if (plan.otherValues.empty()) return;
  scope.text.open(threads());
  for (const LineValue &value : plan.otherValues)
    scope.text.line(names.lookup(value.item) + ".set(" + start + "threadIdx.x, " + nextNames.lookup(value.item) + ");");
  scope.text.close();
}

std::string LineValues::elementOf(Value item, StringRef start) const {
  auto it = names.find(item);
  return it == names.end() ? "" : it->second + ".get(" + start.str() + "8 * n + 2 * member + v % 2)";
}
