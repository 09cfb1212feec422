//===- VerifyPlaces.cpp - proves that a scheduled program reads what was written ===//
//
// Memory is a map from ranges of bytes to the write that produced them. A value is a list of ranges of such writes: a
// stacked result consists of the writes of all iterations, a slice is a part of that list. The ops of a launch run at
// the same time: all read before any writes, and none may write what another one reads or writes.
//
// Positions that allocated sizes add to a value are its own bytes too. A view that is a part of every row is all bytes
// from its first to its last one, so no other part of these rows may be overwritten while it is read.
//
// A kernel's scratch memory (ScratchPlaces.h) is written before its results, in the iterations that are executed.
//
// The start of an early exchange (EarlyStarts.h) is executed where it runs, with the slices of the iteration that waits
// for it.
//
// Of a long repeat the first and the last iterations are executed. Those in between only write, all at once, wherever
// their values are stored. Their reads have the same distances from their writes as in other iterations, because places
// are affine in the iteration. Slots that are not adjacent are equal rows (SymbolicMemory.h), however many there are.
//
// Before a place is used, the bytes that it has in all iterations are found to be in the arena. So no sum of an offset,
// strides and sizes overflows here, whatever a dump says.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/VerifyPlaces.h"
#include "ir/program/Program.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/memory/InPlace.h"
#include "passes/memory/Offsets.h"
#include "passes/memory/PlanChecker.h"
#include "passes/memory/ScratchPlaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

bool PlanChecker::isInArena(Value value, PlaceAttr place) const {
  int64_t from = place.getOffset(), to = from, each = bytes(value); // of the first byte
  auto extend = [&](int64_t stride, int64_t count) {
    int64_t distance;
    if (llvm::MulOverflow(stride, count - 1, distance)) return false;
    int64_t &end = distance < 0 ? from : to;
    return !llvm::AddOverflow(end, distance, end);
  };
  for (auto [stride, count] : llvm::zip(place.getStrides(), counts))
    if (!extend(stride, count)) return false;
  if (place.getSlot() != 0) {
    each = tensorType(value).getSlotBytes();
    if (!extend(place.getSlot(), tensorType(value).getAxes().front().getSize())) return false;
  }
  return from >= 0 && to <= arenaBytes && each <= arenaBytes - to;
}

LogicalResult PlanChecker::setPlace(Operation *op, Value value, Attribute attr) {
  auto place = dyn_cast_or_null<PlaceAttr>(attr);
  if (!place) return op->emitError("expected a place for each value");
  if (place.getStrides().size() > inductions.size() + isa<RepeatOp>(op))
    return op->emitError("expected at most one stride for each enclosing repeat");
  if (int64_t slot = place.getSlot()) {
    NamedTensorType type = tensorType(value);
    if (type.isScalar() || slot < type.getSlotBytes())
      return op->emitError("expected slots that do not overlap, got ") << place << " for " << type;
  }
  if (!isInArena(value, place))
    return op->emitError("buffer of ") << bytes(value) << " bytes exceeds the arena of " << arenaBytes
                                       << " bytes: " << place;
  places[value] = place;
  return success();
}

LogicalResult PlanChecker::setPlaces(Operation *op, ValueRange values, ArrayAttr list) {
  if (values.empty()) return success();
  if (!list || list.size() != values.size()) return op->emitError("expected ") << values.size() << " places";
  for (auto [value, place] : llvm::zip(values, list))
    if (failed(setPlace(op, value, place))) return failure();
  return success();
}

int64_t PlanChecker::address(PlaceAttr place) const {
  int64_t result = place.getOffset();
  for (auto [stride, induction] : llvm::zip(place.getStrides(), inductions)) result += stride * induction;
  return result;
}

std::optional<PartRows> PlanChecker::rowsOf(Value value) {
  Value root = viewRoot(value);
  auto [it, isNew] = partsByRoot.try_emplace(root);
  if (isNew) it->second = partRows(root);
  // A join without a place is found when it is executed.
  if (it->second && !it->second->join->getAttrOfType<ArrayAttr>(attrs::places)) it->second = std::nullopt;
  if (it->second && it->second->pitch == bytes(it->second->join.getResult())) it->second = std::nullopt; // one row
  return it->second;
}

LogicalResult PlanChecker::read(Operation *op, Value value) {
  // A stack whose slots are not adjacent: slot by slot.
  int64_t slot = places.lookup(value).getSlot(), count = slot ? tensorType(value).getAxes().front().getSize() : 1;
  int64_t from = address(value), each = bytes(value) / count;
  Content found = slot ? memory.readSlots({from, each, slot, count}) : memory.read(from, each);
  if (std::optional<PartRows> rows = rowsOf(value)) {
    JoinOp join = rows->join;
    int64_t tag =
        memory.readColumns(addressOf(join), bytes(join.getResult()), rows->pitch, {rows->column, rows->width});
    found = part({{bytes(viewRoot(value)), tag, 0}}, offsetInRoot(value), each);
  }
  if (found == contents.lookup(value)) return success();
  InFlightDiagnostic error = op->emitError("reads bytes that were overwritten, at ") << from;
  if (Operation *producer = value.getDefiningOp())
    error.attachNote(producer->getLoc()) << "the value was computed here";
  return error;
}

