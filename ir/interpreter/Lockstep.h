//===- Lockstep.h - the interpreter on several ranks ----------------------===//
//
// Each rank runs its program in a thread of its own. At a `tsr.start` it waits for the others of its group, so that a
// program whose ranks would wait for each other for ever ends with an error that names the ranks and their ops.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_INTERPRETER_LOCKSTEP_H
#define TESSERA_IR_INTERPRETER_LOCKSTEP_H

#include "ir/interpreter/Interpreter.h"
#include "ir/program/ProgramMesh.h"

namespace tessera {

/// What ranks exchange: an interpreter's way to the others.
class RankExchange {
public:
  virtual ~RankExchange() = default;
  /// What a rank receives at a `tsr.start` for what it sends; an error if the ranks do not agree.
  virtual llvm::FailureOr<TensorValue> exchange(StartOp op, const TensorValue &sent) = 0;
};

/// Runs one function on all ranks of a mesh.
class Lockstep {
public:
  explicit Lockstep(ProgramMesh mesh) : mesh(std::move(mesh)) {}

  /// `functions` has the program of each rank, or one that all run; `arguments` those of each rank. Returns the results
  /// of each; after an error what is wrong is in `getError`.
  llvm::FailureOr<llvm::SmallVector<llvm::SmallVector<TensorValue>>>
  run(llvm::ArrayRef<mlir::func::FuncOp> functions, llvm::ArrayRef<llvm::SmallVector<TensorValue>> arguments);
  llvm::StringRef getError() const { return error; }

  /// The position of a rank along each axis of the mesh.
  llvm::SmallVector<int64_t> coordinates(int64_t rank) const;

private:
  ProgramMesh mesh;
  std::string error;
};

} // namespace tessera

#endif // TESSERA_IR_INTERPRETER_LOCKSTEP_H
