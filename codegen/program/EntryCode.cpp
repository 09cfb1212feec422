//===- EntryCode.cpp - the code of entry functions ------------------------===//
//
// A walk over the scheduled function. Each op becomes one call of the runtime, each repeat one loop. An operand's
// address is the arena plus its place. Where two values should share storage but `schedule` gave them different places,
// the code copies: an operand of a repeat and the region argument, or a returned value and the function's result.
//
// The start of an early exchange is called where it runs (EarlyStarts.h), once before the loop and once in it.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/EntryCode.h"
#include "codegen/program/EntryFunctionBuilder.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/analysis/EarlyStarts.h"
#include "passes/analysis/StepPasses.h"
#include "passes/analysis/ValueNames.h"
#include "passes/analysis/Views.h"
#include "passes/launch/Launches.h"
#include "runtime/Abi.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// Alignment of the arena in bytes, on every machine.
static constexpr int64_t arenaAlignment = 64;

namespace {

class EntryEmitter {
public:
  EntryEmitter(func::FuncOp function, ModuleOp code, Backend &backend, ProgramTables &tables, ScratchPlaces &scratch)
      : function(function), names(function), early(function), backend(backend), kernels(tables.kernels),
        gemms(tables.gemms), exchanges(tables.exchanges), scratch(scratch),
        links(RankLinks::of(function->getParentOfType<ModuleOp>())), code(code, function.getName()) {
    calls.entry = function.getName().str();
  }

  FailureOr<CallSequence> emit();

private:
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation *op);
  /// Emits the call of a tiled op, or of the kernels of a launch, with their operands and results.
  LogicalResult emitKernelCall(Operation *first);
  LogicalResult emitContract(ContractOp op);
  LogicalResult emitFusedGemms(ArrayRef<Operation *> ops);
  /// Emits a contraction that the library computes by several calls.
  LogicalResult emitParts(ContractOp op, ArrayRef<GemmCall> parts);
  /// Enters a kernel that computes contractions, and notes its call. Returns its number.
  uint32_t addContraction(const EmittedKernel &kernel, ArrayRef<ContractOp> contractions) {
    SmallVector<Operation *> ops(contractions.begin(), contractions.end());
    KernelWork work = workOf(contractions);
    uint32_t number = kernels.add(kernel, work, originOf(ops), siteOf(ops));
    noteCall(&kernel, number, ops, work);
    return number;
  }
  /// The place of a kernel's scratch memory; none if it needs none.
  std::optional<int64_t> placeScratch(const EmittedKernel &kernel, Operation *first) {
    int64_t bytes = kernel.sharing.scratchBytes;
    return bytes > 0 ? std::optional(scratch.place(first, bytes)) : std::nullopt;
  }
  /// Notes the call of a kernel, or of the library if there is none.
  void noteCall(const EmittedKernel *kernel, uint32_t number, ArrayRef<Operation *> ops, const KernelWork &work);
  CallAccess accessTo(Value value, int64_t bytes, bool isWritten) const {
    return {places.lookup(value), bytesInRoot(value), bytes, isWritten};
  }
  KernelOrigin originOf(ArrayRef<Operation *> ops) const;
  CallSite siteOf(ArrayRef<Operation *> ops);
  /// The number of an exchange in the manifest's list.
  uint32_t enterExchange(StartOp op) {
    return exchanges.has(op) ? exchanges.numberOf(op)
                             : exchanges.add(op, names.nameOf(op.getX()), names.lineOf(op.getResult()), siteOf({op}));
  }
  /// Places the result, and copies what the contraction adds to into it.
  LogicalResult prepareResult(ContractOp op);
  LogicalResult emitRepeat(RepeatOp op);
  LogicalResult emitIteration(RepeatOp op, Value induction);
  /// Copies the initial values of carried arguments that are stored elsewhere.
  void copyCarriedOperands(RepeatOp op);
  LogicalResult emitReturn(func::ReturnOp op);
  LogicalResult emitCopyOp(ReorderOp op);
  LogicalResult emitStart(StartOp op);
  LogicalResult emitWait(WaitOp op);
  /// Emits the early starts of a repeat's first iteration.
  LogicalResult emitPrologue(RepeatOp op);
  /// Emits the early starts of the next iteration that run behind an op.
  LogicalResult emitEarlyBehind(Operation *op);
  /// Emits the call of an early start, at the innermost of `inductions`.
  LogicalResult callEarly(StartOp op);

