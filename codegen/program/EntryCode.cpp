//===- EntryCode.cpp - the code of entry functions ------------------------===//
//
// A walk over the scheduled function. Each op becomes one call through the runtime's table, each repeat one loop; an
// operand's address is the arena plus its place. What a pass left to be moved (an operand of a repeat that lies
// elsewhere than the region argument, a result that lies elsewhere than the function's) becomes a copy.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/EntryCode.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/analysis/Views.h"
#include "passes/launch/Launches.h"
#include "runtime/Abi.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// What the arena's address is a multiple of, in bytes, on every machine.
static constexpr int64_t arenaAlignment = 64;

namespace {

class EntryEmitter {
public:
  EntryEmitter(func::FuncOp function, ModuleOp code, Backend &backend, KernelTable &kernels, GemmTable &gemms)
      : function(function), backend(backend), kernels(kernels), gemms(gemms), builder(code.getContext()),
        loc(builder.getUnknownLoc()), pointer(LLVM::LLVMPointerType::get(code.getContext())),
        i64(builder.getI64Type()) {
    builder.setInsertionPointToEnd(code.getBody());
  }

  LogicalResult emit();

private:
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation *op);
  /// Of a tiled op, or of the kernels of a launch, called with their operands and results.
  LogicalResult emitKernelCall(Operation *first);
  void callKernel(const EmittedKernel &kernel, uint32_t number, ArrayRef<Value> addresses);
  LogicalResult emitContract(ContractOp op);
  LogicalResult emitMerged(ArrayRef<Operation *> ops);
  /// Enters a kernel that computes contractions; its number.
  uint32_t addContraction(const EmittedKernel &kernel, ArrayRef<ContractOp> contractions) {
    return kernels.add(kernel, workOf(contractions), function.getName(), runsPerCall(contractions.front()));
  }
  /// Gives the result its place, and that place what the contraction adds to.
  LogicalResult prepareResult(ContractOp op);
  LogicalResult emitRepeat(RepeatOp op);
  LogicalResult emitReturn(func::ReturnOp op);
  LogicalResult emitCopyOp(ReorderOp op);

  /// Gives `value` the place in the attribute; an error on `op` if there is none.
  LogicalResult place(Value value, Attribute attr, Operation *op);
  LogicalResult placeResults(Operation *op);
  /// Address of a placed value, in the current iteration of the enclosing repeats.
  Value address(Value value) { return address(places.lookup(value), inductions); }
  Value address(PlaceAttr place, ArrayRef<Value> at);
  Value constant(int64_t number) {
    return LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(number));
  }
  Value constant32(uint32_t number) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(number));
  }
  /// Calls entry `field` of the runtime's table; `self` is added.
  void callRuntime(size_t field, ArrayRef<Value> arguments);
  void emitCopy(Value to, Value from, int64_t bytes) {
    callRuntime(offsetof(TsrRuntime, copy), {to, from, constant(bytes)});
  }
  /// `count` pointers on the stack, allocated once in the function's first block.
  Value argumentArray(unsigned count);

  func::FuncOp function;
  Backend &backend;
  KernelTable &kernels;
  GemmTable &gemms;
  OpBuilder builder;
  Location loc;
  Type pointer, i64;
  LLVM::LLVMFuncOp entry;
  Value runtime, arena, arguments;
  LLVM::AllocaOp argumentsAlloca;
  unsigned argumentsCount = 1;
  DenseMap<Value, PlaceAttr> places;
  SmallVector<Value> inductions; ///< induction values (i64) of the enclosing repeats, outermost first
};

} // namespace

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

LogicalResult EntryEmitter::place(Value value, Attribute attr, Operation *op) {
  auto found = dyn_cast_or_null<PlaceAttr>(attr);
  if (!found) return op->emitError("expected a place for each value; has `schedule` run?");
  places[value] = found;
  return success();
}

LogicalResult EntryEmitter::placeResults(Operation *op) {
  auto list = op->getAttrOfType<ArrayAttr>(attrs::places);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (failed(place(result, list && i < list.size() ? list[i] : Attribute(), op))) return failure();
  return success();
}

