//===- TsrDialect.td - the tsr dialect, its attributes and types ----------===//

#ifndef TSR_DIALECT_TD
#define TSR_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"

def Tsr_Dialect : Dialect {
  let name = "tsr";
  let cppNamespace = "::tessera";
  let summary = "training graphs over tensors whose axes have names";
  let description = [{
    One training program is one module: a table of state (`tsr.state`) and entry functions (`func.func`) that map
    state and batch to state and metrics. Values are tensors whose axes are identified by name; see `docs/ir.md`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Tsr_Attr<string name, string attrMnemonic> : AttrDef<Tsr_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Tsr_AxisAttr : Tsr_Attr<"Axis", "axis"> {
  let summary = "a named axis with its size";
  let description = "`#tsr.axis<seq: 1024>`; inside types and ops it prints as `seq: 1024`.";
  let parameters = (ins StringRefParameter<"the axis name">:$name, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def Tsr_PlaceAttr : Tsr_Attr<"Place", "place"> {
  let summary = "the address of a value in the arena";
  let description = [{
    The address is `offset + sum(strides[d] * i[d])` bytes from the start of the arena, where `i[d]` is the induction
    value of the enclosing repeat at depth `d`, outermost first. `#tsr.place<1024>` has no strides: the address is the
    same in every iteration.

    A stack with `slot` is not contiguous: slot `i` of its outermost axis is `i * slot` bytes from its start, and slots
    of other stacks are in between. Only repeats, slot by slot, use such a stack.
  }];
  let parameters = (ins "int64_t":$offset, OptionalArrayRefParameter<"int64_t">:$strides,
                        DefaultValuedParameter<"int64_t", "0">:$slot);
  let builders = [AttrBuilder<(ins "int64_t":$offset, "::llvm::ArrayRef<int64_t>":$strides, CArg<"int64_t",
                                   "0">:$slot), [{
    return $_get($_ctxt, offset, strides, slot);
  }]>];
  let skipDefaultBuilders = 1;
  let assemblyFormat = "`<` $offset (`,` `[` $strides^ `]`)? (`slot` $slot^)? `>`";
}

class Tsr_Enum<string name, list<I32EnumCase> cases> : I32Enum<name, "", cases> {
  let cppNamespace = "::tessera";
}
class Tsr_EnumAttr<I32Enum enum, string attrMnemonic> : EnumAttr<Tsr_Dialect, enum, attrMnemonic>;

def Tsr_ReduceKind : Tsr_Enum<"ReduceKind",
    [I32EnumCase<"Sum", 0, "sum">, I32EnumCase<"Max", 1, "max">, I32EnumCase<"Min", 2, "min">,
     I32EnumCase<"MaxNum", 3, "maxnum">]>;
def Tsr_ReduceKindAttr : Tsr_EnumAttr<Tsr_ReduceKind, "reduce_kind">;

def Tsr_ExchangeKind : Tsr_Enum<"ExchangeKind",
    [I32EnumCase<"AllGather", 0, "all_gather">, I32EnumCase<"AllToAll", 1, "all_to_all">,
     I32EnumCase<"ReduceScatter", 2, "reduce_scatter">]>;
def Tsr_ExchangeKindAttr : Tsr_EnumAttr<Tsr_ExchangeKind, "exchange_kind">;

def Tsr_Predicate : Tsr_Enum<"Predicate",
    [I32EnumCase<"EQ", 0, "eq">, I32EnumCase<"NE", 1, "ne">, I32EnumCase<"LT", 2, "lt">,
     I32EnumCase<"LE", 3, "le">, I32EnumCase<"GT", 4, "gt">, I32EnumCase<"GE", 5, "ge">]>;
def Tsr_PredicateAttr : Tsr_EnumAttr<Tsr_Predicate, "predicate">;

def Tsr_Epilogue : Tsr_Enum<"Epilogue", [I32EnumCase<"Gelu", 0, "gelu">, I32EnumCase<"GeluGrad", 1, "gelu_grad">]>;
def Tsr_EpilogueAttr : Tsr_EnumAttr<Tsr_Epilogue, "epilogue">;

def Tsr_Distribution : Tsr_Enum<"Distribution",
    [I32EnumCase<"Uniform", 0, "uniform">, I32EnumCase<"Normal", 1, "normal">]>;
def Tsr_DistributionAttr : Tsr_EnumAttr<Tsr_Distribution, "distribution">;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Tsr_NamedTensor : TypeDef<Tsr_Dialect, "NamedTensor"> {
  let mnemonic = "tensor";
  let summary = "a tensor whose axes have names";
  let description = [{
    `!tsr.tensor<[batch: 8, seq: 1024], f32>`. Axis names are unique. Until the `layout` phase the axes are in the
    module's canonical order (`tsr.axes`), afterwards in memory order, outermost first. A scalar has no axes:
    `!tsr.tensor<[], f32>`.

    Element types: f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32, i1.

    From the end of `layout` on, `vocab: 50257 of 50264` is an axis of size 50257 with memory for 50264 positions. The
    *allocated sizes* determine addresses and nothing else: the stride of an axis is the product of the allocated sizes
    of the axes inside it. Positions from the size on have no elements, and their bytes have no defined value. A type
    without them is dense: its allocated sizes are its sizes.
  }];
  let parameters = (ins ArrayRefParameter<"AxisAttr">:$axes, "::mlir::Type":$elementType,
                        ArrayRefParameter<"int64_t", "one for each axis; none if dense">:$allocated);
  let skipDefaultBuilders = 1;
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<AxisAttr>":$axes, "::mlir::Type":$elementType,
                                  CArg<"::llvm::ArrayRef<int64_t>", "{}">:$allocated), [{
    return $_get($_ctxt, axes, elementType, dropIfDense(axes, allocated));
  }]>,
                  TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<AxisAttr>":$axes, "::mlir::Type":$elementType,
                                                     CArg<"::llvm::ArrayRef<int64_t>", "{}">:$allocated), [{
    return $_get(elementType.getContext(), axes, elementType, dropIfDense(axes, allocated));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getAxes().size(); }
    /// Number of elements; 1 for a scalar.
    int64_t getNumElements() const;
    /// Number of positions in memory, at least that of the elements: the product of the allocated sizes.
    int64_t getNumAllocated() const;
    /// Bytes of one element; an i1 takes one.
    int64_t getElementBytes() const;
    /// Bytes of the buffer, with those of positions that have no elements.
    int64_t getNumBytes() const;
    /// Bytes from one position of the outermost axis to the next; of a scalar its bytes.
    int64_t getSlotBytes() const;
    /// Whether every position in memory has an element.
    bool isDense() const { return getAllocated().empty(); }
    /// Position of the axis in `getAxes()`, or -1.
    int64_t findAxis(::llvm::StringRef name) const;
    bool hasAxis(::llvm::StringRef name) const { return findAxis(name) >= 0; }
    /// Size of an axis that the tensor has.
    int64_t getSize(::llvm::StringRef name) const;
    bool isScalar() const { return getAxes().empty(); }
    /// The allocated size of each axis, which is its size if the type is dense.
    ::llvm::SmallVector<int64_t> getAllocatedSizes() const;
    /// Row-major strides in elements, in the order of `getAxes()`.
    ::llvm::SmallVector<int64_t> getStrides() const;
    /// Keeps the allocated sizes.
    NamedTensorType withElementType(::mlir::Type type) const;
    /// With other axes; dense.
    NamedTensorType withAxes(::llvm::ArrayRef<AxisAttr> axes) const;
    /// With other allocated sizes, one for each axis; dense if there are none.
    NamedTensorType withAllocated(::llvm::ArrayRef<int64_t> allocated) const;
    /// One slot of a stack along the axis: the other axes keep their allocated sizes.
    NamedTensorType withoutAxis(::llvm::StringRef name) const;

    /// None where they are the sizes, so that equal types are one.
    static ::llvm::ArrayRef<int64_t> dropIfDense(::llvm::ArrayRef<AxisAttr> axes, ::llvm::ArrayRef<int64_t> allocated);
  }];
}

#endif // TSR_DIALECT_TD
