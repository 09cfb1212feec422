//===- EarlyParts.cpp - parts of sums are taken where the sums are made ---===//
//
// A part of an axis may be taken before or after a cast or a renaming, and before or after a change of shape of other
// axes. So it does not matter to what ranks exchange in which order a reader brings a sum to its sharding and its
// element type.
//
//   before   %s = tsr.reduce sum %x over [data]           %x: [data: 2, tensor: 2, in: 4, out: 2]
//            %c = tsr.cast %s to bf16
//            %m = tsr.merge %c [tensor, out] into out
//            %p = tsr.split %m in into [data, in]
//   after    %s = tsr.reduce sum %x over [data]
//            %p = tsr.split %s in into [data, in]          a reduce-scatter
//            %c = tsr.cast %p to bf16
//            %m = tsr.merge %c [tensor, out] into out      an all-gather of bf16
//
// Of each reduction over mesh axes:
// 1. Find the parts that every reader takes, through such ops.
// 2. Move those along other mesh axes before the reduction: it is one of the part.
// 3. Move those along its own mesh axes directly behind it.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/EarlyParts.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

namespace {
/// A part of an axis for each rank along a mesh axis, perhaps of the padded axis.
struct OwnPart {
  StringRef axis;
  AxisAttr mesh;
  int64_t size;
  int64_t offset = 0, padded = 0; ///< of the padding; size 0: none
  bool operator==(const OwnPart &) const = default;
};

class SumParts {
public:
  explicit SumParts(const ProgramMesh &mesh) : mesh(mesh) {}

  void takeEarly(ReduceOp reduce);

private:
  SmallVector<OwnPart> wantedOf(Value value) const;
  SmallVector<OwnPart> wantedBy(Operation *user) const;
  std::optional<OwnPart> nextOf(Value value, ReduceOp reduce, bool isOwn) const;

  const ProgramMesh &mesh;
};
} // namespace

/// The name in the operand of an axis of the result.
static StringRef nameBefore(RenameOp rename, StringRef axis) {
  SmallVector<StringRef> from = names(rename.getFrom()), to = names(rename.getTo());
  auto place = llvm::find(to, axis);
  return place == to.end() ? axis : from[place - to.begin()];
}

static StringRef nameAfter(RenameOp rename, StringRef axis) {
  SmallVector<StringRef> from = names(rename.getFrom()), to = names(rename.getTo());
  auto place = llvm::find(from, axis);
  return place == from.end() ? axis : to[place - from.begin()];
}

//===----------------------------------------------------------------------===//
// 1. What readers want
//===----------------------------------------------------------------------===//

SmallVector<OwnPart> SumParts::wantedOf(Value value) const {
  SmallVector<OwnPart> common;
  for (OpOperand &use : value.getUses()) {
    SmallVector<OwnPart> wanted = wantedBy(use.getOwner());
    if (&use == &*value.use_begin()) common = wanted;
    llvm::erase_if(common, [&](const OwnPart &part) { return !llvm::is_contained(wanted, part); });
  }
  return common;
}

/// The parts that are taken of the operand of an op, or may be as well as of its result.
SmallVector<OwnPart> SumParts::wantedBy(Operation *user) const {
  auto except = [&](Value result, ArrayRef<StringRef> axes) {
    SmallVector<OwnPart> parts = wantedOf(result);
    llvm::erase_if(parts, [&](const OwnPart &part) {
      return llvm::is_contained(axes, part.axis) || llvm::is_contained(axes, part.mesh.getName());
    });
    return parts;
  };
  return llvm::TypeSwitch<Operation *, SmallVector<OwnPart>>(user)
      .Case([&](CastOp cast) { return wantedOf(cast.getResult()); })
      .Case([&](RenameOp rename) {
        SmallVector<OwnPart> parts = wantedOf(rename.getResult());
        for (OwnPart &part : parts) part.axis = nameBefore(rename, part.axis);
        return parts;
      })
      .Case([&](SplitOp split) {
        SmallVector<StringRef> into = names(split.getInto());
        SmallVector<StringRef> changed = into;
        changed.push_back(split.getAxis());
        SmallVector<OwnPart> parts = except(split.getResult(), changed);
        if (into.size() != 2 || !mesh.has(into.front()) || into.back() != split.getAxis()) return parts;
        NamedTensorType type = tensorType(split.getResult());
        AxisAttr ranks = type.getAxes()[type.findAxis(into.front())];
        parts.insert(parts.begin(), OwnPart{split.getAxis(), ranks, type.getSize(split.getAxis())});
        return parts;
      })
      .Case([&](MergeOp merge) {
        SmallVector<StringRef> axes = names(merge.getAxes());
        axes.push_back(merge.getInto());
        return except(merge.getResult(), axes);
      })
      .Case([&](PadOp pad) {
        SmallVector<OwnPart> parts = wantedOf(pad.getResult());
        llvm::erase_if(parts, [&](const OwnPart &part) { return part.axis == pad.getAxis() && part.padded != 0; });
        for (OwnPart &part : parts)
          if (part.axis == pad.getAxis())
            part.offset = pad.getOffset(), part.padded = tensorType(pad.getResult()).getSize(part.axis);
        return parts;
      })
      .Case([&](SliceOp slice) { return except(slice.getResult(), slice.getAxis()); })
      .Default([](Operation *) { return SmallVector<OwnPart>(); });
}