Value EntryEmitter::address(PlaceAttr place, ArrayRef<Value> at) {
  Value result = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), arena,
                                     ArrayRef<Value>{constant(place.getOffset())});
  for (auto [stride, induction] : llvm::zip(place.getStrides(), at)) {
    if (stride == 0) continue;
    Value offset = LLVM::MulOp::create(builder, loc, induction, constant(stride));
    result = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), result, ArrayRef<Value>{offset});
  }
  return result;
}

Value EntryEmitter::argumentArray(unsigned count) {
  argumentsCount = std::max(argumentsCount, count);
  return argumentsAlloca.getResult();
}

void EntryEmitter::callRuntime(size_t field, ArrayRef<Value> arguments) {
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), runtime,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(field)});
  SmallVector<Value> operands{LLVM::LoadOp::create(builder, loc, pointer, slot), runtime};
  operands.append(arguments.begin(), arguments.end());
  auto types = llvm::map_to_vector(ArrayRef(operands).drop_front(), [](Value v) { return v.getType(); });
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), types);
  LLVM::CallOp::create(builder, loc, type, operands);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The arena itself is aligned to more than any place.
static int64_t alignmentOf(PlaceAttr place) {
  int64_t divisor = place.getOffset();
  for (int64_t stride : place.getStrides()) divisor = std::gcd(divisor, stride);
  return divisor == 0 ? arenaAlignment : std::gcd(divisor, arenaAlignment);
}

LogicalResult EntryEmitter::emitKernelCall(Operation *first) {
  SmallVector<Operation *> ops = launchOf(first);
  SmallVector<Value> tensors;
  SmallVector<SmallVector<int64_t>> alignments;
  for (Operation *op : ops) {
    if (failed(placeResults(op))) return failure();
    SmallVector<Value> own(op->getOperands());
    own.append(op->getResults().begin(), op->getResults().end());
    alignments.push_back(llvm::map_to_vector(own, [&](Value tensor) { return alignmentOf(places.lookup(tensor)); }));
    tensors.append(own);
  }
  FailureOr<SmallVector<EmittedKernel>> emitted = backend.emitKernels(ops, alignments);
  if (failed(emitted)) return failure();
  KernelWork share = workOf(ops).dividedBy(static_cast<int64_t>(emitted->size()));
  for (auto [i, kernel] : llvm::enumerate(*emitted)) {
    bool isPart = i + 1 < emitted->size();
    uint32_t number = kernels.add(kernel, share, function.getName(), runsPerCall(first), isPart);
    callKernel(kernel, number, llvm::map_to_vector(tensors, [&](Value tensor) { return address(tensor); }));
  }
  return success();
}

void EntryEmitter::callKernel(const EmittedKernel &kernel, uint32_t number, ArrayRef<Value> addresses) {
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
              {code, array, constant(sharing.iterations), constant(sharing.grain), constant(sharing.stealGrain)});
}

LogicalResult EntryEmitter::prepareResult(ContractOp op) {
  if (failed(placeResults(op))) return failure();
  if (op.getInit() && places.lookup(op.getInit()) != places.lookup(op.getResult()))
    emitCopy(address(op.getResult()), address(op.getInit()), op.getType().getNumBytes());
  return success();
}

LogicalResult EntryEmitter::emitMerged(ArrayRef<Operation *> ops) {
  std::optional<FusedGemms> merged = fusedGemms(ops);
  if (!merged) return ops.front()->emitError("shares no operand with what is computed with it; has `schedule` run?");
  auto contractions = llvm::map_to_vector(ops, [](Operation *op) { return cast<ContractOp>(op); });
  ContractionGemm gemm = *describeGemm(contractions.front());
  SmallVector<Value> a, b, biases, results;
  for (ContractOp op : contractions) {
    if (failed(prepareResult(op))) return failure();
    auto [ownA, ownB] = gemmOperands(op, gemm);
    if (a.empty() || !merged->mergesColumns()) a.push_back(address(ownA));
    if (b.empty() || !merged->mergesRows()) {
      b.push_back(address(ownB));
      biases.push_back(op.getBias() ? address(op.getBias()) : LLVM::ZeroOp::create(builder, loc, pointer).getResult());
    }
    results.push_back(address(op.getResult()));
  }
  std::optional<EmittedKernel> kernel = backend.emitContraction(contractions, gemm, *merged);
  if (!kernel) return ops.front()->emitError("is computed by a library, which computes contractions one by one");
  callKernel(*kernel, addContraction(*kernel, contractions),
             llvm::to_vector(llvm::concat<Value>(a, b, biases, results)));
  return success();
}

