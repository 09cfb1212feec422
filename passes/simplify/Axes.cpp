//===- Axes.cpp - views that undo each other; reads that are slices -------===//

#include "ir/program/IndexRange.h"
#include "passes/simplify/Patterns.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Renames in a row are one; names that stay are not listed; a rename of nothing goes.
struct MergeRenames : OpRewritePattern<RenameOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RenameOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<RenameOp>();
    bool listsKept = llvm::any_of(llvm::zip(names(op.getFrom()), names(op.getTo())),
                                  [](auto pair) { return std::get<0>(pair) == std::get<1>(pair); });
    if (!inner && !listsKept && !op.getFrom().empty()) return failure();
    Value x = inner ? inner.getX() : op.getX();
    SmallVector<StringRef> from, to;
    for (AxisAttr axis : tensorType(x).getAxes()) {
      StringRef name = axis.getName();
      if (inner) name = renamed(inner, name);
      name = renamed(op, name);
      if (name == axis.getName()) continue;
      from.push_back(axis.getName());
      to.push_back(name);
    }
    PatternBuilder b(rewriter, op);
    rewriter.replaceOp(op, from.empty() ? x : b.rename(x, from, to));
    return success();
  }

  static StringRef renamed(RenameOp op, StringRef name) {
    for (auto [from, to] : llvm::zip(names(op.getFrom()), names(op.getTo())))
      if (from == name) return to;
    return name;
  }
};

/// The position along a renamed axis; a view of a constant.
struct RenameOfSource : OpRewritePattern<RenameOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RenameOp op, PatternRewriter &rewriter) const override {
    if (!op.getX().getDefiningOp<IndexOp>()) return failure();
    PatternBuilder b(rewriter, op);
    rewriter.replaceOpWithNewOp<IndexOp>(op, op.getType());
    return success();
  }
};

template <typename OpT> struct ViewOfConstant : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    std::optional<double> number = constantNumber(op.getX());
    if (!number || (std::is_same_v<OpT, PadOp> && *number != 0)) return failure();
    PatternBuilder b(rewriter, op);
    rewriter.replaceOp(op, b.constant(*number, op.getType()));
    return success();
  }
};

struct MergeOfSplit : OpRewritePattern<MergeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MergeOp op, PatternRewriter &rewriter) const override {
    auto split = op.getX().getDefiningOp<SplitOp>();
    if (!split || split.getInto() != op.getAxes()) return failure();
    PatternBuilder b(rewriter, op);
    Value x = split.getX();
    rewriter.replaceOp(op, split.getAxis() == op.getInto() ? x : b.rename(x, split.getAxis(), op.getInto()));
    return success();
  }
};

struct SplitOfMerge : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplitOp op, PatternRewriter &rewriter) const override {
    auto merge = op.getX().getDefiningOp<MergeOp>();
    if (!merge || merge.getInto() != op.getAxis() || merge.getAxes().size() != op.getInto().size()) return failure();
    SmallVector<StringRef> from = names(merge.getAxes()), to = names(op.getInto());
    for (auto [a, b] : llvm::zip(from, to))
      if (merge.getX().getType().getSize(a) != op.getType().getSize(b)) return failure();
    PatternBuilder b(rewriter, op);
    rewriter.replaceOp(op, from == to ? merge.getX() : b.rename(merge.getX(), from, to));
    return success();
  }
};

