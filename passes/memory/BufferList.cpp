//===- BufferList.cpp - every buffer of the arena -----------------------------------===//

#include "passes/memory/BufferList.h"
#include "ir/program/Program.h"
#include "passes/analysis/ValueNames.h"
#include "passes/analysis/Views.h"
#include "passes/memory/Storage.h"
#include "llvm/ADT/DenseSet.h"
#include <tuple>

using namespace mlir;
using namespace tessera;

namespace {
/// Collects the buffers of one entry function.
class BufferCollector {
public:
  BufferCollector(func::FuncOp function, std::vector<BufferInfo> &list)
      : function(function), names(function), kinds(function), list(list) {
    for (const BufferInfo &buffer : list)
      if (buffer.entry == "*") listed.insert({buffer.offset, buffer.bytes});
  }

  void run() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto input = function.getArgAttrOfType<DictionaryAttr>(i, attrs::input))
        add({nameIn(input), "", BufferKind::Input}, function.getArgAttr(i, attrs::place),
            tensorType(function.getArgument(i)));
    OperandRange returned = function.getBody().front().getTerminator()->getOperands();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto output = function.getResultAttrOfType<DictionaryAttr>(i, attrs::output))
        add({nameIn(output), names.lineOf(returned[i]), BufferKind::Output}, function.getResultAttr(i, attrs::place),
            cast<NamedTensorType>(function.getResultTypes()[i]));
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      // The parts of a joined value are listed, not the whole.
      if (!isInsideKernel(op) && !isStorageView(op) && !isa<JoinOp>(op)) addResults(op);
    });
  }

private:
  struct Contents {
    std::string name, line;
    BufferKind kind;
  };

  static std::string nameIn(DictionaryAttr description) {
    auto name = description.getAs<StringAttr>("name");
    return name ? name.str() : "";
  }

  void addResults(Operation *op) {
    auto places = op->getAttrOfType<ArrayAttr>(attrs::places);
    if (!places) return;
    for (auto [result, place] : llvm::zip(op->getResults(), places))
      add({names.nameOf(result), names.lineOf(result), kinds.of(result)}, place, tensorType(result));
  }

  /// Adds a buffer unless it is part of one that is listed: a slot of a stack, or an operand's storage.
  void add(const Contents &contents, Attribute attr, NamedTensorType type) {
    auto place = dyn_cast_or_null<PlaceAttr>(attr);
    if (!place || llvm::any_of(place.getStrides(), [](int64_t stride) { return stride != 0; })) return;
    int64_t offset = place.getOffset(), bytes = type.getNumBytes();
    if (!listed.insert({offset, bytes}).second) return;
    list.push_back(
        {contents.name, function.getName().str(), contents.kind, describeType(type), contents.line, offset, bytes});
  }

  func::FuncOp function;
  ValueNames names;
  BufferKinds kinds;
  std::vector<BufferInfo> &list;
  llvm::DenseSet<std::pair<int64_t, int64_t>> listed; ///< offset and bytes of the state and of this function's buffers
};
} // namespace

std::vector<BufferInfo> tessera::listBuffers(ModuleOp module) {
  std::vector<BufferInfo> list;
  for (StateOp state : stateTable(module))
    if (state.getPlace())
      list.push_back({state.getPath().str(), "*", kindOfState(state), describeType(state.getTensorType()),
                      userLine(state.getLoc()), state.getPlace()->getOffset(), state.getTensorType().getNumBytes()});
  for (func::FuncOp function : entryFunctions(module)) BufferCollector(function, list).run();
  auto key = [](const BufferInfo &buffer) { return std::tie(buffer.offset, buffer.entry, buffer.name); };
  llvm::sort(list, [&](const BufferInfo &a, const BufferInfo &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : key(a) < key(b);
  });
  return list;
}

int64_t tessera::plannedBytes(ModuleOp module, StringRef entry) {
  int64_t end = 0;
  for (const BufferInfo &buffer : listBuffers(module))
    if (buffer.entry == entry) end = std::max(end, buffer.offset + buffer.bytes);
  return end;
}

int64_t tessera::arenaLowerBound(ModuleOp module) {
  int64_t state = 0, most = 0;
  for (StateOp op : stateTable(module)) state += alignedBytes(op.getTensorType().getNumBytes());
  for (func::FuncOp function : entryFunctions(module)) {
    StoragePlan plan(function);
    most = std::max(most, liveBytesBound(plan.lifetimes()));
  }
  return state + most;
}
