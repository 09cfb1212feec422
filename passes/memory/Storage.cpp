//===- Storage.cpp - which values share a buffer --------------------------===//
//
// 1. State arguments get their state's cell, inputs buffers of their own.
// 2. A returned state gets its state's cell.
// 3. Backwards through the ops, so that the cells of an op's results are known before its operands are placed:
//    a. results that have no cell yet get a new buffer;
//    b. an operand that dies in an op gets the cell of a result that may overwrite it; a contraction's `init` must;
//    c. a repeat puts its carried operand, argument, yielded value and result into one cell; the producer of a stacked
//       result writes into its slot; a carried value that is also stacked moves from slot to slot of a stack that is
//       one slot longer; a stack may take the storage of an operand that is sliced, slot by slot.
//    d. the operands of a join go into parts of its result's cell.
// 4. Small stacks that a loop empties while it fills a large one share a buffer, with a part of each in a slot, so that
//    the freed range is large enough for a slot of the large one.
// 5. Where the lifetimes in a cell collide, the value stays outside and the operand is recorded in `copies`.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Storage.h"
#include "ir/program/Program.h"
#include "passes/analysis/Joins.h"
#include "passes/analysis/Views.h"
#include "passes/memory/InPlace.h"

using namespace mlir;
using namespace tessera;

unsigned tessera::repeatDepth(Operation *op) {
  unsigned depth = 0;
  while ((op = op->getParentOp())) depth += isa<RepeatOp>(op);
  return depth;
}

int tessera::stackOfCarried(RepeatOp repeat, unsigned carried) {
  ValueRange yielded = repeat.getYield().getValues();
  Value argument = repeat.getCarriedArgs()[carried];
  if (yielded[carried] == argument) return -1;
  for (unsigned i = repeat.getCarried().size(); i < yielded.size(); ++i)
    if (yielded[i] == argument) return i;
  return -1;
}

/// `strides` with one more for a repeat at `depth`.
static SmallVector<int64_t> withStride(ArrayRef<int64_t> strides, unsigned depth, int64_t stride) {
  SmallVector<int64_t> result(strides);
  result.resize(depth, 0);
  result.push_back(stride);
  return result;
}

static int64_t bytesOf(Value value) { return tensorType(value).getNumBytes(); }

