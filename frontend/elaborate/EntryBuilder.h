//===- EntryBuilder.h - the entry function being built ----------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_ENTRYBUILDER_H
#define TESSERA_FRONTEND_ELABORATE_ENTRYBUILDER_H

#include "frontend/elaborate/CallStack.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Builds one entry function at a time: its arguments, made where they are first used, and its results.
class EntryBuilder : ElaborationComponent {
public:
  explicit EntryBuilder(CallStack &calls) : ElaborationComponent(calls) {}

  void begin(llvm::StringRef name);
  /// Puts the arguments in order (parameters as listed, counters, inputs) and gives the function its type. Of `predict`
  /// it first removes what the results do not depend on.
  void finish(llvm::ArrayRef<llvm::StringRef> parameters);
  /// Removes the function from the module: the program has no use for it.
  void discard();
  /// Ends the function. Until the next one begins, all values must be known at compile time.
  void end() { body = nullptr; }

  bool isActive() const { return body; }
  bool isPredict() const { return entryName == "predict"; }
  bool isGenerate() const { return entryName == "generate"; }
  bool isEvaluate() const { return entryName == "evaluate"; }
  /// Whether the program calls it for one batch of a data set after another, the last one padded.
  bool takesDataSet() const { return isEvaluate() || isPredict(); }
  /// The value of `training` in the language.
  bool isTraining() const { return entryName == "step" || entryName == "init"; }
  mlir::Block *block() const { return body; }

  mlir::Value stateArgument(llvm::StringRef path, NamedTensorType type);
  mlir::Value inputArgument(llvm::StringRef name, NamedTensorType type, mlir::DictionaryAttr attr);
  /// An input whose role is its name: `seed`, `weight`.
  mlir::Value plainInput(llvm::StringRef name, NamedTensorType type);
  /// `step` or `seed`.
  mlir::Value counter(llvm::StringRef name);
  /// The name of an argument that is a field of the data; empty if it is none.
  llvm::StringRef dataName(mlir::BlockArgument argument) const;
  /// Integers of a data field that this entry reads are less than `below`.
  void setInputBound(llvm::StringRef name, int64_t below);

  /// `reads` names the fields of the data that an output of `predict` is computed from.
  void addOutput(mlir::Value value, llvm::StringRef name, llvm::StringRef role,
                 const std::optional<std::vector<AxisRef>> &order = std::nullopt,
                 llvm::ArrayRef<llvm::StringRef> reads = {});
  void addStateResult(mlir::Value value, llvm::StringRef path);

  /// The site of the next random draw at a path (`tsr.random`): a hash of the path and a counter.
  int32_t nextSite(llvm::StringRef path);

private:
  mlir::func::FuncOp function;
  std::string entryName;
  mlir::Block *body = nullptr;
  llvm::StringMap<mlir::Value> stateArguments, inputArguments;
  std::vector<mlir::NamedAttrList> argumentAttrs;
  std::vector<mlir::Value> results;
  std::vector<mlir::NamedAttrList> resultAttrs;
  llvm::StringMap<unsigned> drawsAt; ///< random draws so far at each path
};

/// The names of axes in the order of the list, as an attribute.
mlir::ArrayAttr axisNameList(GraphBuilder &builder, llvm::ArrayRef<AxisRef> axes);

/// A hash of a path, which does not depend on other parameters (FNV-1a, 31 bits).
int32_t stableHash(llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_ENTRYBUILDER_H
