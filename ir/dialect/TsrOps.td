//===- TsrOps.td - operations of the tsr dialect --------------------------===//
//
// Elementwise ops stand in TsrElementwise.td.
//
//===----------------------------------------------------------------------===//

#ifndef TSR_OPS_TD
#define TSR_OPS_TD

include "ir/dialect/TsrElementwise.td"

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def Tsr_ConstantOp : Tsr_PureOp<"constant", [ConstantLike, Tsr_MayBeInKernel]> {
  let summary = "the same number everywhere";
  let description = "The attribute is a float or integer attribute of the result's element type.";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = "custom<Splat>($value, attr-dict, type($result))";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = "/// The number, whatever its type.\n double getNumber();";
}

def Tsr_IndexOp : Tsr_PureOp<"index", [Tsr_MayBeInKernel]> {
  let summary = "the position along an axis: 0, 1, 2, …";
  let description = "The result has exactly one axis and element type i32.";
  let results = (outs Tsr_IntTensor:$result);
  let assemblyFormat = "`` custom<Notes>(attr-dict) `:` type($result)";
  let hasVerifier = 1;
}

def Tsr_RandomOp : Tsr_PureOp<"random", [Tsr_MayBeInKernel, Tsr_Approximated]> {
  let summary = "counter-based random numbers (Philox 4x32-10)";
  let description = [{
    Each element depends on `seed`, `step`, `site`, `salts` and its index (row-major in canonical order of the axes)
    only, so the numbers are the same under any layout, fusion, recomputation and sharding. `site` is a stable number from the
    parser; `salts` are the induction values of the enclosing repeats. `canonical` lists the axes in the order that
    counts for the index: as declared for initial values; `layout` sets it where it is not set.

    key = (low, high word of seed); counter = (low, high word of the index, step, mix(site, salts)), where mix folds
    `h = (h ^ salt) * 0x9E3779B1 + 0x7F4A7C15` over the salts, outermost repeat first, starting with `h = site`. uniform: `(w0 >> 8) * 2^-24`, in [0, 1). normal:
    Box-Muller, `sqrt(-2 ln(((w0 >> 8) + 1) * 2^-24)) * cos(2 pi (w1 >> 8) * 2^-24)`.
    CSE never merges two draws of different sites.
  }];
  let arguments = (ins Tsr_DistributionAttr:$distribution, I32Attr:$site, Tsr_Scalar:$seed, Tsr_Scalar:$step, Variadic<Tsr_Scalar>:$salts,
                       OptionalAttr<StrArrayAttr>:$canonical);
  let results = (outs Tsr_FloatTensor:$result);
  let assemblyFormat = [{
    `` $distribution `site` $site `seed` $seed `step` $step (`salts` $salts^)? (`canonical`
    custom<Names>($canonical)^)? `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, broadcast
//===----------------------------------------------------------------------===//

def Tsr_ContractOp : Tsr_PureOp<"contract", [DeclareOpInterfaceMethods<Tsr_AdjointInterface>, DeclareOpInterfaceMethods<Tsr_CostInterface>, AttrSizedOperandSegments,
                                               Tsr_MakesNonFinite]> {
  let summary = "sum of products over named axes";
  let description = [{
    `result = init + sum over "over" of lhs * rhs`. The axes summed over are in both operands; every other axis of an operand is in the
    result. `init` (of the result's type) and `bias` (whose axes are among the result's) are added by `fuse`; before it there are none.
    Operands of a low type (bf16, f16) are multiplied exactly and added up in f32; the sum, with `init` and `bias`, is rounded once, to
    the result's type: theirs or f32. Operands of eight bits may have two types (e4m3, e5m2); the result is f32.

    `epilogue` (made by `fuse` for a GPU; then there is no `init`) says what becomes of the sum before it is rounded, with GELU in its
    tanh form. `gelu`: the result is GELU of the sum; `extra`, if it is there, is the sum itself. `gelu_grad`: the result is the sum times
    the derivative of GELU at `aux`, which has the result's type; `extra`, if it is there, is the result summed over the axes that
    `extra` lacks: the gradient of a bias.
  }];
  let arguments = (ins Tsr_FloatTensor:$lhs, Tsr_FloatTensor:$rhs, Optional<Tsr_FloatTensor>:$init, Optional<Tsr_FloatTensor>:$bias,
                   Optional<Tsr_FloatTensor>:$aux, StrArrayAttr:$over, OptionalAttr<Tsr_EpilogueAttr>:$epilogue);
  let results = (outs Tsr_FloatTensor:$result, Optional<Tsr_FloatTensor>:$extra);
  let assemblyFormat = [{
    $lhs `,` $rhs `over` custom<Names>($over) (`init` $init^)? (`bias` $bias^)? (`epilogue` `` $epilogue^ (`aux`
    $aux^)?)? `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "NamedTensorType":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::ArrayAttr":$over), [{
    build($_builder, $_state, result, ::mlir::Type(), lhs, rhs, ::mlir::Value(), ::mlir::Value(), ::mlir::Value(), over, EpilogueAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Of the result, not of `extra`.
    NamedTensorType getType() { return getResult().getType(); }
  }];
}

def Tsr_ReduceOp : Tsr_PureOp<"reduce", [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>]> {
  let summary = "sum, maximum or minimum over named axes";
  let description = "At a tie the gradient of max and min is shared equally. `maxnum` is the largest number: NaN do not count, and without numbers it is -inf. Sums of i1 are not allowed: cast first.";
  let arguments = (ins Tsr_ReduceKindAttr:$kind, Tsr_NumberTensor:$x, StrArrayAttr:$over);
  let results = (outs Tsr_NumberTensor:$result);
  let assemblyFormat = [{
    `` $kind $x `over` custom<Names>($over) `` custom<Notes>(attr-dict) `:` custom<ReduceTypes>(ref($over),
    type($x), type($result))
  }];
  let hasVerifier = 1;
}

def Tsr_BroadcastOp : Tsr_PureOp<"broadcast", [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>]> {
  let summary = "repeats the values along new axes";
  let arguments = (ins Tsr_Tensor:$x);
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Axis operations
//===----------------------------------------------------------------------===//

class Tsr_AxisOp<string opMnemonic, list<Trait> traits = []> : Tsr_PureOp<opMnemonic, [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>] # traits> {
  let results = (outs Tsr_Tensor:$result);
  let hasVerifier = 1;
}

def Tsr_RenameOp : Tsr_AxisOp<"rename"> {
  let summary = "gives axes other names";
  let description = "`from[i]` becomes `to[i]`; all at once, so names may be swapped.";
  let arguments = (ins Tsr_Tensor:$x, StrArrayAttr:$from, StrArrayAttr:$to);
  let assemblyFormat = [{
    $x custom<Names>($from) `to` custom<Names>($to) `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_SplitOp : Tsr_AxisOp<"split"> {
  let summary = "splits an axis into several, major first";
  let arguments = (ins Tsr_Tensor:$x, StrAttr:$axis, StrArrayAttr:$into);
  let assemblyFormat = [{
    $x custom<Name>($axis) `into` custom<Names>($into) `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_MergeOp : Tsr_AxisOp<"merge"> {
  let summary = "merges axes into one, major first";
  let arguments = (ins Tsr_Tensor:$x, StrArrayAttr:$axes, StrAttr:$into);
  let assemblyFormat = [{
    $x custom<Names>($axes) `into` custom<Name>($into) `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_ReorderOp : Tsr_AxisOp<"reorder", [DeclareOpInterfaceMethods<Tsr_ElementwiseInterface>, Tsr_Linear, Tsr_PassesLogits]> {
  let summary = "the same values in another memory order";
  let description = "Made by `layout`; before it there are none.";
  let arguments = (ins Tsr_Tensor:$x);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)";
}
def Tsr_SliceOp : Tsr_AxisOp<"slice"> {
  let summary = "elements offset, offset + 1, … of an axis; as many as the result has";
  let arguments = (ins Tsr_Tensor:$x, StrAttr:$axis, I64Attr:$offset);
  let assemblyFormat = [{
    $x custom<Name>($axis) `from` $offset `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_PadOp : Tsr_AxisOp<"pad"> {
  let summary = "lays the operand at `offset` along an axis of zeros; adjoint of slice";
  let arguments = (ins Tsr_Tensor:$x, StrAttr:$axis, I64Attr:$offset);
  let assemblyFormat = [{
    $x custom<Name>($axis) `at` $offset `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
}
def Tsr_GatherOp : Tsr_AxisOp<"gather"> {
  let summary = "reads at positions: `result[…] = x[axes[k] = indices[k][…]]`";
  let description = [{
    The result's axes are those of `x` that are not read at positions, and those of the indices; shared axes align.
    An index out of range reads the nearest element; a read with `else` is a gather under a select.
  }];
  let arguments = (ins Tsr_Tensor:$x, Variadic<Tsr_IntTensor>:$indices, StrArrayAttr:$axes);
  let assemblyFormat = [{
    $x `[` custom<Names>($axes) `=` $indices `]` `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}
def Tsr_ScatterAddOp : Tsr_AxisOp<"scatter_add", [AttrSizedOperandSegments]> {
  let summary = "adjoint of gather: adds each update at its position; what is out of range is dropped";
  let description = [{
    Updates that meet at one position are added in row-major order of the updates' canonical axes, so the sum is deterministic.
    `init`, of the result's type, is what they are added to: made by `fuse`; zero without it.
  }];
  let arguments = (ins Tsr_NumberTensor:$updates, Variadic<Tsr_IntTensor>:$indices, Optional<Tsr_Tensor>:$init, StrArrayAttr:$axes);
  let assemblyFormat = [{
    $updates `[` custom<Names>($axes) `=` $indices `]` (`init` $init^)? `` custom<Notes>(attr-dict) `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

class Tsr_CompositeOp<string opMnemonic, list<Trait> traits = []>
    : Tsr_PureOp<opMnemonic, [DeclareOpInterfaceMethods<Tsr_AdjointInterface>, DeclareOpInterfaceMethods<Tsr_DecomposeInterface>, Tsr_Approximated] # traits> {
  let hasVerifier = 1;
}

def Tsr_SoftmaxOp : Tsr_CompositeOp<"softmax", [AllTypesMatch<["x", "result"]>, Tsr_RoundingSensitive]> {
  let summary = "exp(x - max) / sum(exp(x - max)) over an axis; 0 in a row that is -inf throughout";
  let arguments = (ins Tsr_FloatTensor:$x, StrAttr:$axis);
  let results = (outs Tsr_FloatTensor:$result);
  let assemblyFormat = "$x `over` custom<Name>($axis) `` custom<Notes>(attr-dict) `:` type($x)";
}

def Tsr_LayerNormOp : Tsr_CompositeOp<"layer_norm", [AllTypesMatch<["x", "result"]>]> {
  let summary = "(x - mean) * rstd over axes, with rstd = 1 / sqrt(variance + epsilon)";
  let description = "The variance is the mean of squared distances (biased). `rstd` is kept for the backward pass.";
  let arguments = (ins Tsr_FloatTensor:$x, StrArrayAttr:$over, F64Attr:$epsilon);
  let results = (outs Tsr_FloatTensor:$result, Tsr_FloatTensor:$rstd);
  let assemblyFormat = [{
    $x `over` custom<Names>($over) `epsilon` $epsilon `` custom<Notes>(attr-dict) `:` type($x) `,` type($rstd)
  }];
}

def Tsr_CrossEntropyOp : Tsr_CompositeOp<"cross_entropy"> {
  let summary = "log(sum(exp(logits))) - logits[axis = label]";
  let description = "In nats. `lse`, the log-sum-exp, is kept for the backward pass.";
  let arguments = (ins Tsr_FloatTensor:$logits, Tsr_IntTensor:$label, StrAttr:$axis);
  let results = (outs Tsr_FloatTensor:$loss, Tsr_FloatTensor:$lse);
  let assemblyFormat = [{
    $logits `,` $label `over` custom<Name>($axis) `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}

def Tsr_AttentionOp : Tsr_CompositeOp<"attention", [IsolatedFromAbove, SingleBlock]> {
  let summary = "softmax over `key` of score(q · k), contracted with v";
  let description = [{
    The region maps the scores q · k (contracted over `hidden`), and the `captures`, to the scores that softmax
    sees: scaling, causal masks, windows, ALiBi, soft caps. `lse`, the log-sum-exp of each row, is kept for the backward pass (-inf in a row
    that is wholly masked, whose output is 0).
    The second region, if there is one, maps the probabilities and the captures to the weights of the values: dropout. The weights are
    multiples of the probabilities, element by element, by what does not depend on them.

    q, k, v and the result may have a low type. Scores and `lse` have the regions' type, in which softmax is computed; the weights are
    rounded to the type of v.
  }];
  let arguments = (ins Tsr_FloatTensor:$q, Tsr_FloatTensor:$k, Tsr_FloatTensor:$v, Variadic<Tsr_Tensor>:$captures, StrArrayAttr:$hidden, StrAttr:$key);
  let results = (outs Tsr_FloatTensor:$result, Tsr_FloatTensor:$lse);
  let regions = (region SizedRegion<1>:$score, AnyRegion:$weight);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`captures` $captures^)? `hidden` custom<Names>($hidden) `key` custom<Name>($key) ``
    custom<Notes>(attr-dict) `:` functional-type(operands, results) $score (`weight` $weight^)?
  }];
  let extraClassDeclaration = [{
    /// What one of the regions makes of `x` and the captures, written out at the builder's insertion point; its ops are appended
    /// to `ops`. An absent region leaves `x` as it is.
    ::mlir::Value writeOut(GraphBuilder &builder, ::mlir::Region &region, ::mlir::Value x, ::llvm::SmallVectorImpl<::mlir::Operation *> *ops = nullptr);
  }];
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Tsr_StateOp : Tsr_Op<"state"> {
  let summary = "an entry of the state table: what a checkpoint holds";
  let description = [{
    The path (`h.attn.wq`) names a checkpoint's entry; it is no symbol, since a parameter may be called `step` like the entry function. Kinds: weight, bias, gain (parameters), moment (optimizer state), counter
    (`step`: i32, `seed`: i64), scale (the largest number of a tensor, from which its scale follows). `order` lists the axes as files have them, outermost first: as the model declares them, axes of
    enclosing repeats in front; without it, files have canonical order. Entry functions take and return state by arguments and results tagged `tsr.state = @path`.
  }];
  let arguments = (ins SymbolNameAttr:$path, StrAttr:$kind, TypeAttrOf<Tsr_Tensor>:$type, OptionalAttr<Tsr_PlaceAttr>:$place,
                       OptionalAttr<StrArrayAttr>:$order);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$path, "::llvm::StringRef":$kind, "NamedTensorType":$type, "PlaceAttr":$place), [{
    build($_builder, $_state, $_builder.getStringAttr(path), $_builder.getStringAttr(kind), ::mlir::TypeAttr::get(type), place, ::mlir::ArrayAttr());
  }]>];
  let assemblyFormat = [{
    $path $kind $type (`order` custom<Names>($order)^)? (`at` $place^)? `` custom<Notes>(attr-dict)
  }];
  let extraClassDeclaration = [{
    NamedTensorType getTensorType() { return ::llvm::cast<NamedTensorType>(getType()); }
    bool isParameter() { return getKind() == "weight" || getKind() == "bias" || getKind() == "gain"; }
  }];
}

def Tsr_YieldOp : Tsr_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends the region of a repeat, an attention, a kernel or a tiled op";
  let arguments = (ins Variadic<Tsr_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tsr_RepeatOp : Tsr_PureOp<"repeat", [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments, DeclareOpInterfaceMethods<Tsr_AdjointInterface>]> {
  let summary = "a stack of equal layers: a loop along an axis";
  let description = [{
    Runs the region for i = 0 … size - 1 of `axis` (from the last to the first where `reverse` is set).
    Region arguments: the induction value (i32 scalar), the carried values, one slice of each sliced operand (its type
    without `axis`, at position i), the invariants. It yields the next carried values, then the values to stack.
    Results: the carried values after the last iteration, then the stacked values (their type with `axis`
    added). Sliced and stacked tensors have `axis`; nothing inside does.
  }];
  let arguments = (ins Tsr_AxisAttr:$axis, UnitAttr:$reverse, Variadic<Tsr_Tensor>:$carried, Variadic<Tsr_Tensor>:$sliced, Variadic<Tsr_Tensor>:$invariants,
                       OptionalAttr<ArrayAttr>:$argPlaces);
  let results = (outs Variadic<Tsr_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::mlir::BlockArgument getInduction() { return getBlock().getArgument(0); }
    ::mlir::ValueRange getCarriedArgs() { return getBlock().getArguments().slice(1, getCarried().size()); }
    ::mlir::ValueRange getSlicedArgs() { return getBlock().getArguments().slice(1 + getCarried().size(), getSliced().size()); }
    ::mlir::ValueRange getInvariantArgs() { return getBlock().getArguments().take_back(getInvariants().size()); }
    YieldOp getYield();
    ::mlir::ValueRange getCarriedResults() { return getResults().take_front(getCarried().size()); }
    ::mlir::ValueRange getStackedResults() { return getResults().drop_front(getCarried().size()); }
  }];
}

def Tsr_KernelOp : Tsr_PureOp<"kernel", [IsolatedFromAbove, SingleBlock]> {
  let summary = "ops that run as one generated loop nest";
  let description = [{
    Made by `fuse`, consumed by `emit`. The region is a plain subgraph over tensors: block arguments are the operands
    in memory, yielded values are written to memory, everything between lives in registers. `parallel` are the axes of the loops that
    are cut over threads, outermost first; `serial` the axes looped over inside, which all reductions of the kernel reduce;
    `vector` is the axis along which the code is vectorised (one of either), absent for scalar code.
  }];
  let arguments = (ins StrAttr:$name, Variadic<Tsr_Tensor>:$inputs, StrArrayAttr:$parallel, StrArrayAttr:$serial, OptionalAttr<StrAttr>:$vector);
  let results = (outs Variadic<Tsr_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// Region arguments print as %a, %b, …
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setName) { nameArguments(region, setName); }
  }];
}

def Tsr_TiledOp : Tsr_PureOp<"tiled", [IsolatedFromAbove, SingleBlock]> {
  let summary = "contractions and kernels that run for some rows of a matrix at a time";
  let description = [{
    Made by `tile`, consumed by `emit`. The region is a plain subgraph over whole tensors: what it means does not depend on how it
    runs. Its matrices (values with the axes `batch`, then `rows`, then `columns`, such as the scores of an attention) are made, read
    and dropped a block of rows at a time; they are never stored as a whole. The batch axes in `parallel` are cut over threads;
    those in `serial` are looped over inside, since results are summed over them. All else in the region has all of `parallel`.

    `lower` and `upper`: elements of matrices count only where lower ≤ column - row ≤ upper; elsewhere no result depends on them and
    none need be computed. No limit where absent.
  }];
  let arguments = (ins StrAttr:$name, Variadic<Tsr_Tensor>:$inputs, StrArrayAttr:$parallel, StrArrayAttr:$serial, StrAttr:$rows,
                       StrAttr:$columns, OptionalAttr<SI64Attr>:$lower, OptionalAttr<SI64Attr>:$upper);
  let results = (outs Variadic<Tsr_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// Region arguments print as %a, %b, …
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setName) { nameArguments(region, setName); }
    /// Elements of a matrix that count, of `rows` times `columns`.
    int64_t countedElements(int64_t rows, int64_t columns);
  }];
}

//===----------------------------------------------------------------------===//
// Training: gone after `differentiate` and `optimize`
//===----------------------------------------------------------------------===//

def Tsr_GradientOp : Tsr_Op<"gradient", [Pure]> {
  let summary = "gradients of a scalar with respect to values of the same block";
  let description = "Made by `parse`, replaced by `differentiate`. One result for each value of `wrt`, of its type.";
  let arguments = (ins Tsr_Scalar:$loss, Variadic<Tsr_FloatTensor>:$wrt);
  let results = (outs Variadic<Tsr_FloatTensor>:$gradients);
  let assemblyFormat = "$loss `wrt` `(` $wrt `)` `` custom<Notes>(attr-dict) `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tsr_SeedOp : Tsr_PureOp<"seed"> {
  let summary = "the gradient of the loss with respect to itself: 1";
  let description = "Left by `differentiate` so that loss scaling (`precision`) finds it.";
  let results = (outs Tsr_Scalar:$result);
  let assemblyFormat = "`` custom<Notes>(attr-dict) `:` type($result)";
}

def Tsr_ClipOp : Tsr_Op<"clip", [Pure, AttrSizedOperandSegments]> {
  let summary = "scales all gradients by min(1, limit / global norm)";
  let description = [{
    Made by `parse`, replaced by `optimize`. Results: the clipped gradients, then their global norm (the square root of the sum of all
    squares, before clipping). Without a `limit` operand the gradients pass as they are and only the norm is computed. `unscale`, the reciprocal of a
    loss scale, is a factor of all gradients, the norm's too.
  }];
  let arguments = (ins Variadic<Tsr_FloatTensor>:$gradients, Optional<Tsr_Scalar>:$limit, Optional<Tsr_Scalar>:$unscale);
  let results = (outs Variadic<Tsr_FloatTensor>:$clipped, Tsr_Scalar:$norm);
  let assemblyFormat = [{
    `(` $gradients `)` (`limit` $limit^)? (`unscale` $unscale^)? `` custom<Notes>(attr-dict) `:`
    functional-type(operands, results)
  }];
}

def Tsr_UpdateOp : Tsr_Op<"update", [Pure]> {
  let summary = "one optimizer step of one parameter";
  let description = [{
    Made by `parse`, replaced by `optimize`, which also adds the optimizer's state. `rule` is an entry of the table in
    `ir/optimizer/OptimizerRules.cpp`, `hypers` are the scalars that it takes, in any order, named by `names`; what is absent there is 0.
    `step` is the number of finished steps (i32), `norm` the global gradient norm: where it is not finite the parameter stays as it is.
  }];
  let arguments = (ins StrAttr:$rule, FlatSymbolRefAttr:$state, UnitAttr:$nesterov, Tsr_FloatTensor:$parameter, Tsr_FloatTensor:$gradient, Tsr_Scalar:$step, Tsr_Scalar:$norm,
                       Variadic<Tsr_Scalar>:$hypers, StrArrayAttr:$names);
  let results = (outs Tsr_FloatTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $rule $state (`nesterov` $nesterov^)? $parameter `gradient` $gradient `step` $step `norm` $norm `hypers`
    custom<Names>($names) `(` $hypers `)` `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}

#endif // TSR_OPS_TD