LogicalResult EntryEmitter::emitContract(ContractOp op) {
  if (SmallVector<Operation *> ops = launchOf(op); ops.size() > 1) return emitMerged(ops);
  if (failed(prepareResult(op))) return failure();
  Value result = address(op.getResult());
  auto addressOrNull = [&](Value value) -> Value {
    return value ? address(value) : LLVM::ZeroOp::create(builder, loc, pointer).getResult();
  };
  bool isGrad = op.getEpilogue() == Epilogue::GeluGrad;
  Value bias = addressOrNull(isGrad ? Value(op.getExtra()) : Value(op.getBias()));
  std::optional<ContractionGemm> description = describeGemm(op);
  if (!description) return op.emitError("is not a matrix product of strided operands; has `layout` run?");
  if (std::optional<EmittedKernel> kernel = backend.emitContraction({op}, *description, {})) {
    auto [a, b] = gemmOperands(op, *description);
    callKernel(*kernel, addContraction(*kernel, {op}), {address(a), address(b), bias, result});
    return success();
  }
  FailureOr<GemmCall> call = gemms.add(op, *description);
  if (failed(call)) return failure();
  Value aux = addressOrNull(isGrad ? Value(op.getAux()) : Value(op.getExtra()));
  callRuntime(offsetof(TsrRuntime, gemm),
              {constant32(call->index), address(call->a), address(call->b), bias, aux, result});
  return success();
}

/// A reorder outside kernels is a copy that `schedule` could not avoid.
LogicalResult EntryEmitter::emitCopyOp(ReorderOp op) {
  if (op.getX().getType() != op.getType())
    return op.emitError("changes the memory order outside a kernel; has `fuse` run?");
  if (failed(placeResults(op))) return failure();
  emitCopy(address(op.getResult()), address(op.getX()), op.getType().getNumBytes());
  return success();
}

/// Emits, for `n` iterations:
///
///   copies of carried operands → head(i = 0): body(i' = reverse ? n - 1 - i : i) … copies of carried values; i + 1 < n
///   ? head : exit
LogicalResult EntryEmitter::emitRepeat(RepeatOp op) {
  if (failed(placeResults(op))) return failure();
  ArrayAttr argPlaces = op.getArgPlacesAttr();
  Block &body = op.getBlock();
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (failed(place(argument, argPlaces && i < argPlaces.size() ? argPlaces[i] : Attribute(), op))) return failure();

  int64_t count = op.getAxis().getSize();
  SmallVector<Value> first(inductions), last(inductions);
  first.push_back(constant(op.getReverse() ? count - 1 : 0));
  last.push_back(constant(op.getReverse() ? 0 : count - 1));
  auto move = [&](PlaceAttr to, ArrayRef<Value> toAt, PlaceAttr from, ArrayRef<Value> fromAt, Value value) {
    if (to != from) emitCopy(address(to, toAt), address(from, fromAt), tensorType(value).getNumBytes());
  };
  for (auto [operand, argument] : llvm::zip(op.getCarried(), op.getCarriedArgs())) {
    PlaceAttr to = places.lookup(argument), from = places.lookup(operand);
    // A carried value in a stack starts at the slot of the first iteration.
    int64_t stride = to.getStrides().size() > inductions.size() ? to.getStrides()[inductions.size()] : 0;
    int64_t start = to.getOffset() + stride * (op.getReverse() ? count - 1 : 0);
    SmallVector<int64_t> outer(to.getStrides().take_front(inductions.size()));
    while (!outer.empty() && outer.back() == 0) outer.pop_back();
    PlaceAttr slot = PlaceAttr::get(op.getContext(), start, outer);
    move(slot, inductions, from, inductions, operand);
  }

  Block *before = builder.getInsertionBlock();
  Region &region = entry.getBody();
  Block *head = builder.createBlock(&region, region.end(), {i64}, {loc});
  builder.setInsertionPointToEnd(before);
  LLVM::BrOp::create(builder, loc, ValueRange{constant(0)}, head);
  builder.setInsertionPointToEnd(head);
  Value counter = head->getArgument(0);
  Value induction =
      op.getReverse() ? LLVM::SubOp::create(builder, loc, constant(count - 1), counter).getResult() : counter;
  inductions.push_back(induction);
  Value narrow = LLVM::TruncOp::create(builder, loc, builder.getI32Type(), induction);
  if (backend.hasDeviceMemory())
    callRuntime(offsetof(TsrRuntime, setInt), {address(op.getInduction()), narrow});
  else
    LLVM::StoreOp::create(builder, loc, narrow, address(op.getInduction()));
  if (failed(emitBlock(body))) return failure();
  for (auto [value, argument] : llvm::zip(op.getYield().getValues(), op.getCarriedArgs())) {
    PlaceAttr to = places.lookup(argument), from = places.lookup(value);
    bool inStack = to.getStrides().size() == inductions.size() && to.getStrides().back() != 0;
    if (!inStack) move(to, inductions, from, inductions, value);
  }
  inductions.pop_back();
  Value next = LLVM::AddOp::create(builder, loc, counter, constant(1));
  Value more = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, next, constant(count));
  Block *tail = builder.getInsertionBlock();
  Block *exit = builder.createBlock(&region, region.end());
  builder.setInsertionPointToEnd(tail);
  LLVM::CondBrOp::create(builder, loc, more, head, ValueRange{next}, exit, ValueRange{});
  builder.setInsertionPointToEnd(exit);
  return success();
}

