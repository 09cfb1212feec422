//===- TsrInterfaces.td - what passes must know of an op ------------------===//

#ifndef TSR_INTERFACES_TD
#define TSR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Tsr_ElementwiseInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op of which each result element depends only on the operands' elements at the same position. Operands broadcast
    by name: the result's axes are the union of the operands' axes.
  }];
  let methods = [
    InterfaceMethod<"The result element at one position, from the operands' elements there; booleans are 0 and 1.",
                    "double", "applyScalar", (ins "::llvm::ArrayRef<double>":$operands)>,
    InterfaceMethod<"Bounds of an integer result, given those of the operands; nothing if none are known.",
                    "std::optional<::tessera::Interval>", "inferBounds",
                    (ins "::llvm::ArrayRef<::tessera::Interval>":$operands), "", "return std::nullopt;">,
  ];
}

def Tsr_AdjointInterface : OpInterface<"AdjointOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    A differentiable op. Ops with floating-point results that lack it are constants to differentiation (comparisons,
    positions, random draws).
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the adjoint at the builder's insertion point. `gradients` has one value for each result, null for a result
      without a gradient. Passes each operand's gradient to `accumulate`, which sums several calls for one operand, and
      over the axes that the operand lacks. `needed` says for each operand whether its gradient is wanted.
    }], "void", "buildAdjoint", (ins "::tessera::GraphBuilder &":$builder, "::mlir::ValueRange":$gradients,
        "::llvm::function_ref<bool(unsigned)>":$needed,
        "::llvm::function_ref<void(unsigned, ::mlir::Value)>":$accumulate)>,
  ];
}

def Tsr_EvaluateInterface : OpInterface<"EvaluateOpInterface"> {
  let cppNamespace = "::tessera";
  let description = "An op the reference interpreter can run, written to be read, not to be fast.";
  let methods = [
    InterfaceMethod<"Computes the results. Result tensors arrive with their axes set and values zero.",
                    "::llvm::LogicalResult", "evaluate",
                    (ins "::llvm::ArrayRef<::tessera::TensorValue>":$operands,
                         "::llvm::MutableArrayRef<::tessera::TensorValue>":$results,
                             "::tessera::Interpreter &":$interpreter)>,
  ];
}

def Tsr_DecomposeInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::tessera";
  let description = "A composite: an op with a decomposition into primitive ops. After `layout` there is none.";
  let methods = [
    InterfaceMethod<"Builds the decomposition at the builder's insertion point and returns one value for each result.",
                    "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::tessera::GraphBuilder &":$builder)>,
  ];
}

def Tsr_CostInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::tessera";
  let description = "Arithmetic work, for plans and for `info`. Contractions implement it; other ops count as none.";
  let methods = [InterfaceMethod<"Floating-point operations; a multiply-add counts as two.", "int64_t", "getFlops">];
}

def Tsr_DivisibleInterface : OpInterface<"DivisibleOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op that may be applied to parts of an axis separately: to one after the other, as `chunk` does, or to each on
    another rank, as `partition` does.
  }];
  let methods = [
    InterfaceMethod<"How results follow from parts of those operands that have the axis.", "::tessera::AxisDivision",
                    "getDivision", (ins "::llvm::StringRef":$axis), "",
                    "return ::tessera::AxisDivision::independent();">,
  ];
}

def Tsr_MultiplyInterface : OpInterface<"MultiplyOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op that matrix units can run: it multiplies elements that may have a low-precision type, and accumulates in f32.
    The first result has the sums.
  }];
  let methods = [
    InterfaceMethod<"How many operands, the first ones, are multiplied.", "unsigned", "getNumFactors">
  ];
}

#endif // TSR_INTERFACES_TD