StoragePlan::StoragePlan(func::FuncOp function) : function(function), line(function) {
  placeArguments();
  placeStateResults();
  placeBlock(function.getBody().front());
  noteStacks();
  groupStacks();
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

int StoragePlan::newBuffer(int64_t bytes, StringRef state) {
  Buffer buffer;
  buffer.lifetime = {bytes, INT_MAX, 0};
  buffer.state = state.str();
  buffers.push_back(buffer);
  return buffers.size() - 1;
}

int StoragePlan::newCell(int buffer, int64_t offset, ArrayRef<int64_t> strides, int64_t bytes) {
  cells.push_back({buffer, offset, SmallVector<int64_t>(strides), bytes, {}});
  return cells.size() - 1;
}

void StoragePlan::extend(int buffer, int start, int end) {
  Lifetime &lifetime = buffers[buffer].lifetime;
  lifetime.start = std::min(lifetime.start, start);
  lifetime.end = std::max(lifetime.end, end);
}

void StoragePlan::enter(Value root, int cell) {
  int start = line.definition(root), end = line.lastUse(root);
  extend(cells[cell].buffer, start, end);
  // While a repeat runs, the carried values occupy the cell; then the result does.
  if (auto repeat = root.getDefiningOp<RepeatOp>())
    if (cast<OpResult>(root).getResultNumber() < repeat.getCarried().size()) start = line.endOf(repeat);
  cells[cell].segments.push_back({start, end, root});
  cellOf[root] = cell;
}

bool StoragePlan::tryEnter(Value value, int cell) {
  Value root = viewRoot(value);
  if (hasCell(root)) return cellOf.lookup(root) == cell && coversRoot(value);
  if (!root.getDefiningOp() || !coversRoot(value) || bytesOf(root) != cells[cell].bytes || joinOf(root)) return false;
  Segment own{line.definition(root), line.lastUse(root), root};
  for (const Segment &other : cells[cell].segments) {
    if (other.end < own.start || own.end < other.start) continue;
    if (!takesOver(own, other) && !takesOver(other, own)) return false;
  }
  enter(root, cell);
  return true;
}

/// Within an op, one value may take over from another.
bool StoragePlan::takesOver(const Segment &made, const Segment &dying) const {
  Value value = made.value;
  Operation *maker = value.getDefiningOp();
  if (!maker) maker = value.getParentBlock()->getParentOp();
  if (dying.end == made.start && mayTakeStorage(maker, dying.value, value)) return true;
  auto repeat = dyn_cast<RepeatOp>(maker);
  return repeat && dying.end == line.endOf(repeat) && made.start == line.at(repeat) &&
         mayTakeSlots(repeat, dying.value, value);
}

//===----------------------------------------------------------------------===//
// The function's boundary
//===----------------------------------------------------------------------===//

void StoragePlan::placeArguments() {
  for (BlockArgument argument : function.getArguments()) {
    StringRef path = argumentState(function, argument.getArgNumber());
    int cell = newCell(newBuffer(bytesOf(argument), path), 0, {}, bytesOf(argument));
    if (!path.empty()) stateCells[path] = cell;
    enter(argument, cell);
  }
}

void StoragePlan::placeStateResults() {
  for (OpOperand &use : function.getBody().front().getTerminator()->getOpOperands()) {
    StringRef path = resultState(function, use.getOperandNumber());
    if (path.empty()) continue;
    auto [it, isNew] = stateCells.try_emplace(path, 0);
    if (isNew) it->second = newCell(newBuffer(bytesOf(use.get()), path), 0, {}, bytesOf(use.get()));
    if (!tryEnter(use.get(), it->second)) copies.push_back(&use);
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void StoragePlan::placeBlock(Block &block) {
  for (Operation &op : llvm::reverse(block)) placeOp(&op);
}

void StoragePlan::placeOp(Operation *op) {
  if (isStorageView(op)) return;
  if (auto join = dyn_cast<JoinOp>(op)) return placeJoin(join);
  if (auto repeat = dyn_cast<RepeatOp>(op)) return placeRepeat(repeat);
  for (Value result : op->getResults())
    if (!hasCell(result)) enter(result, newCell(newBuffer(bytesOf(result)), 0, {}, bytesOf(result)));
  if (auto kernel = dyn_cast<KernelOp>(op)) shareWithOperands(kernel);
  if (auto contract = dyn_cast<ContractOp>(op); contract && contract.getInit()) placeInit(contract);
  // What is received has one place from the start on.
  if (auto wait = dyn_cast<WaitOp>(op)) enter(wait.getStarted(), cellOf.lookup(wait.getResult()));
}

/// The operands are parts of the result's cell.
void StoragePlan::placeJoin(JoinOp join) {
  Value whole = join.getResult();
  if (!hasCell(whole)) enter(whole, newCell(newBuffer(bytesOf(whole)), 0, {}, bytesOf(whole)));
  Cell cell = cells[cellOf.lookup(whole)];
  for (auto [i, part] : llvm::enumerate(join.getParts())) {
    Value root = viewRoot(part);
    enter(root, newCell(cell.buffer, cell.offset + partOffset(join, i), cell.strides, bytesOf(root)));
  }
}

/// Whether the value should be in a stack of its repeat, which is better than any other place.
static bool mayBelongIntoStack(Value root) {
  auto repeat = root.getDefiningOp<RepeatOp>();
  unsigned number = repeat ? cast<OpResult>(root).getResultNumber() : 0;
  return repeat && (number >= repeat.getCarried().size() || stackOfCarried(repeat, number) >= 0);
}

void StoragePlan::shareWithOperands(KernelOp kernel) {
  for (OpResult result : kernel->getResults())
    for (Value operand : kernel.getInputs()) {
      Value root = viewRoot(operand);
      if (hasCell(root) || root.getParentBlock() != kernel->getBlock() || !mayTakeStorage(kernel, root, result))
        continue;
      if (mayBelongIntoStack(root)) continue;
      if (tryEnter(operand, cellOf.lookup(result))) break;
    }
}

void StoragePlan::placeInit(ContractOp contract) {
  if (!tryEnter(contract.getInit(), cellOf.lookup(contract.getResult())))
    copies.push_back(&*contract.getInitMutable().begin());
}

//===----------------------------------------------------------------------===//
// Repeats
//===----------------------------------------------------------------------===//

void StoragePlan::placeRepeat(RepeatOp repeat) {
  Value induction = repeat.getInduction();
  int cell = newCell(newBuffer(bytesOf(induction)), 0, {}, bytesOf(induction));
  enter(induction, cell);
  extend(cells[cell].buffer, line.at(repeat), line.endOf(repeat));

  unsigned carriedCount = repeat.getCarried().size();
  SmallVector<bool> done(repeat.getNumResults(), false);
  for (unsigned i = 0; i < carriedCount; ++i)
    if (int stacked = stackOfCarried(repeat, i); stacked >= 0 && placeCarriedStack(repeat, i, stacked))
      done[i] = done[stacked] = true;
  for (unsigned i = 0; i < repeat.getNumResults(); ++i)
    if (!done[i]) i < carriedCount ? placeCarried(repeat, i) : placeStacked(repeat, i);
  for (unsigned i = carriedCount; i < repeat.getNumResults(); ++i)
    if (!done[i]) placeSlotsTaken(repeat, i);
  placeBlock(repeat.getBlock());
}

void StoragePlan::placeCarried(RepeatOp repeat, unsigned i) {
  Value result = repeat.getResult(i), argument = repeat.getCarriedArgs()[i];
  if (!hasCell(result)) enter(result, newCell(newBuffer(bytesOf(result)), 0, {}, bytesOf(result)));
  int cell = cellOf.lookup(result);
  extend(cells[cell].buffer, line.at(repeat), line.endOf(repeat));
  enter(argument, cell);
  OpOperand &yielded = repeat.getYield()->getOpOperand(i);
  if (yielded.get() != argument && !tryEnter(yielded.get(), cell)) copies.push_back(&yielded);
  if (!tryEnter(repeat.getCarried()[i], cell)) copies.push_back(&repeat.getCarriedMutable()[i]);
}

/// The carried value is saved as it enters an iteration: slot i of the stack is the argument of iteration i, and what
/// is yielded goes into the next slot. Backwards the slots run the other way.
bool StoragePlan::placeCarriedStack(RepeatOp repeat, unsigned i, unsigned stacked) {
  Value result = repeat.getResult(i), stack = repeat.getResult(stacked);
  OpOperand &yielded = repeat.getYield()->getOpOperand(i);
  Value root = viewRoot(yielded.get());
  bool isFree =
      !hasCell(result) && !hasCell(stack) && root.getDefiningOp() && !hasCell(root) && coversRoot(yielded.get());
  if (!isFree || root.getParentBlock() != &repeat.getBlock()) return false;
  int64_t slot = bytesOf(result), count = repeat.getAxis().getSize();
  bool reverse = repeat.getReverse();
  int buffer = newBuffer(slot * (count + 1));
  SmallVector<int64_t> strides = withStride({}, repeatDepth(repeat), slot);
  extend(buffer, line.at(repeat), line.endOf(repeat));
  enter(stack, newCell(buffer, reverse ? slot : 0, {}, slot * count));
  enter(result, newCell(buffer, reverse ? 0 : slot * count, {}, slot));
  enter(repeat.getCarriedArgs()[i], newCell(buffer, reverse ? slot : 0, strides, slot));
  enter(root, newCell(buffer, reverse ? 0 : slot, strides, slot));
  // No value overwrites the first slot, so the operand may live on in it.
  Value operand = repeat.getCarried()[i], operandRoot = viewRoot(operand);
  bool canMove = operandRoot.getDefiningOp() && !hasCell(operandRoot) && coversRoot(operand) &&
                 operandRoot.getParentBlock() == repeat->getBlock();
  if (canMove)
    enter(operandRoot, newCell(buffer, reverse ? slot * count : 0, {}, slot));
  else
    copies.push_back(&repeat.getCarriedMutable()[i]);
  return true;
}

void StoragePlan::placeStacked(RepeatOp repeat, unsigned i) {
  Value stack = repeat.getResult(i);
  if (!hasCell(stack)) enter(stack, newCell(newBuffer(bytesOf(stack)), 0, {}, bytesOf(stack)));
  OpOperand &yielded = repeat.getYield()->getOpOperand(i);
  Value root = viewRoot(yielded.get());
  if (!root.getDefiningOp() || hasCell(root) || !coversRoot(yielded.get())) {
    copies.push_back(&yielded);
    return;
  }
  Cell slot = cells[cellOf.lookup(stack)];
  int64_t bytes = bytesOf(root);
  enter(root, newCell(slot.buffer, slot.offset, withStride(slot.strides, repeatDepth(repeat), bytes), bytes));
}

/// The value that a repeat stacks as `stack`.
static Value slotOf(OpResult stack) {
  return viewRoot(cast<RepeatOp>(stack.getOwner()).getYield().getValues()[stack.getResultNumber()]);
}

/// Whether the contractions that compute `slot`, perhaps slot by slot, add to the argument, so that both must have one
/// place.
static bool addsTo(Value slot, Value argument) {
  if (auto contract = slot.getDefiningOp<ContractOp>()) return contract.getInit() == argument;
  auto repeat = slot.getDefiningOp<RepeatOp>();
  if (!repeat || cast<OpResult>(slot).getResultNumber() < repeat.getCarried().size()) return false;
  return llvm::any_of(llvm::zip(repeat.getSliced(), repeat.getSlicedArgs()), [&](auto inner) {
    return std::get<0>(inner) == argument && addsTo(slotOf(cast<OpResult>(slot)), std::get<1>(inner));
  });
}

/// If a stack is where an operand is that the repeat slices, the slots are too. The operand of contractions that add to
/// its slots goes where the stack is.
void StoragePlan::placeSlotsTaken(RepeatOp repeat, unsigned i) {
  OpResult stack = repeat->getResult(i);
  Value slot = slotOf(stack);
  if (!hasCell(slot)) return;
  for (auto [operand, argument] : llvm::zip(repeat.getSliced(), repeat.getSlicedArgs())) {
    Value root = viewRoot(operand);
    if (!mayTakeSlots(repeat, root, stack)) continue;
    if (!hasCell(root) && addsTo(slot, argument)) tryEnter(operand, cellOf.lookup(stack));
    if (hasCell(root) && cellOf.lookup(root) == cellOf.lookup(stack)) enter(argument, cellOf.lookup(slot));
  }
}

//===----------------------------------------------------------------------===//
// Stacks that share storage
//===----------------------------------------------------------------------===//

void StoragePlan::noteStacks() {
  function.getBody().walk<WalkOrder::PreOrder>([&](RepeatOp repeat) {
    int loop = loopDepths.size();
    loopDepths.push_back(repeatDepth(repeat));
    noteEmptied(repeat, loop);
    noteFilled(repeat, loop);
  });
}

bool StoragePlan::ownsBuffer(Value root, int start, int end, bool mayEnd) const {
  auto found = cellOf.find(root);
  if (found == cellOf.end()) return false;
  const Cell &own = cells[found->second];
  const Buffer &buffer = buffers[own.buffer];
  if (!buffer.state.empty() || own.offset != 0 || !own.strides.empty()) return false;
  if (mayEnd ? own.bytes > buffer.lifetime.bytes : own.bytes != buffer.lifetime.bytes) return false;
  for (const Cell &cell : cells)
    for (const Segment &segment : cell.segments) {
      bool isSlot = !cell.strides.empty();
      bool meets = cell.buffer == own.buffer && segment.start <= end && start <= segment.end;
      if (meets && segment.value != root && !isSlot) return false;
    }
  return true;
}

/// Stacks that the repeat reads slot by slot, and that no op reads afterwards. They are of its own block: a repeat
/// between would traverse them again.
void StoragePlan::noteEmptied(RepeatOp repeat, int loop) {
  for (Value operand : repeat.getSliced()) {
    Value root = viewRoot(operand);
    bool isStack = root == operand && root.getDefiningOp<RepeatOp>() && root.getParentBlock() == repeat->getBlock() &&
                   line.lastUse(root) == line.endOf(repeat);
    // Neither as another operand nor through a view.
    bool isReadOnce = llvm::count(repeat->getOperands(), operand) == 1 && llvm::none_of(root.getUsers(), isStorageView);
    if (!isStack || !isReadOnce || !ownsBuffer(root, line.at(repeat), line.endOf(repeat), true)) continue;
    // Behind a stack that carries values there is a slot for the last one.
    const Cell &own = cells[cellOf.lookup(root)];
    Buffer &buffer = buffers[own.buffer];
    int64_t slots = repeat.getAxis().getSize();
    bool isShorter = own.bytes < buffer.lifetime.bytes, isReverse = static_cast<bool>(repeat.getReverse());
    if (buffer.lifetime.end == line.endOf(repeat) && (!isShorter || isReverse))
      buffer.lifetime.emptied = {loop, slots, isReverse, isShorter ? own.bytes / slots : 0};
  }
}

/// Stacks that the repeat writes.
void StoragePlan::noteFilled(RepeatOp repeat, int loop) {
  for (Value stack : repeat.getStackedResults()) {
    if (!ownsBuffer(stack, line.at(repeat), line.endOf(repeat))) continue;
    Buffer &buffer = buffers[cells[cellOf.lookup(stack)].buffer];
    if (buffer.lifetime.start == line.at(repeat))
      buffer.lifetime.filled = {loop, repeat.getAxis().getSize(), static_cast<bool>(repeat.getReverse())};
  }
}

/// Whether only repeats write and read a value, slot by slot.
static bool hasOnlySlots(Value stack) {
  auto isSlice = [](OpOperand &use) {
    auto repeat = dyn_cast<RepeatOp>(use.getOwner());
    unsigned carried = repeat ? repeat.getCarried().size() : 0, operand = use.getOperandNumber();
    return repeat && operand >= carried && operand < carried + repeat.getSliced().size();
  };
  return stack.getDefiningOp<RepeatOp>() && llvm::all_of(stack.getUses(), isSlice);
}

/// Whether a buffer is of stacks that one repeat fills and another empties, slot by slot, so that its slots need not be
/// adjacent.
bool StoragePlan::mayShareSlots(unsigned buffer) const {
  const Lifetime &lifetime = buffers[buffer].lifetime;
  return lifetime.emptied.loop >= 0 && lifetime.filled.loop >= 0 && buffers[buffer].slot == 0 &&
         lifetime.emptied.slotBytes == 0 && lifetime.bytes / lifetime.emptied.slots % bufferAlignment == 0 &&
         llvm::all_of(cells, [&](const Cell &cell) {
           auto isStack = [](const Segment &segment) { return hasOnlySlots(segment.value); };
           bool isWhole = cell.buffer == static_cast<int>(buffer) && cell.strides.empty();
           return !isWhole || llvm::all_of(cell.segments, isStack);
         });
}

static int64_t slotBytes(const Lifetime &lifetime) {
  return lifetime.bytes / (lifetime.filled.loop >= 0 ? lifetime.filled : lifetime.emptied).slots;
}

/// For each stack that a loop fills, the largest first: one that it empties with slots at least as large, else several
/// with slots that are together.
void StoragePlan::groupStacks() {
  SmallVector<unsigned> filled, emptied;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (buffer.lifetime.filled.loop >= 0) filled.push_back(i);
    if (mayShareSlots(i)) emptied.push_back(i);
  }
  auto bySlot = [&](unsigned a, unsigned b) { return slotBytes(buffers[a].lifetime) > slotBytes(buffers[b].lifetime); };
  llvm::stable_sort(filled, bySlot);
  llvm::stable_sort(emptied, bySlot);
  llvm::SmallDenseSet<unsigned> taken;
  for (unsigned fresh : filled) {
    const Lifetime wanted = buffers[fresh].lifetime;
    if (wanted.filled.loop < 0) continue; // shares a buffer by now
    SmallVector<unsigned> single, members;
    int64_t together = 0;
    for (unsigned old : emptied) {
      const Lifetime &lifetime = buffers[old].lifetime;
      if (taken.contains(old) || lifetime.emptied.loop != wanted.filled.loop) continue;
      if (slotBytes(lifetime) >= slotBytes(wanted)) single = {old}; // the smallest that is large enough
      bool fits = members.empty() || lifetime.filled.loop == buffers[members.front()].lifetime.filled.loop;
      if (slotBytes(lifetime) >= slotBytes(wanted) || together >= slotBytes(wanted) || !fits) continue;
      members.push_back(old);
      together += slotBytes(lifetime);
    }
    if (single.empty() && together < slotBytes(wanted)) continue;
    if (single.empty()) shareSlots(members);
    for (unsigned old : single.empty() ? members : single) taken.insert(old);
  }
}

/// The members' values move into one new buffer.
void StoragePlan::shareSlots(ArrayRef<unsigned> members) {
  Buffer shared;
  shared.lifetime = buffers[members.front()].lifetime;
  SmallVector<int64_t> starts;
  for (unsigned member : members) {
    starts.push_back(shared.slot);
    shared.slot += slotBytes(buffers[member].lifetime);
    shared.lifetime.start = std::min(shared.lifetime.start, buffers[member].lifetime.start);
    shared.lifetime.end = std::max(shared.lifetime.end, buffers[member].lifetime.end);
  }
  shared.lifetime.bytes = shared.slot * shared.lifetime.emptied.slots;
  for (auto [member, start] : llvm::zip(members, starts)) {
    for (Cell &cell : cells) {
      if (cell.buffer != static_cast<int>(member)) continue;
      cell.buffer = buffers.size();
      cell.offset += start;
      // Those of the repeats that use the stacks; the strides of repeats inside them stay.
      if (!cell.strides.empty()) cell.strides[loopDepths[shared.lifetime.emptied.loop]] = shared.slot;
    }
    buffers[member].lifetime = {};
  }
  buffers.push_back(shared);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

SmallVector<Lifetime> StoragePlan::lifetimes() const {
  SmallVector<Lifetime> result;
  for (const Buffer &buffer : buffers)
    if (buffer.state.empty()) result.push_back(buffer.lifetime);
  return result;
}

std::vector<Occupant> StoragePlan::occupants() const {
  std::vector<Occupant> result;
  for (const Cell &cell : cells)
    for (const Segment &segment : cell.segments)
      result.push_back(
          {segment.value, cell.buffer, cell.offset, cell.bytes, !cell.strides.empty(), segment.start, segment.end});
  return result;
}

StoragePlan::Location StoragePlan::locate(Value value) const {
  Value root = viewRoot(value);
  int64_t offset = offsetInRoot(value);
  if (auto it = cellOf.find(root); it != cellOf.end()) {
    const Cell &cell = cells[it->second];
    return {cell.buffer, cell.offset + offset, cell.strides};
  }
  auto argument = dyn_cast<BlockArgument>(root);
  auto repeat = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp();
  if (!repeat) return {};
  unsigned operand = argument.getArgNumber() - 1, carried = repeat.getCarried().size();
  Location outer = locate(repeat->getOperand(operand));
  outer.offset += offset;
  if (operand < carried + repeat.getSliced().size()) {
    int64_t slot = outer.buffer >= 0 && outer.strides.empty() ? buffers[outer.buffer].slot : 0;
    outer.strides = withStride(outer.strides, repeatDepth(repeat), slot ? slot : bytesOf(argument));
  }
  return outer;
}

PlaceAttr StoragePlan::place(Value value) const {
  Location location = locate(value);
  if (location.buffer < 0) return {};
  while (!location.strides.empty() && location.strides.back() == 0) location.strides.pop_back();
  const Buffer &buffer = buffers[location.buffer];
  bool isStack = buffer.slot != 0 && location.strides.empty();
  return PlaceAttr::get(value.getContext(), buffer.offset + location.offset, location.strides,
                        isStack ? buffer.slot : 0);
}
