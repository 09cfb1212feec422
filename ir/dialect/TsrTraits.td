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

/// `fuse` may take the op into a kernel. Both back ends have code for it: from the values of its operands at one
/// position, or (axis ops, reductions) as a way to read, accumulate or write.
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

/// Linear in its operands taken together, so that it may be moved through a sum of gradients.
def Tsr_Linear : Tsr_Trait<"Linear">;

/// Precision: the op amplifies the rounding error of its operand. Rounding a large operand to reduced precision changes
/// the result by a factor.
def Tsr_RoundingSensitive : Tsr_Trait<"RoundingSensitive">;

/// Each target computes the op by its own approximation, at the cost of a transcendental function. Rounding errors of
/// its results may be correlated, and differ between targets.
def Tsr_Approximated : Tsr_Trait<"Approximated">;

/// The result may be infinity or NaN for finite operands of ordinary magnitude: at a pole, outside the domain, by fast
/// growth, or (a contraction) because a sum of many products leaves the range of a low-precision type. When a program
/// diverges it suspects these ops. Below a select, reverse mode keeps gradients 0 that elementwise ones would turn into
/// NaN (ir/autodiff/NonFinite.h).
def Tsr_MayBeNonFinite : Tsr_Trait<"MayBeNonFinite">;

/// Precision: a loss or a rounding-sensitive op that reads the result sees the rounding errors of the operand
/// (`isScore` in passes/precision/Fp8Plan.cpp). A sum with a value of lower rank, such as a bias, passes them too.
def Tsr_PassesRoundingErrors : Tsr_Trait<"PassesRoundingErrors">;

/// The elements of the result are those of the operand, under another shape.
def Tsr_IsReshape : Tsr_Trait<"IsReshape">;

/// The elements of the result are elements of the first operand, or zeros, and have its type.
def Tsr_MovesElements : Tsr_Trait<"MovesElements">;

/// Computes nothing: elements are constants, positions or elements of the operands. `precision` may give such an op any
/// element type.
def Tsr_HasNoArithmetic : Tsr_Trait<"HasNoArithmetic">;

/// An op of one operand with an entry in the table of UnaryFunction.h.
def Tsr_IsUnaryFunction : Tsr_Trait<"IsUnaryFunction">;

/// An op of two operands with an entry in the table of BinaryFunction.h. Its base class adds the trait.
def Tsr_IsBinaryFunction : Tsr_Trait<"IsBinaryFunction">;

#endif // TSR_TRAITS_TD