  /// Gives `value` the place in the attribute; an error on `op` if there is none.
  LogicalResult place(Value value, Attribute attr, Operation *op);
  LogicalResult placeResults(Operation *op);
  LogicalResult placeArguments(RepeatOp op);
  /// The address of a placed value, in the current iteration of the enclosing repeats.
  Value address(Value value) { return code.address(places.lookup(value), inductions); }
  Value addressOrNull(Value value) { return value ? address(value) : code.nullAddress(); }
  void copyIfMoved(PlaceAttr to, PlaceAttr from, Value value) {
    if (to != from) copy(to, from, value);
  }
  /// Copies the value, for the op `cause` if there is one.
  void copy(PlaceAttr to, PlaceAttr from, Value value, Operation *cause = nullptr);

  func::FuncOp function;
  ValueNames names;
  EarlyStarts early;
  Backend &backend;
  KernelTable &kernels;
  GemmTable &gemms;
  ExchangeTable &exchanges;
  ScratchPlaces &scratch;
  RankLinks links;
  EntryFunctionBuilder code;
  CallSequence calls;
  DenseMap<Value, PlaceAttr> places;
  SmallVector<Value> inductions; ///< induction values (i64) of the enclosing repeats, outermost first
};

} // namespace

//===----------------------------------------------------------------------===//
// Places
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

LogicalResult EntryEmitter::placeArguments(RepeatOp op) {
  ArrayAttr list = op.getArgPlacesAttr();
  for (auto [i, argument] : llvm::enumerate(op.getBlock().getArguments()))
    if (failed(place(argument, list && i < list.size() ? list[i] : Attribute(), op))) return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Of a launch: its first op, and how many others there are.
KernelOrigin EntryEmitter::originOf(ArrayRef<Operation *> ops) const {
  KernelOrigin origin{names.nameOf(ops.front()), names.lineOf(ops.front()->getResult(0))};
  if (ops.size() > 1) origin.of += " and " + std::to_string(ops.size() - 1) + " more";
  return origin;
}

CallSite EntryEmitter::siteOf(ArrayRef<Operation *> ops) {
  return {function.getName(), runsPerCall(ops.front()), stepPass(ops)};
}

/// The alignment of a place in every iteration, in bytes.
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
  auto tiled = dyn_cast<TiledOp>(first);
  SmallVector<KernelWork, 2> works{workOf(ops)}, launches;
  if (tiled && backend.hasDeviceMemory()) launches = workOfLaunches(tiled);
  if (launches.size() == emitted->size()) works = std::move(launches);
  works.resize(emitted->size()); // the first call does all, where a backend divides the work in a way of its own
  for (auto [i, kernel, work] : llvm::enumerate(*emitted, works)) {
    bool isPart = i + 1 < emitted->size();
    uint32_t number = kernels.add(kernel, work, originOf(ops), siteOf(ops), isPart);
    noteCall(&kernel, number, ops, work);
    code.callKernel(kernel, number, llvm::map_to_vector(tensors, [&](Value tensor) { return address(tensor); }),
                    placeScratch(kernel, first));
  }
  return success();
}

void EntryEmitter::noteCall(const EmittedKernel *kernel, uint32_t number, ArrayRef<Operation *> ops,
                            const KernelWork &work) {
  // As the runtime decides it (`Threads::parallelFor`).
  bool isAlone = kernel && !kernel->launch && kernel->sharing.iterations <= kernel->sharing.grain;
  CallKind kind = kernel ? CallKind::Kernel : CallKind::Gemm;
  ProgramCall call{kind, isAlone, number, ops.front(), stepPass(ops), work, {}};
  for (Operation *op : ops) {
    for (OpOperand &operand : op->getOpOperands())
      call.accesses.push_back(accessTo(operand.get(), bytesRead(op, operand.getOperandNumber()), false));
    for (OpResult result : op->getResults())
      call.accesses.push_back(accessTo(result, bytesWritten(op, result.getResultNumber()), true));
  }
  calls.steps.emplace_back(std::move(call));
}

void EntryEmitter::copy(PlaceAttr to, PlaceAttr from, Value value, Operation *cause) {
  int64_t bytes = bytesInRoot(value);
  code.copy(code.address(to, inductions), code.address(from, inductions), bytes);
  ProgramCall call;
  call.kind = CallKind::Copy, call.first = cause;
  call.pass = cause ? stepPass(cause) : stepPassOf(value);
  call.work.read = call.work.written = bytes;
  call.accesses = {{from, bytes, bytes, false}, {to, bytes, bytes, true}};
  calls.steps.emplace_back(std::move(call));
}