LogicalResult EntryEmitter::emitReturn(func::ReturnOp op) {
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto to = function.getResultAttrOfType<PlaceAttr>(i, attrs::place);
    if (!to) return op.emitError("expected a place for each result; has `schedule` run?");
    if (to != places.lookup(value)) emitCopy(address(to, {}), address(value), tensorType(value).getNumBytes());
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
  return success();
}

LogicalResult EntryEmitter::emitOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<KernelOp, TiledOp>([&](auto kernel) { return emitKernelCall(kernel); })
      .Case<ContractOp>([&](auto contract) { return emitContract(contract); })
      .Case<RepeatOp>([&](auto repeat) { return emitRepeat(repeat); })
      .Case<func::ReturnOp>([&](auto op) { return emitReturn(op); })
      .Case<YieldOp>([](auto) { return success(); })
      .Case<ReorderOp>([&](auto copy) { return emitCopyOp(copy); })
      .Default([&](Operation *other) -> LogicalResult {
        if (isStorageView(other)) return placeResults(other);
        return other->emitError("is neither a kernel, a tiled op, a contraction, a repeat nor a view; has `fuse` run?");
      });
}

LogicalResult EntryEmitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.getPrevNode() && isSameLaunch(op.getPrevNode(), &op)) continue; // called with the first
    if (failed(emitOp(&op))) return failure();
  }
  return success();
}

LogicalResult EntryEmitter::emit() {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer, pointer});
  entry = LLVM::LLVMFuncOp::create(builder, loc, (TSR_SYMBOL_ENTRY_PREFIX + function.getName()).str(), type);
  Block *block = entry.addEntryBlock(builder);
  builder.setInsertionPointToEnd(block);
  runtime = block->getArgument(0);
  arena = block->getArgument(1);
  argumentsAlloca = LLVM::AllocaOp::create(builder, loc, pointer, pointer, constant(1));
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    if (failed(place(argument, function.getArgAttr(i, attrs::place), function))) return failure();
  if (failed(emitBlock(function.getBody().front()))) return failure();
  argumentsAlloca.getArraySize().getDefiningOp<LLVM::ConstantOp>().setValueAttr(
      builder.getI64IntegerAttr(argumentsCount));
  return success();
}

LogicalResult tessera::emitEntry(func::FuncOp function, ModuleOp code, Backend &backend, KernelTable &kernels,
                                 GemmTable &gemms) {
  return EntryEmitter(function, code, backend, kernels, gemms).emit();
}

void tessera::emitAbiVersion(ModuleOp code) {
  OpBuilder builder(code.getBodyRegion());
  LLVM::GlobalOp::create(builder, builder.getUnknownLoc(), builder.getI32Type(), /*isConstant=*/true,
                         LLVM::Linkage::External, TSR_SYMBOL_ABI_VERSION, builder.getI32IntegerAttr(TSR_ABI_VERSION));
}