//===----------------------------------------------------------------------===//
// 2., 3. Where the parts are taken
//===----------------------------------------------------------------------===//

/// Built in place of ops like one.
static Value take(GraphBuilder &b, Value value, const OwnPart &part, Operation *like) {
  if (part.padded != 0) {
    value = b.pad(value, part.axis, part.offset, part.padded);
    copyNotes(like, value.getDefiningOp());
  }
  value = b.split(value, part.axis, {part.mesh, axis(b.getContext(), part.axis, part.size)});
  copyNotes(like, value.getDefiningOp());
  return value;
}

/// The type of a part of a value.
static NamedTensorType partOf(GraphBuilder &b, NamedTensorType whole, const OwnPart &part) {
  SmallVector<AxisAttr> axes = b.without(whole, part.axis);
  llvm::append_values(axes, part.mesh, axis(b.getContext(), part.axis, part.size));
  return b.type(axes, whole.getElementType());
}

/// Ops that read a value, which want a part of it, read the part that has been taken.
static void readPart(ArrayRef<Operation *> users, Value whole, Value taken, const OwnPart &part) {
  for (Operation *user : users) {
    Value result = user->getResult(0);
    auto split = dyn_cast<SplitOp>(user);
    auto pad = dyn_cast<PadOp>(user);
    if (split && split.getAxis() == part.axis) {
      result.replaceAllUsesWith(taken);
    } else if (pad && pad.getAxis() == part.axis) {
      readPart(llvm::to_vector(result.getUsers()), result, taken, part);
    } else {
      GraphBuilder b(user);
      IRMapping map;
      map.map(whole, taken);
      Value clone = b.clone(*user, map)->getResult(0);
      OwnPart after = part;
      if (auto rename = dyn_cast<RenameOp>(user)) after.axis = nameAfter(rename, part.axis);
      clone.setType(partOf(b, tensorType(result), after));
      readPart(llvm::to_vector(result.getUsers()), result, clone, after);
    }
    user->erase();
  }
}

/// A part that is wanted of a value, along a mesh axis of the reduction or along another one: first those whose ranks
/// are near to each other, since what is left for the others to exchange is smaller.
std::optional<OwnPart> SumParts::nextOf(Value value, ReduceOp reduce, bool isOwn) const {
  SmallVector<StringRef> over = names(reduce.getOver());
  SmallVector<OwnPart> wanted = wantedOf(value);
  for (AxisAttr axis : llvm::reverse(mesh.getAxes()))
    for (const OwnPart &part : wanted)
      if (part.mesh == axis && llvm::is_contained(over, axis.getName()) == isOwn) return part;
  return std::nullopt;
}

void SumParts::takeEarly(ReduceOp reduce) {
  while (auto part = nextOf(reduce.getResult(), reduce, /*isOwn=*/false)) { // 2.
    SmallVector<Operation *> users(reduce->getUsers());
    GraphBuilder b(reduce);
    IRMapping map;
    map.map(reduce.getX(), take(b, reduce.getX(), *part, reduce));
    auto ofPart = cast<ReduceOp>(b.clone(*reduce, map));
    ofPart.getResult().setType(partOf(b, reduce.getType(), *part));
    readPart(users, reduce.getResult(), ofPart.getResult(), *part);
    reduce.erase();
    reduce = ofPart;
  }
  Value value = reduce.getResult();
  while (auto part = nextOf(value, reduce, /*isOwn=*/true)) { // 3.
    SmallVector<Operation *> users(value.getUsers());
    GraphBuilder b(reduce);
    b.setInsertionPointAfter(value.getDefiningOp());
    Value taken = take(b, value, *part, reduce);
    readPart(users, value, taken, *part);
    value = taken;
  }
}

void tessera::takePartsEarly(func::FuncOp function, const ProgramMesh &mesh) {
  SmallVector<ReduceOp> sums;
  function.walk([&](ReduceOp reduce) {
    if (llvm::any_of(names(reduce.getOver()), [&](StringRef axis) { return mesh.has(axis); })) sums.push_back(reduce);
  });
  SumParts parts(mesh);
  for (ReduceOp sum : sums) parts.takeEarly(sum);
}
