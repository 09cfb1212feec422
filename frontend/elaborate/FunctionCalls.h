//===- FunctionCalls.h - calls of functions and of the model ----------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_FUNCTIONCALLS_H
#define TESSERA_FRONTEND_ELABORATE_FUNCTIONCALLS_H

#include "frontend/elaborate/Builtins.h"
#include "frontend/elaborate/Float32Names.h"
#include "frontend/elaborate/Indexing.h"
#include "frontend/elaborate/ParameterTable.h"

namespace tessera {

/// A call of the model by the training description, and what it returned.
struct ModelCall {
  LanguageValue result; ///< a tensor, or a tuple of the named outputs in the order of their declaration
  unsigned level = 0;   ///< how many repeats it is inside of
};

/// Binds the arguments of calls and expands the bodies of functions and of the model.
class FunctionCalls : ElaborationComponent {
public:
  FunctionCalls(CallStack &calls, RegionStack &regions, NameResolver &names, ParameterTable &parameters,
                Operators &operators, Builtins &builtins, Indexing &indexing, Float32Names &float32,
                TrainingNames &training, Evaluator &evaluator)
      : ElaborationComponent(calls), regions(regions), resolver(names), parameters(parameters), ops(operators),
        builtinCalls(builtins), reads(indexing), float32(float32), training(training), evaluator(evaluator) {}

  /// Forgets the calls of the entry before.
  void beginEntry() { callsOfModel.clear(); }

  LanguageValue call(const ast::CallExpr &call);
  /// The calls of the model in the entry being built, in order.
  llvm::ArrayRef<ModelCall> modelCalls() const { return callsOfModel; }
  /// Builds the model's body on these arguments. Calling the model again shares its parameters.
  LanguageValue expandModel(std::vector<LanguageValue> arguments, const ast::CallExpr *call);

private:
  LanguageValue callFunction(const FunctionValue &function, const ast::CallExpr &call);
  LanguageValue callModel(const ast::CallExpr &call);
  bool checkOutputNames(const ast::Model &model, const LanguageValue &result, Span span);
  LanguageValue matchOutputs(const ast::Model &model, const LanguageValue &result, Span span);
  LanguageValue matchOutput(const ast::ModelOutput &output, LanguageValue value, Span span);
  bool checkDepth(const ast::Function &function, const ast::CallExpr &call);
  bool checkLabel(const ast::CallExpr &call);
  bool bindAxes(const FunctionValue &function, const ast::CallExpr &call, Frame &callee);
  bool bindArguments(llvm::ArrayRef<ast::Param> params, const ast::CallExpr &call, std::vector<LanguageValue> &values);
  void reportNoParameter(llvm::ArrayRef<ast::Param> params, const ast::CallExpr &call, const ast::Argument &arg);
  bool bindParam(const ast::Param &param, LanguageValue value, Span span, Frame &callee);
  bool matchTensor(const ast::Param &param, LanguageValue &value, Span span, Frame &callee);
  bool matchAxes(const ast::Param &param, const Tensor &tensor, Span span, Frame &callee);
  bool takeAxis(const ast::Param &param, const AxisRef &wanted, const Tensor &tensor, Span span, Frame &callee,
                std::vector<AxisRef> &rest);
  bool matchRange(const ast::Param &param, Tensor &tensor, Span span, int64_t below);
  void warnOfRowsAsClasses(const ast::Param &param, const Tensor &tensor, Span span, const Frame &callee);
  bool escapes(const LanguageValue &value, const Frame &callee, Span span);

  RegionStack &regions;
  NameResolver &resolver;
  ParameterTable &parameters;
  Operators &ops;
  Builtins &builtinCalls;
  Indexing &reads;
  Float32Names &float32;
  TrainingNames &training;
  Evaluator &evaluator;
  unsigned expansions = 0; ///< of the model, so far
  std::vector<ModelCall> callsOfModel;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_FUNCTIONCALLS_H