/// A slice of everything; a slice of a slice; a slice of what was padded.
struct SimplifySlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    PatternBuilder b(rewriter, op);
    if (op.getX().getType() == op.getType()) return rewriter.replaceOp(op, op.getX()), success();
    int64_t size = op.getType().getSize(op.getAxis());
    if (auto inner = op.getX().getDefiningOp<SliceOp>(); inner && inner.getAxis() == op.getAxis())
      return rewriter.replaceOp(op, b.slice(inner.getX(), op.getAxis(), inner.getOffset() + op.getOffset(), size)),
             success();
    if (auto inner = op.getX().getDefiningOp<PadOp>(); inner && inner.getAxis() == op.getAxis()) {
      int64_t offset = op.getOffset() - inner.getOffset(), within = inner.getX().getType().getSize(op.getAxis());
      if (offset >= 0 && offset + size <= within)
        return rewriter.replaceOp(op, b.slice(inner.getX(), op.getAxis(), offset, size)), success();
      if (offset + size <= 0 || offset >= within) return rewriter.replaceOp(op, b.constant(0, op.getType())), success();
    }
    return failure();
  }
};

struct SimplifyPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    if (op.getX().getType() != op.getType()) return failure();
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

/// Reads at `position along b + offset` within the axis are a slice, whose axis is then called b.
struct GatherToSlice : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    SmallVector<StringRef> axes = names(op.getAxes());
    for (unsigned i = 0; i < axes.size(); ++i) {
      NamedTensorType type = op.getX().getType();
      auto shifted = matchShiftedIndex(op.getIndices()[i]);
      if (!shifted || shifted->offset < 0 || shifted->offset + shifted->axis.getSize() > type.getSize(axes[i]))
        continue;
      // An axis of the same name that is read elsewhere, or aligned, would clash with the slice's.
      StringRef to = shifted->axis.getName();
      if (to != axes[i] && type.hasAxis(to)) continue;
      if (axes.size() > 1 && isUsedByOther(op, i, to, axes)) continue;
      PatternBuilder b(rewriter, op);
      Value x = b.slice(op.getX(), axes[i], shifted->offset, shifted->axis.getSize());
      if (to != axes[i]) x = b.rename(x, axes[i], to);
      SmallVector<Value> rest(op.getIndices());
      rest.erase(rest.begin() + i);
      axes.erase(axes.begin() + i);
      rewriter.replaceOp(op, rest.empty() ? x : b.gather(x, axes, rest));
      return success();
    }
    return failure();
  }

  /// With other reads left, the slice's axis must not be one that they read along.
  static bool isUsedByOther(GatherOp op, unsigned i, StringRef name, ArrayRef<StringRef> axes) {
    for (unsigned j = 0; j < axes.size(); ++j)
      if (j != i && axes[j] == name) return true;
    return false;
  }
};

/// Writes at `position along b + offset` within the axis are a pad.
struct ScatterToPad : OpRewritePattern<ScatterAddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterAddOp op, PatternRewriter &rewriter) const override {
    if (op.getIndices().size() != 1 || op.getInit()) return failure();
    StringRef to = names(op.getAxes())[0];
    auto shifted = matchShiftedIndex(op.getIndices()[0]);
    int64_t size = op.getType().getSize(to);
    if (!shifted || shifted->offset < 0 || shifted->offset + shifted->axis.getSize() > size) return failure();
    StringRef from = shifted->axis.getName();
    NamedTensorType updates = op.getUpdates().getType();
    // The updates' axis must end here, and the result's must not be among the updates already.
    if (from != to && (op.getType().hasAxis(from) || updates.hasAxis(to))) return failure();
    PatternBuilder b(rewriter, op);
    Value x = from == to ? Value(op.getUpdates()) : b.rename(op.getUpdates(), from, to);
    rewriter.replaceOp(op, b.pad(x, to, shifted->offset, size));
    return success();
  }
};

} // namespace

void tessera::addAxisPatterns(RewritePatternSet &patterns) {
  patterns.add<MergeRenames, RenameOfSource, ViewOfConstant<RenameOp>, ViewOfConstant<SplitOp>, ViewOfConstant<MergeOp>,
               ViewOfConstant<SliceOp>, ViewOfConstant<PadOp>, ViewOfConstant<GatherOp>, MergeOfSplit, SplitOfMerge,
               SimplifySlice, SimplifyPad, GatherToSlice, ScatterToPad>(patterns.getContext());
}