LogicalResult EntryEmitter::prepareResult(ContractOp op) {
  if (failed(placeResults(op))) return failure();
  if (Value init = op.getInit(); init && places.lookup(init) != places.lookup(op.getResult()))
    copy(places.lookup(op.getResult()), places.lookup(init), init);
  return success();
}

LogicalResult EntryEmitter::emitFusedGemms(ArrayRef<Operation *> ops) {
  std::optional<FusedGemms> fused = fusedGemms(ops);
  if (!fused)
    return ops.front()->emitError("expected an operand shared with the GEMMs of its launch; has `schedule` run?");
  auto contractions = llvm::map_to_vector(ops, [](Operation *op) { return cast<ContractOp>(op); });
  ContractionGemm gemm = *describeGemm(contractions.front());
  SmallVector<Value> a, b, biases, results;
  for (ContractOp op : contractions) {
    if (failed(prepareResult(op))) return failure();
    auto [ownA, ownB] = gemmOperands(op, gemm);
    if (a.empty() || !fused->fusesColumns()) a.push_back(address(ownA));
    if (b.empty() || !fused->fusesRows()) {
      b.push_back(address(ownB));
      biases.push_back(addressOrNull(op.getBias()));
    }
    results.push_back(address(op.getResult()));
  }
  std::optional<EmittedKernel> kernel = backend.emitContraction(contractions, gemm, *fused);
  if (!kernel) return ops.front()->emitError("cannot be computed with other GEMMs: a library computes it");
  code.callKernel(*kernel, addContraction(*kernel, contractions),
                  llvm::to_vector(llvm::concat<Value>(a, b, biases, results)), placeScratch(*kernel, ops.front()));
  return success();
}

LogicalResult EntryEmitter::emitContract(ContractOp op) {
  if (SmallVector<Operation *> ops = launchOf(op); ops.size() > 1) return emitFusedGemms(ops);
  if (failed(prepareResult(op))) return failure();
  Value result = address(op.getResult());
  bool isGrad = op.getEpilogue() == Epilogue::GeluGrad;
  Value biasOrSum = isGrad ? Value(op.getExtra()) : Value(op.getBias());
  Value bias = addressOrNull(biasOrSum);
  std::optional<ContractionGemm> description = describeGemm(op);
  if (!description) return op.emitError("expected a GEMM of strided operands; has `layout` run?");
  if (std::optional<EmittedKernel> kernel = backend.emitContraction({op}, *description, {})) {
    auto [a, b] = gemmOperands(op, *description);
    code.callKernel(*kernel, addContraction(*kernel, {op}), {address(a), address(b), bias, result},
                    placeScratch(*kernel, op));
    return success();
  }
  FailureOr<std::vector<GemmCall>> parts = gemms.add(op, *description, names.nameOf(op), siteOf({op}));
  if (failed(parts)) return failure();
  if (parts->size() > 1) return emitParts(op, *parts);
  const GemmCall &call = parts->front();
  auto [a, b] = gemmOperands(op, *description);
  Value aux = isGrad ? Value(op.getAux()) : Value(op.getExtra());
  auto alignment = [&](Value value) { return value ? alignmentOf(places.lookup(value)) : 0; };
  if (op.getEpilogue())
    gemms.addAlignments(call.index, {alignment(op.getResult()), alignment(aux), alignment(biasOrSum)});
  KernelWork work = workOf(ArrayRef<ContractOp>{op});
  for (MultiplyWork &gemm : work.gemms) gemm.tf32 = call.part.gemm.tf32;
  noteCall(nullptr, call.index, {op}, work);
  code.callGemm(call.index, address(a), address(b), bias, addressOrNull(aux), result);
  return success();
}

