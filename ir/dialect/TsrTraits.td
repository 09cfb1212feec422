//===- TsrTraits.td - properties of ops that passes ask for ---------------===//
//
// An op, or the class of an op, opts in to each of them. `OpTraits.h` has their C++ side;
// `op->hasTrait<traits::NAME>()` asks.
//
//===----------------------------------------------------------------------===//

#ifndef TSR_TRAITS_TD
#define TSR_TRAITS_TD

include "mlir/IR/OpBase.td"

class Tsr_Trait<string name> : NativeOpTrait<name> { let cppNamespace = "::tessera::traits"; }

/// `fuse` may take the op into a kernel. Both back ends have code for it: from the values of its operands at a point,
/// or (views, reductions, gather, scatter_add) as a way to read, accumulate or write.
def Tsr_MayBeInKernel : Tsr_Trait<"MayBeInKernel">;

/// Computes elements from attributes, positions and scalars alone: cheaper to recompute than to store.
def Tsr_IsSource : Tsr_Trait<"IsSource">;

/// Each element of the result is an element of the first operand at other indices, or a padding zero. In a kernel such
/// an op computes nothing. It is a way to address the operand, which must be in memory (`resolveAccess` of
/// passes/kernel/Access.h).
def Tsr_IndexTransform : Tsr_Trait<"IndexTransform">;

/// At each point the result is the operand: the op changes the order of axes or adds axes.
def Tsr_PointwiseIdentity : Tsr_Trait<"PointwiseIdentity">;

/// Infinitely often differentiable wherever it is defined: formulas of such ops are equal if they agree at enough
/// points.
def Tsr_Smooth : Tsr_Trait<"Smooth">;

/// Linear in its operands taken together: what enters a sum of gradients may pass through it.
def Tsr_Linear : Tsr_Trait<"Linear">;

/// Amplifies rounding errors: a function that changes so fast that rounding a large operand to reduced precision
/// changes the result by a multiple.
def Tsr_RoundingSensitive : Tsr_Trait<"RoundingSensitive">;

/// Targets compute the op by approximations of their own, in the cost class of transcendental functions. Rounding
/// errors of its results may be correlated, and are not reproduced between targets.
def Tsr_Approximated : Tsr_Trait<"Approximated">;

/// May give infinity or NaN for finite operands that are not extreme: a pole, the end of a domain, fast growth.
def Tsr_MakesNonFinite : Tsr_Trait<"MakesNonFinite">;

/// The op passes the rounding errors of its operand on: logits remain logits, and a loss or a rounding-sensitive op
/// that follows is affected by how they are rounded.
def Tsr_PassesLogits : Tsr_Trait<"PassesLogits">;

/// The elements of the result are those of the operand, under another shape.
def Tsr_IsReshape : Tsr_Trait<"IsReshape">;

/// The elements of the result are elements of the first operand, or zeros, and have its type.
def Tsr_MovesElements : Tsr_Trait<"MovesElements">;

/// Computes nothing: elements are constants, positions or elements of the operands. `precision` may give such an op any
/// element type.
def Tsr_HasNoArithmetic : Tsr_Trait<"HasNoArithmetic">;

/// An op of one operand with an entry in the table of UnaryFunction.h.
def Tsr_IsUnaryFunction : Tsr_Trait<"IsUnaryFunction">;

#endif // TSR_TRAITS_TD
