//===- EntryFunctionBuilder.h - builds the C function of an entry ---------===//
//
// The function calls the runtime through its table (`TsrRuntime`), with addresses in the arena. Loops run in it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_ENTRYFUNCTIONBUILDER_H
#define TESSERA_CODEGEN_PROGRAM_ENTRYFUNCTIONBUILDER_H

#include "codegen/Backend.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tessera {

/// Builds `void tsr_entry_NAME(TsrRuntime *, char *arena)` in the LLVM dialect.
class EntryFunctionBuilder {
public:
  using Value = mlir::Value;

  /// Begins the function at the end of `code`.
  EntryFunctionBuilder(mlir::ModuleOp code, llvm::StringRef name);

  /// The address of a place, at the iterations `inductions` of the enclosing repeats.
  Value address(PlaceAttr place, llvm::ArrayRef<Value> inductions);
  /// The address of an offset in the arena.
  Value address(int64_t offset);
  Value nullAddress() { return mlir::LLVM::ZeroOp::create(builder, loc, pointer); }

  // Calls of the runtime. `number` is that of a kernel, a GEMM or an exchange in the manifest.
  /// `scratch`: the offset in the arena of the kernel's scratch memory.
  void callKernel(const EmittedKernel &kernel, uint32_t number, llvm::ArrayRef<Value> addresses,
                  std::optional<int64_t> scratch);
  void callGemm(uint32_t number, Value a, Value b, Value bias, Value aux, Value result);
  void copy(Value to, Value from, int64_t bytes);
  void startExchange(uint32_t number, Value sent, Value received);
  void waitForExchange(uint32_t number);
  /// Stores an i32, through the runtime if the arena is memory of a device.
  void storeInt(Value address, Value value, bool isOnDevice);

  /// Emits a loop of `count` iterations. `body` emits one of them and gets its index (i64), which counts down in a
  /// `reverse` loop. Stops if `body` fails.
  llvm::LogicalResult loop(int64_t count, bool reverse, llvm::function_ref<llvm::LogicalResult(Value index)> body);
  /// Emits `body` such that it runs only if there is an iteration behind that of `index` in such a loop. `body` gets
  /// the next one's index. Stops if `body` fails.
  llvm::LogicalResult ifNext(Value index, int64_t count, bool reverse,
                             llvm::function_ref<llvm::LogicalResult(Value next)> body);
  /// The index of the first iteration of such a loop.
  Value firstIndex(int64_t count, bool reverse) { return constant(reverse ? count - 1 : 0); }
  Value truncateToI32(Value x);

  /// Ends the function.
  void finish();

private:
  Value constant(int64_t number);
  Value constant32(uint32_t number);
  /// Calls entry `field` of the runtime's table, whose first argument is the table itself.
  void callRuntime(size_t field, llvm::ArrayRef<Value> arguments);
  /// The array of a kernel's arguments, on the stack. It is allocated once, for the most arguments of any call.
  Value argumentArray(unsigned count);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Type pointer, i64;
  mlir::LLVM::LLVMFuncOp function;
  Value runtime, arena;
  mlir::LLVM::AllocaOp arguments;
  unsigned mostArguments = 1;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_ENTRYFUNCTIONBUILDER_H
