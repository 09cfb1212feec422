//===- GraphBuilder.h - builds tsr ops with inferred types ---------------------===//
//
// Result types follow from operands and axis names, in the module's canonical
// axis order. The frontend, autodiff and every pass build ops through this.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_DIALECT_GRAPHBUILDER_H
#define TESSERA_IR_DIALECT_GRAPHBUILDER_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// An axis and its size.
AxisAttr axis(mlir::MLIRContext *context, llvm::StringRef name, int64_t size);

/// The canonical order of axes: the module's list `tsr.axes`. Names that the list lacks come last, alphabetically.
class AxisOrder {
public:
  explicit AxisOrder(mlir::ModuleOp module);
  /// Position of a name in the order.
  unsigned rank(llvm::StringRef name) const;
  /// Whether `a` comes before `b`.
  bool before(llvm::StringRef a, llvm::StringRef b) const;
  void sort(llvm::SmallVectorImpl<AxisAttr> &axes) const;
  bool isCanonical(NamedTensorType type) const;

private:
  llvm::StringMap<unsigned> ranks;
};

/// Adds the name of a new axis to that list, before the one that it divides.
void declareAxis(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef before);

/// An OpBuilder for tsr ops: location and canonical axis order are part of its state.
/// Large because: a builder, with one method for each kind of op.
class GraphBuilder : public mlir::OpBuilder {
public:
  using Names = llvm::ArrayRef<llvm::StringRef>;

  /// Builds inside `module`; set an insertion point before building.
  GraphBuilder(mlir::ModuleOp module, mlir::Location loc) : OpBuilder(module.getContext()), order(module), loc(loc) {}
  /// Builds before `op`, at its location.
  explicit GraphBuilder(mlir::Operation *op);

  mlir::Location getLoc() const { return loc; }
  void setLoc(mlir::Location location) { loc = location; }

  // Types.
  NamedTensorType type(llvm::ArrayRef<AxisAttr> axes, mlir::Type elementType);
  NamedTensorType scalarType(mlir::Type elementType) { return type({}, elementType); }
  /// Union of the axes, canonical.
  llvm::SmallVector<AxisAttr> unite(llvm::ArrayRef<NamedTensorType> types);
  /// The axes of `type` without those named.
  llvm::SmallVector<AxisAttr> without(NamedTensorType type, Names drop);
  /// `type` with one more axis, at its canonical place.
  NamedTensorType withAxis(NamedTensorType type, AxisAttr axis);

  // Sources. `elementType` may be float, integer or i1.
  mlir::Value constant(double number, NamedTensorType type);
  mlir::Value scalar(double number, mlir::Type elementType) { return constant(number, scalarType(elementType)); }
  mlir::Value index(AxisAttr axis);

  // Elementwise; operands broadcast by name and have one element type (compare and select: of their values).
  template <typename OpT> mlir::Value unary(mlir::Value x) {
    return OpT::create(*this, loc, x.getType(), x).getResult();
  }
  template <typename OpT> mlir::Value binary(mlir::Value a, mlir::Value b) {
    auto result = type(unite({tensorType(a), tensorType(b)}), tensorType(a).getElementType());
    return OpT::create(*this, loc, result, a, b).getResult();
  }
  mlir::Value neg(mlir::Value x) { return unary<NegOp>(x); }
  mlir::Value exp(mlir::Value x) { return unary<ExpOp>(x); }
  mlir::Value log(mlir::Value x) { return unary<LogOp>(x); }
  mlir::Value sqrt(mlir::Value x) { return unary<SqrtOp>(x); }
  mlir::Value rsqrt(mlir::Value x) { return unary<RsqrtOp>(x); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary<DivOp>(a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return binary<MaxOp>(a, b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return binary<MinOp>(a, b); }
  mlir::Value pow(mlir::Value a, mlir::Value b) { return binary<PowOp>(a, b); }
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b) { return binary<AndOp>(a, b); }
  /// x * number and x + number, with a constant of x's element type.
  mlir::Value mul(mlir::Value x, double number);
  mlir::Value add(mlir::Value x, double number);
  mlir::Value oneMinus(mlir::Value x);
  mlir::Value compare(Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  mlir::Value cast(mlir::Value x, mlir::Type elementType);

  // Contraction, reduction, broadcast. The axes of `over` that only one operand of a contraction has are reduced first.
  // `element`: of the result, the operands' own if null.
  mlir::Value contract(mlir::Value a, mlir::Value b, Names over, mlir::Type element = {});
  mlir::Value reduce(ReduceKind kind, mlir::Value x, Names over);
  mlir::Value sum(mlir::Value x, Names over) { return reduce(ReduceKind::Sum, x, over); }
  /// Sum divided by the number of elements.
  mlir::Value mean(mlir::Value x, Names over);
  /// `x` repeated along the axes of `to` that it lacks; `x` itself if there are none.
  mlir::Value broadcast(mlir::Value x, NamedTensorType to);
  /// `x` summed over the axes that `to` lacks; `x` itself if there are none.
  mlir::Value sumTo(mlir::Value x, NamedTensorType to);

  // Axes.
  mlir::Value rename(mlir::Value x, Names from, Names to);
  mlir::Value split(mlir::Value x, llvm::StringRef axis, llvm::ArrayRef<AxisAttr> into);
  mlir::Value merge(mlir::Value x, Names axes, llvm::StringRef into);
  mlir::Value slice(mlir::Value x, llvm::StringRef axis, int64_t offset, int64_t size);
  mlir::Value pad(mlir::Value x, llvm::StringRef axis, int64_t offset, int64_t size);
  /// The parts, which differ in the size of the axis only, one after the other along it.
  mlir::Value join(mlir::ValueRange parts, llvm::StringRef axis);
  mlir::Value gather(mlir::Value x, Names axes, mlir::ValueRange indices);
  /// Adds updates at positions; `to` has the axes written at, with their sizes, and the rest of the updates' axes.
  mlir::Value scatterAdd(mlir::Value updates, Names axes, mlir::ValueRange indices, NamedTensorType to);
  mlir::Value random(Distribution distribution, int32_t site, mlir::Value seed, mlir::Value step,
                     mlir::ValueRange salts, NamedTensorType type);

  /// Array of string attributes.
  mlir::ArrayAttr strings(Names names) { return getStrArrayAttr(names); }

private:
  AxisOrder order;
  mlir::Location loc;
};

} // namespace tessera

#endif // TESSERA_IR_DIALECT_GRAPHBUILDER_H
