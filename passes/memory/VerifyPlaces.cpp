//===- VerifyPlaces.cpp - proves that a scheduled program reads what was written ===//
//
// Memory is a map from ranges of bytes to the write that produced them. A value is a list of ranges of such writes: a
// stacked result consists of the writes of all iterations, a slice is a part of that list. The ops of a launch run at
// the same time: all read before any writes, and none may write what another one reads or writes.
//
// Positions that allocated sizes add to a value are its own bytes too. A view that is a part of every row is all bytes
// from its first to its last one, so no other part of these rows may be overwritten while it is read.
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
#include "passes/analysis/Joins.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/Views.h"
#include "passes/memory/InPlace.h"
#include "passes/memory/Offsets.h"
#include "passes/memory/Storage.h"
#include "passes/memory/SymbolicMemory.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Iterations of a repeat: from `first`, `count` of them.
struct Dimension {
  int64_t first, count;
};

/// Iterations of a repeat that are executed, at its start and at its end.
constexpr int64_t iterationsRun = 4;

class PlanChecker {
public:
  PlanChecker(func::FuncOp function, int64_t arenaBytes) : function(function), arenaBytes(arenaBytes) {}
  LogicalResult run();

private:
  LogicalResult runBlock(Block &block);
  LogicalResult runOp(Operation *op);
  LogicalResult runView(Operation *op);
  LogicalResult runJoin(JoinOp op);
  /// The ops of one launch, or a single op.
  LogicalResult runWriters(ArrayRef<Operation *> ops);
  LogicalResult runRepeat(RepeatOp op);
  LogicalResult runIteration(RepeatOp op, MutableArrayRef<Content> carried, MutableArrayRef<Content> stacks);
  void skipIterations(RepeatOp op, Dimension skipped, MutableArrayRef<Content> carried,
                      MutableArrayRef<Content> stacks);
  void writeSkipped(Block &block, ArrayRef<Dimension> around);
  void writeSkipped(Value value, ArrayRef<Dimension> around);
  LogicalResult runReturn(func::ReturnOp op);
  bool doOverlap(Value a, Value b);
  LogicalResult mayOverlap(Operation *op, Value operand, OpResult result);
  LogicalResult checkResult(OpResult result, ArrayRef<Operation *> ops);

  LogicalResult setPlaces(Operation *op, ValueRange values, ArrayAttr list);
  LogicalResult setPlace(Operation *op, Value value, Attribute attr);
  bool isInArena(Value value, PlaceAttr place) const;
  LogicalResult read(Operation *op, Value value);
  void write(Value value);
  int64_t address(Value value) const { return address(places.lookup(value)); }
  int64_t address(PlaceAttr place) const;
  /// Where the parts of a join are, which are written before it.
  int64_t addressOf(JoinOp join) const {
    return address(cast<PlaceAttr>(join->getAttrOfType<ArrayAttr>(attrs::places)[0]));
  }
  /// The rows that a value is a part of, if it is one and the parts of a joined value alternate in memory.
  std::optional<PartRows> rowsOf(Value value);
  static int64_t bytes(Value value) { return bytesInRoot(value); }

  func::FuncOp function;
  int64_t arenaBytes, nextTag = 0;
  SymbolicMemory memory;
  DenseMap<Value, Content> contents;
  DenseMap<Value, std::optional<PartRows>> partsByRoot;
  DenseMap<Value, PlaceAttr> places;
  SmallVector<int64_t> inductions;
  SmallVector<int64_t> counts; ///< iterations of the enclosing repeats
};

} // namespace

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
  for (Operation *op : ops)
    for (Value result : op->getResults()) write(result);
  return success();
}

/// Writes the places of `value` in all iterations of the repeats `around`, the innermost ones, in as few ranges as
/// cover them.
void PlanChecker::writeSkipped(Value value, ArrayRef<Dimension> around) {
  PlaceAttr place = places.lookup(value);
  int64_t from = address(value), end = from + bytes(value);
  SmallVector<std::pair<int64_t, int64_t>> apart; // strides and counts where there are gaps
  SmallVector<std::pair<int64_t, int64_t>> steps;
  for (auto [depth, dimension] : llvm::enumerate(around)) {
    size_t at = inductions.size() + depth;
    int64_t stride = at < place.getStrides().size() ? place.getStrides()[at] : 0;
    int64_t lowest = stride < 0 ? dimension.first + dimension.count - 1 : dimension.first;
    from += stride * lowest, end += stride * lowest;
    steps.push_back({std::abs(stride), dimension.count});
  }
  llvm::sort(steps);
  for (auto [stride, count] : steps) {
    if (stride <= end - from && apart.empty())
      end += stride * (count - 1);
    else
      apart.push_back({stride, count});
  }
  int64_t tag = nextTag++;
  if (apart.empty()) return memory.write(from, end - from, tag);
  // The most ranges at equal distances are written at once.
  auto longest = llvm::max_element(apart, [](auto &a, auto &b) { return a.second < b.second; });
  auto [pitch, slots] = *longest;
  apart.erase(longest);
  SmallVector<int64_t> starts{from};
  for (auto [stride, count] : apart) {
    size_t known = starts.size();
    for (int64_t i = 1; i < count; ++i)
      for (size_t k = 0; k < known; ++k) starts.push_back(starts[k] + i * stride);
  }
  for (int64_t start : starts) memory.writeSlots({start, end - from, pitch, slots}, tag);
}