void PlanChecker::write(Value value) {
  int64_t tag = nextTag++;
  if (std::optional<PartRows> rows = rowsOf(value)) {
    JoinOp join = rows->join;
    memory.writeColumns(addressOf(join), bytes(join.getResult()), rows->pitch, {rows->column, rows->width}, tag);
  } else {
    memory.write(address(value), bytes(value), tag);
  }
  contents[value] = {{bytes(value), tag, 0}};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult PlanChecker::runView(Operation *op) {
  Value x = op->getOperand(0), result = op->getResult(0);
  if (failed(setPlaces(op, op->getResults(), op->getAttrOfType<ArrayAttr>(attrs::places)))) return failure();
  if (address(result) != address(x) + viewOffset(op)) return op->emitError("expected a view in its operand's buffer");
  contents[result] = part(contents.lookup(x), viewOffset(op), bytes(result));
  return success();
}

/// The parts are in their places in the result, and still as they were written.
LogicalResult PlanChecker::runJoin(JoinOp op) {
  if (failed(setPlaces(op, op->getResults(), op->getAttrOfType<ArrayAttr>(attrs::places)))) return failure();
  int64_t pitch = bytes(op.getResult());
  std::map<int64_t, int64_t> columns;
  Content adjacent; // of parts that do not alternate
  for (auto [i, value] : llvm::enumerate(op.getParts())) {
    std::optional<PartRows> rows = rowsOf(value);
    if (joinOf(viewRoot(value)) != op || address(value) != address(op.getResult()) + partOffset(op, i))
      return op.emitError("expected part ") << i << " in the buffer of the result";
    if (failed(read(op, value))) return failure();
    if (!rows) {
      for (const Piece &piece : contents.lookup(value)) append(adjacent, piece);
      continue;
    }
    pitch = rows->pitch;
    columns[rows->column] = contents.lookup(viewRoot(value)).front().tag;
  }
  if (columns.empty())
    contents[op.getResult()] = adjacent;
  else
    contents[op.getResult()] = {{bytes(op.getResult()), memory.tagOf(pitch, columns), 0}};
  return read(op, op.getResult());
}

bool PlanChecker::doOverlap(Value a, Value b) {
  std::optional<PartRows> rowsA = rowsOf(a), rowsB = rowsOf(b);
  if (rowsA && rowsB && rowsA->join == rowsB->join)
    return rowsA->column < rowsB->column + rowsB->width && rowsB->column < rowsA->column + rowsA->width;
  return address(a) < address(b) + bytes(b) && address(b) < address(a) + bytes(a);
}

/// A result may overlap an operand only where it takes its storage as a whole.
LogicalResult PlanChecker::mayOverlap(Operation *op, Value operand, OpResult result) {
  if (!doOverlap(operand, result)) return success();
  if (address(operand) == address(result) && bytes(operand) == bytes(result)) {
    if (auto kernel = dyn_cast<KernelOp>(op))
      if (mayWriteOver(kernel, llvm::find(kernel.getInputs(), operand) - kernel.getInputs().begin(),
                       result.getResultNumber()))
        return success();
    if (auto contract = dyn_cast<ContractOp>(op);
        contract && operand == contract.getInit() && operand != contract.getLhs() && operand != contract.getRhs())
      return success();
    if (auto wait = dyn_cast<WaitOp>(op); wait && operand == wait.getStarted()) return success();
  }
  return op->emitError("result overwrites an operand that is still read");
}

/// Whether no operand or other result of the ops overlaps `result`.
LogicalResult PlanChecker::checkResult(OpResult result, ArrayRef<Operation *> ops) {
  Operation *op = result.getOwner();
  for (Value operand : op->getOperands())
    if (failed(mayOverlap(op, operand, result))) return failure();
  for (Operation *other : ops) {
    for (Value operand : other->getOperands())
      if (other != op && doOverlap(operand, result))
        return op->emitError("result overwrites an operand of another op of its launch");
    for (OpResult made : other->getResults())
      if (made != result && doOverlap(made, result))
        return op->emitError(other == op ? "two results overlap" : "two results of a launch overlap");
  }
  return success();
}

LogicalResult PlanChecker::writeScratch(ArrayRef<Operation *> ops) {
  std::optional<ByteRange> range = scratch ? scratch->of(ops.front()) : std::nullopt;
  if (!range) return success();
  auto overlaps = [&](Value value) {
    return address(value) < range->end && range->begin < address(value) + bytes(value);
  };
  for (Operation *op : ops) {
    if (llvm::any_of(op->getOperands(), overlaps) || llvm::any_of(op->getResults(), overlaps))
      return op->emitError("its scratch memory, at ") << range->begin << ", overlaps an operand or a result";
  }
  memory.write(range->begin, range->end - range->begin, nextTag++);
  return success();
}

LogicalResult PlanChecker::runWriters(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    if (failed(setPlaces(op, op->getResults(), op->getAttrOfType<ArrayAttr>(attrs::places)))) return failure();
    auto isOfLaunch = [&](Value value) { return llvm::is_contained(ops, value.getDefiningOp()); };
    if (llvm::any_of(op->getOperands(), isOfLaunch)) return op->emitError("reads a result of its own launch");
  }
  for (Operation *op : ops) {
    for (Value operand : op->getOperands()) {
      if (places.lookup(operand).getSlot() != 0)
        return op->emitError("expected adjacent slots of a stack that is read as a whole, got ")
               << places.lookup(operand);
      if (failed(read(op, operand))) return failure();
    }
    for (OpResult result : op->getResults())
      if (failed(checkResult(result, ops))) return failure();
    if (auto contract = dyn_cast<ContractOp>(op);
        contract && contract.getInit() && address(contract.getInit()) != address(contract.getResult()))
      return op->emitError("expected `init` in the place of the result");
    if (auto wait = dyn_cast<WaitOp>(op); wait && address(wait.getStarted()) != address(wait.getResult()))
      return op->emitError("expected what is received in the place where it was started");
  }
  if (failed(writeScratch(ops))) return failure();
  for (Operation *op : ops)
    for (Value result : op->getResults()) write(result);
  return success();
}

