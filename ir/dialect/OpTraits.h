//===- OpTraits.h - properties of ops that passes ask for -----------------===//
//
// The C++ side of TsrTraits.td, where each trait is described.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_DIALECT_OPTRAITS_H
#define TESSERA_IR_DIALECT_OPTRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace tessera::traits {

template <typename OpT> struct MayBeInKernel : mlir::OpTrait::TraitBase<OpT, MayBeInKernel> {};
template <typename OpT> struct IsSource : mlir::OpTrait::TraitBase<OpT, IsSource> {};
template <typename OpT> struct IndexTransform : mlir::OpTrait::TraitBase<OpT, IndexTransform> {};
template <typename OpT> struct PointwiseIdentity : mlir::OpTrait::TraitBase<OpT, PointwiseIdentity> {};
template <typename OpT> struct Smooth : mlir::OpTrait::TraitBase<OpT, Smooth> {};
template <typename OpT> struct Linear : mlir::OpTrait::TraitBase<OpT, Linear> {};
template <typename OpT> struct RoundingSensitive : mlir::OpTrait::TraitBase<OpT, RoundingSensitive> {};
template <typename OpT> struct Approximated : mlir::OpTrait::TraitBase<OpT, Approximated> {};
template <typename OpT> struct MayBeNonFinite : mlir::OpTrait::TraitBase<OpT, MayBeNonFinite> {};
template <typename OpT> struct PassesRoundingErrors : mlir::OpTrait::TraitBase<OpT, PassesRoundingErrors> {};
template <typename OpT> struct IsReshape : mlir::OpTrait::TraitBase<OpT, IsReshape> {};
template <typename OpT> struct MovesElements : mlir::OpTrait::TraitBase<OpT, MovesElements> {};
template <typename OpT> struct HasNoArithmetic : mlir::OpTrait::TraitBase<OpT, HasNoArithmetic> {};
template <typename OpT> struct IsUnaryFunction : mlir::OpTrait::TraitBase<OpT, IsUnaryFunction> {};
template <typename OpT> struct IsBinaryFunction : mlir::OpTrait::TraitBase<OpT, IsBinaryFunction> {};

} // namespace tessera::traits

#endif // TESSERA_IR_DIALECT_OPTRAITS_H
