//===- TsrOps.td - operations of the tsr dialect --------------------------===//
//
// Elementwise ops are in TsrElementwise.td, those of training in TsrTraining.td, those of several ranks in TsrRanks.td.
//
//===----------------------------------------------------------------------===//

#ifndef TSR_OPS_TD
#define TSR_OPS_TD

include "ir/dialect/TsrElementwise.td"
include "ir/dialect/TsrRanks.td"
include "ir/dialect/TsrTraining.td"

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def Tsr_ConstantOp
    : Tsr_PureOp<"constant", [ConstantLike, Tsr_MayBeInKernel, Tsr_IsSource, Tsr_HasNoArithmetic,
                              Tsr_DivisibleInterface]> {
  let summary = "a splat: all elements have one value";
  let description = "C1: `value` is a float or integer attribute of the result's element type.";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = "custom<Splat>($value, attr-dict, type($result))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = "/// The value as a double, whatever its type.\n double getNumber();";
}

def Tsr_IndexOp : Tsr_PureOp<"index", [Tsr_MayBeInKernel, Tsr_IsSource, Tsr_HasNoArithmetic]> {
  let summary = "the position along an axis: 0, 1, 2, …";
  let description = "C1: the result has exactly one axis.";
  let results = (outs Tsr_IntTensor:$result);
  let assemblyFormat = "`` custom<Notes>(attr-dict) `:` type($result)";
  let hasVerifier = 1;
}

def Tsr_RandomOp : Tsr_PureOp<"random", [AttrSizedOperandSegments, Tsr_MayBeInKernel, Tsr_IsSource, Tsr_Approximated]> {
  let summary = "counter-based random draws (Philox 4x32-10)";
  let description = [{
    Each element depends on `seed`, `step`, `site`, `salts` and its index (row-major in canonical order of the axes)
    only, so that draws are the same under any layout, fusion, recomputation and sharding. `site` is a stable hash of
    the draw's path in the model; `salts` are the induction values of the enclosing repeats, which ranks may divide.
    `canonical` lists the axes in the order that the index follows: as declared, for initial values; `layout` sets it
    where it is not set. `strides` says the same of a draw that is divided among ranks: the index is `first`, 0 where
    absent, plus the sum of position times stride over the axes of the result.

    key = (low, high word of seed); counter = (low, high word of the index, step, mix(site, salts)), where mix folds
    `h = (h ^ salt) * 0x9E3779B1 + 0x7F4A7C15` over the salts, outermost repeat first, starting with `h = site`.
    uniform: `(w0 >> 8) * 2^-24`, in [0, 1). normal: Box-Muller, `sqrt(-2 ln(((w0 >> 8) + 1) * 2^-24)) * cos(2 pi (w1
    >> 8) * 2^-24)`. Common subexpression elimination never unifies draws of different sites.

    C1: `canonical` lists the axes of the result. C2: `strides` has an integer for each of them, and there is no
    `canonical` beside it. C3: the result has the axes of `salts`.
  }];
  let arguments = (ins Tsr_DistributionAttr:$distribution, I32Attr:$site, Tsr_Scalar:$seed, Tsr_Scalar:$step,
                       Variadic<Tsr_IntTensor>:$salts, Optional<Tsr_Scalar>:$first,
                       OptionalAttr<StrArrayAttr>:$canonical, OptionalAttr<DictionaryAttr>:$strides);
  let results = (outs Tsr_FloatTensor:$result);
  let assemblyFormat = [{
    `` $distribution `site` $site `seed` $seed `step` $step (`salts` $salts^)? (`canonical`
    custom<Names>($canonical)^)? (`strides` $strides^ (`first` $first^)?)? `` custom<Notes>(attr-dict) `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "/// By how much the index grows along each axis of the result.\n"
                              "::llvm::SmallVector<int64_t> getIndexStrides();";
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, broadcast
//===----------------------------------------------------------------------===//

def Tsr_ContractOp
    : Tsr_PureOp<"contract", [DeclareOpInterfaceMethods<Tsr_AdjointInterface>,
                             DeclareOpInterfaceMethods<Tsr_CostInterface>,
                             DeclareOpInterfaceMethods<Tsr_DivisibleInterface, ["getDivision"]>,
                             Tsr_MultiplyInterface, AttrSizedOperandSegments, Tsr_MayBeNonFinite]> {
  let summary = "sum of products over named axes";
  let description = [{
    `result = init + bias + sum over "over" of lhs * rhs`. `fuse` adds `init` and `bias`; before it there are none.
    Operands in bf16 or f16 are multiplied exactly and accumulated in f32; the sum, with `init` and `bias`, is rounded
    once, to the result's type.

    `epilogue`, made by `fuse` for a GPU, is applied to the sum before it is rounded. GELU is in its tanh form.
    `gelu`: the result is GELU of the sum; `extra` is the sum itself. `gelu_grad`: the result is the sum times the
    derivative of GELU at `aux`; `extra` is the result summed over the axes that `extra` lacks, the gradient of a
    bias.

    C1: `lhs` and `rhs` have one element type; or both have fp8 types (e4m3, e5m2), and the result is f32.
    C2: operands that share an axis agree in its size.
    C3: both operands have each axis of `over`.
    C4: the axes of the result are the other axes of the operands.
    C5: `init` has the type of the result.
    C6: the axes of `bias` are among the result's.
    C7: without an epilogue there are neither `aux` nor `extra`.
    C8: with an epilogue there is no `init`.
    C9: `gelu` has no `aux`, and its `extra` has the result's type.
    C10: `gelu_grad` has `aux` of the result's type and no `bias`; the axes of its `extra` are among the result's, and
    so is its element type.
  }];
  let arguments = (ins Tsr_FloatTensor:$lhs, Tsr_FloatTensor:$rhs, Optional<Tsr_FloatTensor>:$init,
                       Optional<Tsr_FloatTensor>:$bias,
                   Optional<Tsr_FloatTensor>:$aux, StrArrayAttr:$over, OptionalAttr<Tsr_EpilogueAttr>:$epilogue);
  let results = (outs Tsr_FloatTensor:$result, Optional<Tsr_FloatTensor>:$extra);
  let assemblyFormat = [{
    $lhs `,` $rhs `over` custom<Names>($over) (`init` $init^)? (`bias` $bias^)? (`epilogue` `` $epilogue^ (`aux`
    $aux^)?)? `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "NamedTensorType":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 "::mlir::ArrayAttr":$over), [{
    build($_builder, $_state, result, ::mlir::Type(), lhs, rhs, ::mlir::Value(), ::mlir::Value(), ::mlir::Value(),
        over, EpilogueAttr());
  }]>];
  let extraClassDeclaration = [{
    /// The type of the result; `extra` may have another one.
    NamedTensorType getType() { return getResult().getType(); }
    unsigned getNumFactors() { return 2; }
  }];
}