LogicalResult PlanChecker::runReturn(func::ReturnOp op) {
  llvm::StringMap<StateOp> states = statesByPath(function->getParentOfType<ModuleOp>());
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    if (failed(read(op, value))) return failure();
    auto place = function.getResultAttrOfType<PlaceAttr>(i, attrs::place);
    if (!place || place != places.lookup(value))
      return op.emitError("result ") << i << " is not in the place that its function declares";
    if (StateOp state = states.lookup(resultState(function, i)); state && state.getPlaceAttr() != place)
      return op.emitError("state `") << state.getPath() << "` is not in its place at the end";
  }
  return success();
}

LogicalResult PlanChecker::runOp(Operation *op) {
  if (isStorageView(op)) return runView(op);
  if (auto join = dyn_cast<JoinOp>(op)) return runJoin(join);
  if (auto repeat = dyn_cast<RepeatOp>(op)) return runRepeat(repeat);
  if (auto ret = dyn_cast<func::ReturnOp>(op)) return runReturn(ret);
  if (isa<YieldOp>(op)) return success();
  if (auto start = dyn_cast<StartOp>(op); start && isEarly(start)) return success(); // has run
  return runWriters(launchOf(op));
}

LogicalResult PlanChecker::runBlock(Block &block) {
  for (Operation &op : block) {
    if (op.getPrevNode() && isSameLaunch(op.getPrevNode(), &op)) continue; // already executed
    for (RepeatOp repeat : early.prologuesBefore(&op))
      if (failed(runPrologue(repeat))) return failure();
    if (failed(runOp(&op)) || failed(runEarlyBehind(&op))) return failure();
  }
  return success();
}

LogicalResult PlanChecker::run() {
  for (BlockArgument argument : function.getArguments()) {
    auto place = function.getArgAttrOfType<PlaceAttr>(argument.getArgNumber(), attrs::place);
    if (failed(setPlace(function, argument, place))) return failure();
    if (place.getOffset() % bufferAlignment)
      return function.emitError("argument ") << argument.getArgNumber() << " is not aligned";
    write(argument);
  }
  return runBlock(function.getBody().front());
}

LogicalResult tessera::verifyScratch(func::FuncOp function, const ScratchPlaces &scratch, int64_t arenaBytes) {
  return PlanChecker(function, arenaBytes, &scratch).run();
}

LogicalResult tessera::verifyPlaces(ModuleOp module) {
  auto arena = module->getAttrOfType<IntegerAttr>(attrs::arena);
  if (!arena) return module.emitError("expected `tsr.arena`; has `schedule` run?");
  int64_t end = 0, arenaBytes = arena.getInt();
  for (StateOp state : stateTable(module)) {
    int64_t offset = state.getPlace() ? state.getPlace()->getOffset() : -1, bytes = state.getTensorType().getNumBytes();
    if (offset < end || offset % bufferAlignment)
      return state.emitError("expected an aligned place after the previous state");
    if (offset > arenaBytes || bytes > arenaBytes - offset)
      return state.emitError("expected a place in the arena of ") << arenaBytes << " bytes, got " << *state.getPlace();
    end = offset + bytes;
  }
  for (func::FuncOp function : entryFunctions(module))
    if (failed(PlanChecker(function, arenaBytes).run())) return failure();
  return success();
}
