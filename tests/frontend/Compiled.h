//===- Compiled.h - models in the reference interpreter ----------*- C++ -*-===//
//
// Compiles a model and runs its entries on given rows, for tests that compare
// with results found by hand.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_FRONTEND_COMPILED_H
#define TESSERA_TESTS_FRONTEND_COMPILED_H

#include "frontend/Frontend.h"
#include "ir/interpreter/Interpreter.h"
#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "llvm/Support/Casting.h"
#include "gtest/gtest.h"
#include <cmath>
#include <map>

namespace tessera::test {

using Numbers = std::vector<double>;
using NamedNumbers = std::map<std::string, Numbers>;

/// A compiled model, with the state that `init` gives it.
class Compiled {
public:
  explicit Compiled(const std::string &text) {
    compiled = compileModelText(context, text, "<test>", {}, engine);
    llvm::raw_string_ostream os(messages);
    engine.printText(os);
    EXPECT_TRUE(compiled) << messages;
    if (!compiled) return;
    PipelineOptions upToPlainOps;
    upToPlainOps.compileTo = "optimize";
    EXPECT_TRUE(succeeded(runPipeline(*compiled, upToPlainOps)));
    take("init", run("init", {}));
  }

  /// Results of an entry by role and name, "metric m"; inputs that are not given are ones.
  NamedNumbers run(llvm::StringRef entry, const NamedNumbers &inputs) {
    if (!compiled) return {};
    auto function = compiled->lookupSymbol<mlir::func::FuncOp>(entry);
    llvm::SmallVector<TensorValue> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      TensorValue &value = arguments.emplace_back(mlir::cast<NamedTensorType>(function.getArgumentTypes()[i]));
      llvm::StringRef path = argumentState(function, i);
      auto info = function.getArgAttrOfType<mlir::DictionaryAttr>(i, attrs::input);
      std::string name = path.empty() ? info.getAs<mlir::StringAttr>("name").getValue().str() : path.str();
      const NamedNumbers &source = path.empty() ? inputs : currentState;
      auto given = source.find(name);
      value.data = given != source.end() ? given->second : Numbers(value.data.size(), 1);
      EXPECT_EQ(int64_t(value.data.size()), value.type.getNumElements()) << name;
    }
    NamedNumbers named;
    auto results = Interpreter().run(function, arguments);
    EXPECT_TRUE(succeeded(results));
    for (unsigned i = 0; succeeded(results) && i < function.getNumResults(); ++i) {
      std::string name = "state " + resultState(function, i).str();
      if (auto info = function.getResultAttrOfType<mlir::DictionaryAttr>(i, attrs::output))
        name = (info.getAs<mlir::StringAttr>("role").getValue() + " " + info.getAs<mlir::StringAttr>("name").getValue())
                   .str();
      named[name] = (*results)[i].data;
    }
    return named;
  }

  /// One training step, after which the state is the next one.
  NamedNumbers step(const NamedNumbers &inputs) { return take("step", run("step", inputs)); }

  const std::deque<Diagnostic> &diagnostics() const { return engine.all(); }
  mlir::ModuleOp module() { return *compiled; }
  const NamedNumbers &state() const { return currentState; }

private:
  NamedNumbers take(llvm::StringRef, NamedNumbers results) {
    for (auto &[name, numbers] : results)
      if (llvm::StringRef path = name; path.consume_front("state ")) currentState[path.str()] = numbers;
    return results;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  DiagnosticEngine engine;
  mlir::OwningOpRef<mlir::ModuleOp> compiled;
  NamedNumbers currentState;
  std::string messages;
};

/// Four rows 1, 2, 3, 4, and a number for each.
inline const NamedNumbers Rows = {{"d.x", {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}}, {"d.y", {1, 2, 3, 6}}};

inline double metric(const NamedNumbers &results, const std::string &name) {
  auto found = results.find("metric " + name);
  EXPECT_NE(found, results.end()) << name;
  return found == results.end() ? std::nan("") : found->second[0];
}

} // namespace tessera::test

#endif // TESSERA_TESTS_FRONTEND_COMPILED_H
