//===- TsrOpBase.td - operand types and base classes of the ops -----------===//

#ifndef TSR_OPBASE_TD
#define TSR_OPBASE_TD

include "ir/dialect/TsrDialect.td"
include "ir/dialect/TsrInterfaces.td"
include "ir/dialect/TsrTraits.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td" // SymbolNameAttr
include "mlir/IR/RegionKindInterface.td"

class Tsr_TensorOf<string condition, string description>
    : Type<CPred<"::llvm::isa<::tessera::NamedTensorType>($_self) && [](::mlir::Type e) { return " # condition #
                 "; }(::llvm::cast<::tessera::NamedTensorType>($_self).getElementType())">,
           description, "::tessera::NamedTensorType">;
def Tsr_Tensor
    : Type<CPred<"::llvm::isa<::tessera::NamedTensorType>($_self)">, "named tensor", "::tessera::NamedTensorType">;
def Tsr_FloatTensor : Tsr_TensorOf<"::llvm::isa<::mlir::FloatType>(e)", "named tensor of floats">;
def Tsr_BoolTensor : Tsr_TensorOf<"e.isInteger(1)", "named tensor of i1">;
def Tsr_IntTensor : Tsr_TensorOf<"e.isInteger(32) || e.isInteger(64)", "named tensor of i32 or i64">;
def Tsr_NumberTensor : Tsr_TensorOf<"!e.isInteger(1)", "named tensor of integers or floats">;
def Tsr_Scalar
    : Type<CPred<"::llvm::isa<::tessera::NamedTensorType>($_self) && "
                 "::llvm::cast<::tessera::NamedTensorType>($_self).isScalar()">,
                      "named tensor without axes", "::tessera::NamedTensorType">;

/// Results print under the user's name: %q for `tsr.name = "h.attn.q"`.
class Tsr_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Tsr_Dialect, opMnemonic, [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>] # traits> {
  code resultNames = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) { nameResults(getOperation(), setName); }
  }];
  let extraClassDefinition = resultNames;
}

/// An op without effects that the interpreter can run.
class Tsr_PureOp<string opMnemonic, list<Trait> traits = []>
    : Tsr_Op<opMnemonic, [Pure, DeclareOpInterfaceMethods<Tsr_EvaluateInterface>] # traits>;

#endif // TSR_OPBASE_TD