void PlanChecker::writeSkipped(Block &block, ArrayRef<Dimension> around) {
  for (Operation &op : block) {
    if (isStorageView(&op) || isa<YieldOp>(op)) continue;
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      SmallVector<Dimension> inside(around);
      inside.push_back({0, repeat.getAxis().getSize()});
      writeSkipped(repeat.getInduction(), inside);
      writeSkipped(repeat.getBlock(), inside);
      continue;
    }
    for (Value result : op.getResults()) writeSkipped(result, around);
  }
}

/// The contents of carried and stacked values are whatever is in their places.
void PlanChecker::skipIterations(RepeatOp op, Dimension skipped, MutableArrayRef<Content> carried,
                                 MutableArrayRef<Content> stacks) {
  writeSkipped(op.getInduction(), skipped);
  writeSkipped(op.getBlock(), skipped);
  inductions.push_back(op.getReverse() ? skipped.first - 1 : skipped.first + skipped.count);
  for (auto [content, argument] : llvm::zip(carried, op.getCarriedArgs()))
    content = memory.read(address(argument), bytes(argument));
  inductions.pop_back();
  for (auto [content, result] : llvm::zip(stacks, op.getResults().drop_front(carried.size()))) {
    int64_t each = tensorType(result).getSlotBytes(), slot = places.lookup(result).getSlot();
    int64_t stride = slot == 0 ? each : slot, first = address(result) + skipped.first * stride;
    Content found = stride == each ? memory.read(first, each * skipped.count)
                                   : memory.readSlots({first, each, stride, skipped.count});
    for (const Piece &piece : found) append(content, piece);
  }
}

/// At the innermost of `inductions`. Contents of stacked values are appended to `stacks`.
LogicalResult PlanChecker::runIteration(RepeatOp op, MutableArrayRef<Content> carried,
                                        MutableArrayRef<Content> stacks) {
  int64_t i = inductions.back();
  write(op.getInduction());
  for (auto [content, argument] : llvm::zip(carried, op.getCarriedArgs())) {
    contents[argument] = content;
    if (failed(read(op, argument))) return failure();
  }
  for (auto [operand, argument] : llvm::zip(op.getSliced(), op.getSlicedArgs()))
    contents[argument] = part(contents.lookup(operand), i * bytes(argument), bytes(argument));
  for (auto [operand, argument] : llvm::zip(op.getInvariants(), op.getInvariantArgs()))
    contents[argument] = contents.lookup(operand);
  if (failed(runBlock(op.getBlock()))) return failure();
  for (auto [k, value] : llvm::enumerate(op.getYield().getValues())) {
    if (failed(read(op.getYield(), value))) return failure();
    (k < carried.size() ? carried[k] : stacks[k - carried.size()]) = contents.lookup(value);
  }
  return success();
}

LogicalResult PlanChecker::runRepeat(RepeatOp op) {
  if (failed(setPlaces(op, op.getResults(), op->getAttrOfType<ArrayAttr>(attrs::places)))) return failure();
  counts.push_back(op.getAxis().getSize());
  llvm::scope_exit leave([&] { counts.pop_back(); });
  if (failed(setPlaces(op, op.getBlock().getArguments(), op.getArgPlacesAttr()))) return failure();
  SmallVector<Content> carried = llvm::map_to_vector(op.getCarried(), [&](Value v) { return contents.lookup(v); });
  int64_t count = op.getAxis().getSize(), skipped = count > 4 * iterationsRun ? count - 2 * iterationsRun : 0;
  SmallVector<SmallVector<Content>> parts; // contents of the stacked values, by ranges of iterations
  for (int64_t step = 0; step < count; ++step) {
    parts.emplace_back(op.getNumResults() - carried.size());
    if (skipped > 0 && step == iterationsRun) {
      skipIterations(op, {iterationsRun, skipped}, carried, parts.back());
      step += skipped - 1;
      continue;
    }
    inductions.push_back(op.getReverse() ? count - 1 - step : step);
    if (failed(runIteration(op, carried, parts.back()))) return failure();
    inductions.pop_back();
  }
  if (op.getReverse()) std::reverse(parts.begin(), parts.end());
  for (auto [k, result] : llvm::enumerate(op.getResults())) {
    Content &content = contents[result];
    content.clear();
    if (k < carried.size())
      content = carried[k];
    else
      for (const SmallVector<Content> &stretch : parts)
        for (const Piece &piece : stretch[k - carried.size()]) append(content, piece);
    if (failed(read(op, result))) return failure();
  }
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
  return runWriters(launchOf(op));
}

LogicalResult PlanChecker::runBlock(Block &block) {
  for (Operation &op : block) {
    if (op.getPrevNode() && isSameLaunch(op.getPrevNode(), &op)) continue; // already executed
    if (failed(runOp(&op))) return failure();
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
