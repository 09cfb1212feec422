//===- TextProgram.h - modules written in tests ---------------------------===//

#ifndef TESSERA_TESTS_IR_TEXTPROGRAM_H
#define TESSERA_TESTS_IR_TEXTPROGRAM_H

#include "ir/dialect/Tsr.h"
#include "ir/interpreter/Interpreter.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace tessera::test {

/// A module parsed from text, to be run by the interpreter.
class TextProgram {
public:
  explicit TextProgram(const std::string &text) {
    context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }

  /// Runs a function on numbers, row-major in the order of the argument types, and returns the numbers of each result.
  std::vector<std::vector<double>> run(llvm::StringRef name, const std::vector<std::vector<double>> &arguments,
                                       Rounding rounding = Rounding::Double) {
    auto function = module->lookupSymbol<mlir::func::FuncOp>(name);
    llvm::SmallVector<TensorValue> inputs;
    for (auto [type, data] : llvm::zip(function.getArgumentTypes(), arguments)) {
      TensorValue &value = inputs.emplace_back(mlir::cast<NamedTensorType>(type));
      EXPECT_EQ(value.data.size(), data.size());
      value.data = data;
    }
    auto results = Interpreter(rounding).run(function, inputs);
    EXPECT_TRUE(mlir::succeeded(results));
    std::vector<std::vector<double>> numbers;
    if (mlir::succeeded(results))
      for (TensorValue &value : *results) numbers.push_back(value.data);
    return numbers;
  }

  mlir::ModuleOp getModule() { return *module; }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_IR_TEXTPROGRAM_H