LogicalResult EntryEmitter::emitParts(ContractOp op, ArrayRef<GemmCall> parts) {
  auto [a, b] = gemmOperands(op, parts.front().part.gemm);
  for (const GemmCall &call : parts) {
    const GemmPart &part = call.part;
    bool isLast = &call == &parts.back();
    ProgramCall noted{CallKind::Gemm, false, call.index, isLast ? op : nullptr, stepPass(op), workOf(part.gemm), {}};
    auto operand = [&](Value value, ElementType type, int64_t elements, int64_t bytes, bool isWritten) {
      PlaceAttr whole = places.lookup(value);
      auto place = PlaceAttr::get(op.getContext(), whole.getOffset() + elements * bytesOf(type), whole.getStrides());
      noted.accesses.push_back({place, bytesInRoot(value), bytes, isWritten});
      return code.address(place, inductions);
    };
    const ContractionGemm &gemm = part.gemm;
    Value atA = operand(a, gemm.a.type, part.a, gemm.a.bytes(), false);
    Value atB = operand(b, gemm.b.type, part.b, gemm.b.bytes(), false);
    Value atBias = code.nullAddress();
    if (gemm.bias) atBias = operand(op.getBias(), gemm.biasType, part.bias, gemm.n() * bytesOf(gemm.biasType), false);
    if (gemm.accumulate) operand(op.getResult(), gemm.c.type, part.c, gemm.c.bytes(), false);
    Value atC = operand(op.getResult(), gemm.c.type, part.c, gemm.c.bytes(), true);
    calls.steps.emplace_back(std::move(noted));
    code.callGemm(call.index, atA, atB, atBias, code.nullAddress(), atC);
  }
  return success();
}

/// A reorder outside kernels is a copy that `schedule` could not avoid.
LogicalResult EntryEmitter::emitCopyOp(ReorderOp op) {
  if (op.getX().getType() != op.getType())
    return op.emitError("changes the memory order outside a kernel; has `fuse` run?");
  if (failed(placeResults(op))) return failure();
  copy(places.lookup(op.getResult()), places.lookup(op.getX()), op.getX(), op);
  return success();
}

LogicalResult EntryEmitter::emitStart(StartOp op) {
  if (failed(placeResults(op))) return failure();
  uint32_t number = enterExchange(op);
  ProgramCall call;
  call.kind = CallKind::Exchange, call.number = number, call.first = op, call.pass = stepPass(op);
  call.exchange = links.workOf(op), call.isBeside = isEarly(op) || isLate(op);
  call.accesses = {accessTo(op.getX(), tensorType(op.getX()).getNumBytes(), false),
                   accessTo(op.getResult(), op.getType().getNumBytes(), true)};
  calls.steps.emplace_back(std::move(call));
  // An early one runs elsewhere.
  if (!isEarly(op)) code.startExchange(number, address(op.getX()), address(op.getResult()));
  return success();
}

LogicalResult EntryEmitter::callEarly(StartOp op) {
  for (Operation *view : viewsOfSent(op))
    if (failed(placeResults(view))) return failure();
  if (failed(placeResults(op))) return failure();
  code.startExchange(enterExchange(op), address(op.getX()), address(op.getResult()));
  return success();
}

LogicalResult EntryEmitter::emitPrologue(RepeatOp op) {
  if (failed(placeArguments(op))) return failure();
  inductions.push_back(code.firstIndex(op.getAxis().getSize(), op.getReverse()));
  for (StartOp start : early.in(op))
    if (failed(callEarly(start))) return failure();
  inductions.pop_back();
  return success();
}

LogicalResult EntryEmitter::emitEarlyBehind(Operation *op) {
  ArrayRef<StartOp> starts = early.behind(op);
  if (starts.empty()) return success();
  auto repeat = cast<RepeatOp>(op->getParentOp());
  Value now = inductions.pop_back_val();
  auto emit = [&](Value next) {
    inductions.push_back(next);
    for (StartOp start : starts)
      if (failed(callEarly(start))) return failure();
    inductions.pop_back();
    return success();
  };
  if (failed(code.ifNext(now, repeat.getAxis().getSize(), repeat.getReverse(), emit))) return failure();
  inductions.push_back(now);
  return success();
}

/// `schedule` has put what is received where it was started.
LogicalResult EntryEmitter::emitWait(WaitOp op) {
  code.waitForExchange(exchanges.numberOf(op.getStarted().getDefiningOp<StartOp>()));
  return placeResults(op);
}