def Tsr_ReduceOp
    : Tsr_PureOp<"reduce", [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>,
                            DeclareOpInterfaceMethods<Tsr_DivisibleInterface, ["getDivision"]>]> {
  let summary = "sum, maximum or minimum over named axes";
  let description = [{
    At a tie the gradient of `max` and `min` is shared equally. `maxnum` is the maximum of the elements that are not
    NaN, and -inf if there are none. Booleans are cast before they are summed.

    C1: the operand has each axis of `over`, and no fp8 type. C2: the result has its other axes. C3: both have one
    element type.
  }];
  let arguments = (ins Tsr_ReduceKindAttr:$kind, Tsr_NumberTensor:$x, StrArrayAttr:$over);
  let results = (outs Tsr_NumberTensor:$result);
  let assemblyFormat = [{
    `` $kind $x `over` custom<Names>($over) `` custom<Notes>(attr-dict) `:` custom<ReduceTypes>(ref($over),
    type($x), type($result))
  }];
  let hasVerifier = 1;
}

def Tsr_BroadcastOp
    : Tsr_PureOp<"broadcast", [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>,
                               Tsr_DivisibleInterface, Tsr_PointwiseIdentity, Tsr_IsReshape, Tsr_MovesElements,
                               Tsr_HasNoArithmetic]> {
  let summary = "repeats the elements along new axes";
  let description = "C1: the result has all axes of the operand, in their sizes. C2: both have one element type.";
  let arguments = (ins Tsr_Tensor:$x);
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Axis operations
//===----------------------------------------------------------------------===//

class Tsr_AxisOp<string opMnemonic, list<Trait> traits = []>
    : Tsr_PureOp<opMnemonic, [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>] # traits> {
  let results = (outs Tsr_Tensor:$result);
  let hasVerifier = 1;
}
class Tsr_MoveOp<string opMnemonic, list<Trait> traits = []>
    : Tsr_AxisOp<opMnemonic, [Tsr_IndexTransform, Tsr_MovesElements, Tsr_HasNoArithmetic] # traits>;

