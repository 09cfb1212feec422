//===- EntryFunctionBuilder.cpp - builds the C function of an entry -------===//

#include "codegen/program/EntryFunctionBuilder.h"
#include "runtime/Abi.h"

using namespace mlir;
using namespace tessera;

EntryFunctionBuilder::EntryFunctionBuilder(ModuleOp code, StringRef name)
    : builder(code.getContext()), loc(builder.getUnknownLoc()), pointer(LLVM::LLVMPointerType::get(code.getContext())),
      i64(builder.getI64Type()) {
  builder.setInsertionPointToEnd(code.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer, pointer});
  function = LLVM::LLVMFuncOp::create(builder, loc, (TSR_SYMBOL_ENTRY_PREFIX + name).str(), type);
  Block *block = function.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  runtime = block->getArgument(0);
  arena = block->getArgument(1);
  arguments = LLVM::AllocaOp::create(builder, loc, pointer, pointer, constant(1));
}

void EntryFunctionBuilder::finish() {
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  arguments.getArraySize().getDefiningOp<LLVM::ConstantOp>().setValueAttr(builder.getI64IntegerAttr(mostArguments));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value EntryFunctionBuilder::constant(int64_t number) {
  return LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(number));
}

Value EntryFunctionBuilder::constant32(uint32_t number) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(number));
}

Value EntryFunctionBuilder::address(int64_t offset) {
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), arena, ArrayRef<Value>{constant(offset)});
}

Value EntryFunctionBuilder::address(PlaceAttr place, ArrayRef<Value> inductions) {
  Value result = address(place.getOffset());
  for (auto [stride, induction] : llvm::zip(place.getStrides(), inductions)) {
    if (stride == 0) continue;
    Value offset = LLVM::MulOp::create(builder, loc, induction, constant(stride));
    result = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), result, ArrayRef<Value>{offset});
  }
  return result;
}

Value EntryFunctionBuilder::truncateToI32(Value x) {
  return LLVM::TruncOp::create(builder, loc, builder.getI32Type(), x);
}

//===----------------------------------------------------------------------===//
// Calls of the runtime
//===----------------------------------------------------------------------===//

Value EntryFunctionBuilder::argumentArray(unsigned count) {
  mostArguments = std::max(mostArguments, count);
  return arguments.getResult();
}

void EntryFunctionBuilder::callRuntime(size_t field, ArrayRef<Value> arguments) {
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), runtime,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(field)});
  SmallVector<Value> operands{LLVM::LoadOp::create(builder, loc, pointer, slot), runtime};
  operands.append(arguments.begin(), arguments.end());
  auto types = llvm::map_to_vector(ArrayRef(operands).drop_front(), [](Value v) { return v.getType(); });
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), types);
  LLVM::CallOp::create(builder, loc, type, operands);
}

void EntryFunctionBuilder::callKernel(const EmittedKernel &kernel, uint32_t number, ArrayRef<Value> addresses,
                                      std::optional<int64_t> scratch) {
  Value array = argumentArray(addresses.size());
  for (auto [i, address] : llvm::enumerate(addresses)) {
    Value slot =
        LLVM::GEPOp::create(builder, loc, pointer, pointer, array, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(builder, loc, address, slot);
  }
  if (kernel.launch) return callRuntime(offsetof(TsrRuntime, launch), {constant32(number), array});
  Value code = LLVM::AddressOfOp::create(builder, loc, pointer, kernel.symbol);
  const WorkSharing &sharing = kernel.sharing;
  callRuntime(offsetof(TsrRuntime, parallelFor),
              {code, array, constant(sharing.iterations), constant(sharing.grain), constant(sharing.stealGrain),
               scratch ? address(*scratch) : nullAddress(), constant(sharing.scratchBytes)});
}

void EntryFunctionBuilder::callGemm(uint32_t number, Value a, Value b, Value bias, Value aux, Value result) {
  callRuntime(offsetof(TsrRuntime, gemm), {constant32(number), a, b, bias, aux, result});
}

void EntryFunctionBuilder::startExchange(uint32_t number, Value sent, Value received) {
  callRuntime(offsetof(TsrRuntime, start), {constant32(number), sent, received});
}

void EntryFunctionBuilder::waitForExchange(uint32_t number) {
  callRuntime(offsetof(TsrRuntime, wait), {constant32(number)});
}

void EntryFunctionBuilder::copy(Value to, Value from, int64_t bytes) {
  callRuntime(offsetof(TsrRuntime, copy), {to, from, constant(bytes)});
}

void EntryFunctionBuilder::storeInt(Value address, Value value, bool isOnDevice) {
  if (isOnDevice)
    callRuntime(offsetof(TsrRuntime, setInt), {address, value});
  else
    LLVM::StoreOp::create(builder, loc, value, address);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Emits
///
///   before: head(0)
///   head(i): body(reverse ? count - 1 - i : i); i + 1 < count ? head(i + 1) : exit
LogicalResult EntryFunctionBuilder::loop(int64_t count, bool reverse, llvm::function_ref<LogicalResult(Value)> body) {
  // Two constants that no op uses, but that count as work when a module is divided into parts (CodeParts.h). Without
  // them the functions of most objects would be in another order: remove them together with a change of generated code.
  constant(0), constant(count - 1);
  Block *before = builder.getInsertionBlock();
  Region &region = function.getBody();
  Block *head = builder.createBlock(&region, region.end(), {i64}, {loc});
  builder.setInsertionPointToEnd(before);
  LLVM::BrOp::create(builder, loc, ValueRange{constant(0)}, head);
  builder.setInsertionPointToEnd(head);
  Value counter = head->getArgument(0);
  Value index = reverse ? LLVM::SubOp::create(builder, loc, constant(count - 1), counter).getResult() : counter;
  if (failed(body(index))) return failure();
  Value next = LLVM::AddOp::create(builder, loc, counter, constant(1));
  Value more = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, next, constant(count));
  Block *tail = builder.getInsertionBlock();
  Block *exit = builder.createBlock(&region, region.end());
  builder.setInsertionPointToEnd(tail);
  LLVM::CondBrOp::create(builder, loc, more, head, ValueRange{next}, exit, ValueRange{});
  builder.setInsertionPointToEnd(exit);
  return success();
}

/// Emits
///
///   index + 1 < count (reverse: index > 0) ? body(index + 1) (reverse: index - 1), then behind : behind
LogicalResult EntryFunctionBuilder::ifNext(Value index, int64_t count, bool reverse,
                                           llvm::function_ref<LogicalResult(Value)> body) {
  Value next = LLVM::AddOp::create(builder, loc, index, constant(reverse ? -1 : 1));
  Value isThere = reverse ? LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sge, next, constant(0))
                          : LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, next, constant(count));
  Block *before = builder.getInsertionBlock();
  Region &region = function.getBody();
  Block *inside = builder.createBlock(&region, region.end());
  if (failed(body(next))) return failure();
  Block *end = builder.getInsertionBlock();
  Block *behind = builder.createBlock(&region, region.end());
  builder.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(builder, loc, isThere, inside, behind);
  builder.setInsertionPointToEnd(end);
  LLVM::BrOp::create(builder, loc, ValueRange{}, behind);
  builder.setInsertionPointToEnd(behind);
  return success();
}