void EntryEmitter::copyCarriedOperands(RepeatOp op) {
  size_t depth = inductions.size();
  for (auto [operand, argument] : llvm::zip(op.getCarried(), op.getCarriedArgs())) {
    PlaceAttr stack = places.lookup(argument);
    // A carried value in a stack starts at the slot of the first iteration.
    int64_t stride = stack.getStrides().size() > depth ? stack.getStrides()[depth] : 0;
    int64_t start = stack.getOffset() + stride * (op.getReverse() ? op.getAxis().getSize() - 1 : 0);
    SmallVector<int64_t> outer(stack.getStrides().take_front(depth));
    while (!outer.empty() && outer.back() == 0) outer.pop_back();
    copyIfMoved(PlaceAttr::get(op.getContext(), start, outer), places.lookup(operand), operand);
  }
}

LogicalResult EntryEmitter::emitRepeat(RepeatOp op) {
  if (failed(placeResults(op)) || failed(placeArguments(op))) return failure();
  copyCarriedOperands(op);
  calls.steps.emplace_back(
      LoopBegin{op.getAxis().getName().str(), op.getAxis().getSize(), op.getReverse(), stepPass(op)});
  if (failed(code.loop(op.getAxis().getSize(), op.getReverse(), [&](Value i) { return emitIteration(op, i); })))
    return failure();
  calls.steps.emplace_back(LoopEnd());
  return success();
}

LogicalResult EntryEmitter::emitIteration(RepeatOp op, Value induction) {
  inductions.push_back(induction);
  Value narrow = code.truncateToI32(induction);
  code.storeInt(address(op.getInduction()), narrow, backend.hasDeviceMemory());
  if (failed(emitBlock(op.getBlock()))) return failure();
  for (auto [value, argument] : llvm::zip(op.getYield().getValues(), op.getCarriedArgs())) {
    PlaceAttr to = places.lookup(argument);
    bool inStack = to.getStrides().size() == inductions.size() && to.getStrides().back() != 0;
    if (!inStack) copyIfMoved(to, places.lookup(value), value);
  }
  inductions.pop_back();
  return success();
}

LogicalResult EntryEmitter::emitReturn(func::ReturnOp op) {
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto to = function.getResultAttrOfType<PlaceAttr>(i, attrs::place);
    if (!to) return op.emitError("expected a place for each result; has `schedule` run?");
    copyIfMoved(to, places.lookup(value), value);
  }
  code.finish();
  return success();
}

LogicalResult EntryEmitter::emitOp(Operation *op) {
  if (isStorageView(op) || isa<JoinOp>(op)) return placeResults(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<KernelOp, TiledOp>([&](auto kernel) { return emitKernelCall(kernel); })
      .Case<ContractOp>([&](auto contract) { return emitContract(contract); })
      .Case<RepeatOp>([&](auto repeat) { return emitRepeat(repeat); })
      .Case<func::ReturnOp>([&](auto op) { return emitReturn(op); })
      .Case<YieldOp>([](auto) { return success(); })
      .Case<ReorderOp>([&](auto copy) { return emitCopyOp(copy); })
      .Case<StartOp>([&](auto start) { return emitStart(start); })
      .Case<WaitOp>([&](auto wait) { return emitWait(wait); })
      .Default([&](Operation *other) -> LogicalResult {
        if (isStorageView(other)) return placeResults(other);
        return other->emitError("is neither a kernel, a tiled op, a contraction, a repeat nor a view; has `fuse` run?");
      });
}

LogicalResult EntryEmitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.getPrevNode() && isSameLaunch(op.getPrevNode(), &op)) continue; // called with the first
    for (RepeatOp repeat : early.prologuesBefore(&op))
      if (failed(emitPrologue(repeat))) return failure();
    if (failed(emitOp(&op)) || failed(emitEarlyBehind(&op))) return failure();
  }
  return success();
}

FailureOr<CallSequence> EntryEmitter::emit() {
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    if (failed(place(argument, function.getArgAttr(i, attrs::place), function))) return failure();
  if (failed(emitBlock(function.getBody().front()))) return failure();
  return std::move(calls);
}

FailureOr<CallSequence> tessera::emitEntry(func::FuncOp function, ModuleOp code, Backend &backend,
                                           ProgramTables &tables, ScratchPlaces &scratch) {
  return EntryEmitter(function, code, backend, tables, scratch).emit();
}

void tessera::emitAbiVersion(ModuleOp code) {
  OpBuilder builder(code.getBodyRegion());
  LLVM::GlobalOp::create(builder, builder.getUnknownLoc(), builder.getI32Type(), /*isConstant=*/true,
                         LLVM::Linkage::External, TSR_SYMBOL_ABI_VERSION, builder.getI32IntegerAttr(TSR_ABI_VERSION));
}