def Tsr_RenameOp : Tsr_MoveOp<"rename", [Tsr_IsReshape]> {
  let summary = "gives axes other names";
  let description = [{
    `from[i]` becomes `to[i]`; all at once, so names may be swapped.

    C1: there are as many names in `to` as in `from`. C2: the operand has each axis of `from`. C3: names stay unique.
    C4: sizes and the element type stay.
  }];
  let arguments = (ins Tsr_Tensor:$x, StrArrayAttr:$from, StrArrayAttr:$to);
  let assemblyFormat = [{
    $x custom<Names>($from) `to` custom<Names>($to) `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_SplitOp : Tsr_MoveOp<"split", [Tsr_IsReshape]> {
  let summary = "splits an axis into several, major first";
  let description = "C1: the product of the sizes is that of the axis. C2: other axes, and the element type, stay.";
  let arguments = (ins Tsr_Tensor:$x, StrAttr:$axis, StrArrayAttr:$into);
  let assemblyFormat = [{
    $x custom<Name>($axis) `into` custom<Names>($into) `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_MergeOp : Tsr_MoveOp<"merge", [Tsr_IsReshape]> {
  let summary = "merges axes into one, major first";
  let description = "C1: the size is the product of the sizes. C2: other axes, and the element type, stay.";
  let arguments = (ins Tsr_Tensor:$x, StrArrayAttr:$axes, StrAttr:$into);
  let assemblyFormat = [{
    $x custom<Names>($axes) `into` custom<Name>($into) `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_ReorderOp
    : Tsr_AxisOp<"reorder", [DeclareOpInterfaceMethods<Tsr_ElementwiseInterface>, Tsr_DivisibleInterface,
                             Tsr_PointwiseIdentity, Tsr_Linear, Tsr_PassesRoundingErrors, Tsr_HasNoArithmetic]> {
  let summary = "the same elements in another memory order";
  let description = "Made by `layout`; before it there are none. C1: axes, their sizes and the element type stay.";
  let arguments = (ins Tsr_Tensor:$x);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)";
}
def Tsr_SliceOp : Tsr_MoveOp<"slice"> {
  let summary = "elements offset, offset + 1, … of an axis; as many as the result has";
  let description = [{
    C1: both have the axis, and the range is within the operand's. C2: other axes, and the element type, stay.
  }];
  let arguments = (ins Tsr_Tensor:$x, StrAttr:$axis, I64Attr:$offset);
  let assemblyFormat = [{
    $x custom<Name>($axis) `from` $offset `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_PadOp : Tsr_MoveOp<"pad"> {
  let summary = "places the operand at `offset` along an axis of zeros; adjoint of slice";
  let description = [{
    C1: both have the axis, and the range is within the result's. C2: other axes, and the element type, stay.
  }];
  let arguments = (ins Tsr_Tensor:$x, StrAttr:$axis, I64Attr:$offset);
  let assemblyFormat = [{
    $x custom<Name>($axis) `at` $offset `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_JoinOp : Tsr_PureOp<"join"> {
  let summary = "the operands one after the other along an axis; slices take it apart";
  let description = [{
    Made by `tsr-join`. Outside of kernels only: the operands are parts of the result's buffer, so the op copies
    nothing.

    C1: there is an operand. C2: operands and result have the axis, and the operands' sizes add up to the result's. C3:
    other axes, and the element type, are those of the result.
  }];
  let arguments = (ins Variadic<Tsr_Tensor>:$parts, StrAttr:$axis);
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = [{
    $parts `along` custom<Name>($axis) `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Position along the axis at which an operand begins.
    int64_t getStart(unsigned part);
  }];
}
def Tsr_GatherOp
    : Tsr_AxisOp<"gather", [Tsr_IndexTransform, Tsr_HasNoArithmetic,
                            DeclareOpInterfaceMethods<Tsr_DivisibleInterface, ["getDivision"]>]> {
  let summary = "reads at positions: `result[…] = x[axes[k] = indices[k][…]]`";
  let description = [{
    An index out of range reads the nearest element; a read with `else` is a gather under a select.

    C1: there is one index for each of `axes`. C2: `x` has each of `axes`. C3: the result's axes are the other axes of
    `x` and those of the indices; shared axes agree in size. C4: the element type stays.
  }];
  let arguments = (ins Tsr_Tensor:$x, Variadic<Tsr_IntTensor>:$indices, StrArrayAttr:$axes);
  let assemblyFormat = [{
    $x `[` custom<Names>($axes) `=` $indices `]` `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}
def Tsr_ScatterAddOp : Tsr_AxisOp<"scatter_add", [AttrSizedOperandSegments]> {
  let summary = "adjoint of gather: adds each update at its position; what is out of range is dropped";
  let description = [{
    Updates that meet at one position are added in row-major order of the updates' canonical axes, so the sum is
    deterministic. `init`, made by `fuse`, is what they are added to; zero without it.

    C1: there is one index for each of `axes`. C2: the result has each of `axes`. C3: the updates' axes are the other
    axes of the result and those of the indices; shared axes agree in size. C4: updates and result have one element
    type, no fp8 type. C5: `init` has the result's type.
  }];
  let arguments = (ins Tsr_NumberTensor:$updates, Variadic<Tsr_IntTensor>:$indices, Optional<Tsr_Tensor>:$init,
                       StrArrayAttr:$axes);
  let assemblyFormat = [{
    $updates `[` custom<Names>($axes) `=` $indices `]` (`init` $init^)? `` custom<Notes>(attr-dict) `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

class Tsr_CompositeOp<string opMnemonic, list<Trait> traits = []>
    : Tsr_PureOp<opMnemonic, [DeclareOpInterfaceMethods<Tsr_AdjointInterface>,
        DeclareOpInterfaceMethods<Tsr_DecomposeInterface>, Tsr_Approximated] # traits> {
  let hasVerifier = 1;
}

def Tsr_SoftmaxOp
    : Tsr_CompositeOp<"softmax", [AllTypesMatch<["x", "result"]>, Tsr_RoundingSensitive,
                                  DeclareOpInterfaceMethods<Tsr_DivisibleInterface, ["getDivision"]>]> {
  let summary = "exp(x - max) / sum(exp(x - max)) over an axis; 0 in a row that is -inf throughout";
  let description = "C1: the operand has the axis, and no fp8 type.";
  let arguments = (ins Tsr_FloatTensor:$x, StrAttr:$axis);
  let results = (outs Tsr_FloatTensor:$result);
  let assemblyFormat = "$x `over` custom<Name>($axis) `` custom<Notes>(attr-dict) `:` type($x)";
}

def Tsr_LayerNormOp
    : Tsr_CompositeOp<"layer_norm", [AllTypesMatch<["x", "result"]>,
                                     DeclareOpInterfaceMethods<Tsr_DivisibleInterface, ["getDivision"]>]> {
  let summary = "(x - mean) * rstd over axes, with rstd = 1 / sqrt(variance + epsilon)";
  let description = [{
    The variance is the mean of squared distances (biased). The backward pass reads `rstd`.

    C1: the operand has each axis of `over`, and no fp8 type. C2: `rstd` has its other axes.
  }];
  let arguments = (ins Tsr_FloatTensor:$x, StrArrayAttr:$over, F64Attr:$epsilon);
  let results = (outs Tsr_FloatTensor:$result, Tsr_FloatTensor:$rstd);
  let assemblyFormat = [{
    $x `over` custom<Names>($over) `epsilon` $epsilon `` custom<Notes>(attr-dict) `:` type($x) `,` type($rstd)
  }];
}

def Tsr_CrossEntropyOp
    : Tsr_CompositeOp<"cross_entropy", [DeclareOpInterfaceMethods<Tsr_DivisibleInterface, ["getDivision"]>]> {
  let summary = "log(sum(exp(logits))) - logits[axis = label]";
  let description = [{
    In nats. The backward pass computes the probabilities again, as exp(logits - shift) * inverseSum. `shift` is the
    largest logit of each row, or 0 where all are -inf; `inverseSum` is 1 / sum(exp(logits - shift)). The log-sum-exp
    alone would not do: beside a large `shift` its rounding leaves nothing of log(sum).

    C1: the logits have the axis. C2: the results have one type. C3: their axes are the other axes of the logits and
    those of the label.
  }];
  let arguments = (ins Tsr_FloatTensor:$logits, Tsr_IntTensor:$label, StrAttr:$axis);
  let results = (outs Tsr_FloatTensor:$loss, Tsr_FloatTensor:$shift, Tsr_FloatTensor:$inverseSum);
  let assemblyFormat = [{
    $logits `,` $label `over` custom<Name>($axis) `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}

def Tsr_AttentionOp : Tsr_CompositeOp<"attention", [IsolatedFromAbove, SingleBlock, Tsr_MultiplyInterface]> {
  let summary = "softmax over `key` of score(q · k), contracted with v";
  let description = [{
    The first region maps the scores q · k (contracted over `hidden`), and the `captures`, to the scores that softmax
    reads: scaling, causal masks, windows, ALiBi, soft caps. The backward pass reads `shift` and `inverseSum` of each
    row, as that of `cross_entropy` does. In a row that is wholly masked (-inf) all exponentials and the output are 0;
    `inverseSum` is 1 there. The second region, if there is one, maps the probabilities and the captures to the weights
    of the values: dropout. The weights are multiples of the probabilities, element by element, by what does not depend
    on them.

    q, k, v and the result may have a low-precision type. Scores, `shift` and `inverseSum` have the regions' type, in
    which softmax is computed; the weights are rounded to the type of v.

    C1: the first region takes the scores and the captures. C2: the scores have the axis `key`. C3: it yields scores
    of that type.
    C4: the second region takes and yields the same types. C5: `shift` and `inverseSum` have one type.
  }];
  let arguments = (ins Tsr_FloatTensor:$q, Tsr_FloatTensor:$k, Tsr_FloatTensor:$v, Variadic<Tsr_Tensor>:$captures,
                       StrArrayAttr:$hidden, StrAttr:$key);
  let results = (outs Tsr_FloatTensor:$result, Tsr_FloatTensor:$shift, Tsr_FloatTensor:$inverseSum);
  let regions = (region SizedRegion<1>:$score, AnyRegion:$weight);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`captures` $captures^)? `hidden` custom<Names>($hidden) `key` custom<Name>($key) ``
    custom<Notes>(attr-dict) `:` functional-type(operands, results) $score (`weight` $weight^)?
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumFactors() { return 3; }
    /// Inlines one of the regions, applied to `x` and the captures, at the builder's insertion point; its ops are
    /// appended to `ops`. An absent region leaves `x` as it is.
    ::mlir::Value inlineRegion(GraphBuilder &builder, ::mlir::Region &region, ::mlir::Value x,
        ::llvm::SmallVectorImpl<::mlir::Operation *> *ops = nullptr);
  }];
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Tsr_StateOp : Tsr_Op<"state", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "an entry of the state table: what a checkpoint holds";
  let description = [{
    The path (`h.attn.wq`) names a checkpoint's entry; it is no symbol, since a parameter may be called `step` like
    the entry function. Kinds: weight, bias, gain (parameters), state (declared and assigned by the model), moment
    (optimizer state), counter (`step`: i32, `seed`: i64), scale (the largest magnitude in a tensor, from which its
    scale follows). `order` lists the axes as
    files have them, outermost first: axes of enclosing repeats, then as the model declares them. Without it, files
    have canonical order. Entry functions take and return state by arguments and results tagged `tsr.state =
    @path`.
  }];
  let arguments = (ins SymbolNameAttr:$path, StrAttr:$kind, TypeAttrOf<Tsr_Tensor>:$type,
                       OptionalAttr<Tsr_PlaceAttr>:$place,
                       OptionalAttr<StrArrayAttr>:$order);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$path, "::llvm::StringRef":$kind, "NamedTensorType":$type,
                                 "PlaceAttr":$place), [{
    build($_builder, $_state, $_builder.getStringAttr(path), $_builder.getStringAttr(kind),
        ::mlir::TypeAttr::get(type), place, ::mlir::ArrayAttr());
  }]>];
  let assemblyFormat = [{
    $path $kind $type (`order` custom<Names>($order)^)? (`at` $place^)? `` custom<Notes>(attr-dict)
  }];
  let extraClassDeclaration = [{
    NamedTensorType getTensorType() { return ::llvm::cast<NamedTensorType>(getType()); }
    bool isParameter() { return getKind() == "weight" || getKind() == "bias" || getKind() == "gain"; }
  }];
}

def Tsr_YieldOp : Tsr_Op<"yield", [Pure, Terminator, ReturnLike, Tsr_HasNoArithmetic,
    ParentOneOf<["AttentionOp", "KernelOp", "RepeatOp", "TiledOp"]>]> {
  let summary = "ends the region of a repeat, an attention, a kernel or a tiled op";
  let arguments = (ins Variadic<Tsr_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tsr_RepeatOp
    : Tsr_PureOp<"repeat", [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
      DeclareOpInterfaceMethods<Tsr_AdjointInterface>, Tsr_HasNoArithmetic]> {
  let summary = "a stack of equal layers: a loop along an axis";
  let description = [{
    Runs the region for i = 0 … size - 1 of `axis` (from the last to the first where `reverse` is set). Region
    arguments: the induction value (i32 scalar), the carried values, one slice of each sliced operand (its type
    without `axis`, at position i), the invariants. It yields the next carried values, then the values to stack.
    Results: the carried values after the last iteration, then the stacked values (their type with `axis` added).

    C1: the region has an argument for each operand, and the induction value. C2: carried and invariant arguments have
    their operands' types. C3: a sliced operand has `axis`, and its argument has the type without it. C4: each result
    is yielded. C5: a carried value does not change its type. C6: a stacked result has the type of the yielded value,
    with `axis`.
  }];
  let arguments = (ins Tsr_AxisAttr:$axis, UnitAttr:$reverse, Variadic<Tsr_Tensor>:$carried,
                       Variadic<Tsr_Tensor>:$sliced, Variadic<Tsr_Tensor>:$invariants,
                       OptionalAttr<ArrayAttr>:$argPlaces);
  let results = (outs Variadic<Tsr_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::BlockArgument getInduction() { return getBlock().getArgument(0); }
    ::mlir::ValueRange getCarriedArgs() { return getBlock().getArguments().slice(1, getCarried().size()); }
    ::mlir::ValueRange getSlicedArgs() { return getBlock().getArguments().slice(1 + getCarried().size(),
        getSliced().size()); }
    ::mlir::ValueRange getInvariantArgs() { return getBlock().getArguments().take_back(getInvariants().size()); }
    YieldOp getYield();
    ::mlir::ValueRange getCarriedResults() { return getResults().take_front(getCarried().size()); }
    ::mlir::ValueRange getStackedResults() { return getResults().drop_front(getCarried().size()); }
  }];
}

def Tsr_KernelOp : Tsr_PureOp<"kernel", [IsolatedFromAbove, SingleBlock]> {
  let summary = "ops that run as one generated loop nest";
  let description = [{
    Made by `fuse`, consumed by code generation. The region is a plain subgraph over tensors: block arguments are the
    operands in memory, yielded values are stored, all values between stay in registers. `parallel` are the axes of
    the loops that are distributed over threads, outermost first; `serial` the axes of the inner loops, over which all
    reductions of the kernel reduce; `vector` is the axis along which the code is vectorised (one of either), absent
    for scalar code.

    C1: the region has an argument for each operand, of its type. C2: it yields a value for each result, of its type.
    `fuse` verifies that its ops have the trait MayBeInKernel.
  }];
  let arguments = (ins StrAttr:$name, Variadic<Tsr_Tensor>:$inputs, StrArrayAttr:$parallel, StrArrayAttr:$serial,
                       OptionalAttr<StrAttr>:$vector);
  let results = (outs Variadic<Tsr_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// Region arguments print as %a, %b, …
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setName) { nameArguments(region,
        setName); }
  }];
}

def Tsr_TiledOp : Tsr_PureOp<"tiled", [IsolatedFromAbove, SingleBlock]> {
  let summary = "contractions and kernels that run for some rows of a matrix at a time";
  let description = [{
    Made by `tile`, consumed by code generation. The region is a plain subgraph over whole tensors: its meaning does
    not depend on how it is executed. Its matrices (values with the axes `batch`, then `rows`, then `columns`, such as
    the scores of an attention) are computed, read and discarded a block of rows at a time; they are never
    materialised. The batch axes in `parallel` are distributed over threads; those in `serial` are inner loops, since
    results are summed over them. All other values in the region have all of `parallel`.

    `lower` and `upper` are the band: only elements with lower ≤ column - row ≤ upper affect a result, and no others
    need be computed. No limit where absent.

    C1: the region has an argument for each operand, of its type. C2: it yields a value for each result, of its type.
  }];
  let arguments = (ins StrAttr:$name, Variadic<Tsr_Tensor>:$inputs, StrArrayAttr:$parallel, StrArrayAttr:$serial,
                       StrAttr:$rows,
                       StrAttr:$columns, OptionalAttr<SI64Attr>:$lower, OptionalAttr<SI64Attr>:$upper);
  let results = (outs Variadic<Tsr_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// Region arguments print as %a, %b, …
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setName) { nameArguments(region,
        setName); }
    /// Elements of a matrix that count, of `rows` times `columns`.
    int64_t countedElements(int64_t rows, int64_t columns);
  }];
}

#endif // TSR_OPS_TD
