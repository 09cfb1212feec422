//===- RandomSteps.cpp - small training steps after `tile` ----------------===//

#include "tests/passes/rematerialize/RandomSteps.h"
#include "ir/dialect/Tsr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// `[n: 64]` alone, or with an axis of size 1, 2, 3 or 5.
constexpr int sizes[] = {1, 2, 3, 5};

struct Known {
  std::string name;
  int size; ///< an index of `sizes`
};

class StepText {
public:
  explicit StepText(unsigned seed) : choose(seed) {}
  std::string write(int forward, int backward);

private:
  static std::string type(int size) { return size < 0 ? "!n" : "!c" + std::to_string(size); }
  Known any(ArrayRef<Known> values) { return values[choose.integer(0, static_cast<int>(values.size()) - 1)]; }
  /// Adds a kernel and returns its results.
  SmallVector<Known> kernel(SmallVector<Known> inputs, bool isBackward);

  Choices choose;
  std::string text;
  int count = 0;
};
} // namespace

SmallVector<Known> StepText::kernel(SmallVector<Known> inputs, bool isBackward) {
  int size = choose.integer(0, 3);
  if (choose.oneIn(2)) size = inputs.front().size;
  // All sums of a kernel are over the same axes.
  const Known *summed = llvm::find_if(inputs, [&](const Known &input) { return input.size != size; });
  int other = summed == inputs.end() ? size : summed->size;
  llvm::erase_if(inputs, [&](const Known &input) { return input.size != size && input.size != other; });
  bool hasTwo = !isBackward && choose.oneIn(4);
  std::string number = std::to_string(count++), axis = "c" + std::to_string(size), own = type(size);
  SmallVector<Known> results{{"%v" + number, size}};
  if (hasTwo) results.push_back({"%w" + number, size});
  text += "    " + results.front().name + (hasTwo ? ", " + results.back().name : "") + " = tsr.kernel \"k" + number +
          "\" (";
  std::string body = "      %0 = tsr.constant 1.0 -> " + own + "\n", sum = "%0", serial;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    std::string argument = "%a" + std::to_string(i), from = type(input.size), added = argument, addedType = from;
    text += (i ? ", " : "") + argument + " = " + input.name + " : " + from;
    if (input.size != size) {
      serial = "c" + std::to_string(input.size);
      added = "%r" + std::to_string(i), addedType = "!n";
      body += "      " + added + " = tsr.reduce sum " + argument + " over [" + serial + "] : " + from + "\n";
    }
    std::string next = "%s" + std::to_string(i);
    body += "      " + next + " = tsr.add " + sum + ", " + added + " : " +
            (addedType == own ? own : own + ", " + addedType + " -> " + own) + "\n";
    sum = next;
  }
  text += ") parallel [n, " + axis + "]" + (serial.empty() ? "" : " serial [" + serial + "]") + " vector " + axis +
          (isBackward ? " backward" : "") + " {\n" + body;
  if (hasTwo) text += body = "      %t = tsr.tanh " + sum + " : " + own + "\n";
  text += "      tsr.yield " + sum + (hasTwo ? ", %t : " + own + ", " + own : " : " + own) + "\n    }\n";
  return results;
}

std::string StepText::write(int forward, int backward) {
  SmallVector<Known> made{{"%x", 1}};
  for (int i = 0; i < forward; ++i) {
    SmallVector<Known> inputs{made.back()};
    if (choose.oneIn(2)) inputs.push_back(any(made));
    if (inputs.back().name == inputs.front().name) inputs.truncate(1);
    SmallVector<Known> results = kernel(inputs, false);
    made.append(results);
  }
  Known loss = made.back(), last = loss;
  for (int i = 0; i < backward; ++i) {
    SmallVector<Known> inputs;
    if (i > 0) inputs.push_back(last);
    // From the end to the beginning, as a backward pass does, with exceptions.
    int late = static_cast<int>(made.size()) * (backward - i) / backward;
    for (int reads = choose.integer(1, 2); reads > 0; --reads) {
      Known input = choose.oneIn(4) ? any(made) : made[std::max(0, std::min<int>(made.size() - 1, late - reads + 1))];
      if (llvm::none_of(inputs, [&](const Known &other) { return other.name == input.name; })) inputs.push_back(input);
    }
    last = kernel(inputs, true).front();
  }
  std::string module = "!n = !tsr.tensor<[n: 64], f32>\n", names = "\"n\"";
  for (auto [i, size] : llvm::enumerate(sizes)) {
    module += "!c" + std::to_string(i) + " = !tsr.tensor<[n: 64, c" + std::to_string(i) + ": " + std::to_string(size) +
              "], f32>\n";
    names += ", \"c" + std::to_string(i) + "\"";
  }
  return module + "module attributes {tsr.axes = [" + names +
         "], tsr.phase = \"tile\"} {\n  func.func @step(%x: !c1) -> (" + type(loss.size) + ", " + type(last.size) +
         ") {\n" + text + "    return " + loss.name + ", " + last.name + " : " + type(loss.size) + ", " +
         type(last.size) + "\n  }\n}\n";
}

/// As phases before `rematerialize` leave none.
static bool hasUnused(ModuleOp module) {
  WalkResult result = module.walk([](KernelOp kernel) {
    return llvm::any_of(kernel.getResults(), [](Value value) { return value.use_empty(); }) ? WalkResult::interrupt()
                                                                                            : WalkResult::advance();
  });
  return result.wasInterrupted();
}

OwningOpRef<ModuleOp> test::makeRandomStep(MLIRContext &context, unsigned seed, int forward, int backward) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  for (unsigned attempt = 0;; ++attempt) {
    auto module = parseSourceString<ModuleOp>(StepText(seed + (attempt << 16)).write(forward, backward), &context);
    if (!module || !hasUnused(*module)) return module;
  }
}
