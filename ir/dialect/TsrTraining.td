//===- TsrTraining.td - gradients, updates, the backward pass -------------===//

#ifndef TSR_TRAINING_TD
#define TSR_TRAINING_TD

include "ir/dialect/TsrElementwise.td"

//===----------------------------------------------------------------------===//
// Training: `gradient` and `stop` until `differentiate`, `clip` and `update` until `optimize`
//===----------------------------------------------------------------------===//

def Tsr_GradientOp : Tsr_Op<"gradient", [Pure]> {
  let summary = "gradients of a scalar with respect to values of the same block";
  let description = [{
    Made by `parse`, replaced by `differentiate`. C1: there is one result for each value of `wrt`, of its type.
  }];
  let arguments = (ins Tsr_Scalar:$loss, Variadic<Tsr_FloatTensor>:$wrt);
  let results = (outs Variadic<Tsr_FloatTensor>:$gradients);
  let assemblyFormat = "$loss `wrt` `(` $wrt `)` `` custom<Notes>(attr-dict) `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tsr_StopOp : Tsr_ArithmeticOp<"stop", [AllTypesMatch<["x", "result"]>]> {
  let summary = "the operand, without a gradient";
  let description = [{
    Made by `parse`, replaced by its operand by `differentiate`. It has no adjoint: through it, the result does not
    depend on what the operand depends on. No pass before `differentiate` may remove it.
  }];
  let arguments = (ins Tsr_FloatTensor:$x);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x)";
  let extraClassDefinition = resultNames # verifyArithmetic;
}

def Tsr_ClipOp : Tsr_Op<"clip", [Pure, AttrSizedOperandSegments]> {
  let summary = "scales all gradients by min(1, limit / global norm)";
  let description = [{
    Made by `parse`, replaced by `optimize`. Results: the clipped gradients, then their global norm (the square root
    of the sum of all squares, before clipping). Without a `limit` operand the gradients pass as they are and only the
    norm is computed. `unscale`, the reciprocal of a loss scale, is a factor of all gradients, the norm's too.
  }];
  let arguments = (ins Variadic<Tsr_FloatTensor>:$gradients, Optional<Tsr_Scalar>:$limit,
                       Optional<Tsr_Scalar>:$unscale);
  let results = (outs Variadic<Tsr_FloatTensor>:$clipped, Tsr_Scalar:$norm);
  let assemblyFormat = [{
    `(` $gradients `)` (`limit` $limit^)? (`unscale` $unscale^)? `` custom<Notes>(attr-dict) `:`
    functional-type(operands, results)
  }];
}

def Tsr_UpdateOp : Tsr_Op<"update", [Pure]> {
  let summary = "the update of one parameter by an optimizer";
  let description = [{
    Made by `parse`, replaced by `optimize`, which also adds the optimizer's state. `rule` is an entry of the table in
    `ir/optimizer/OptimizerRules.cpp`. `values` are its arguments that are scalars, in any order, named by `names`; an
    absent one is 0. `flags` are its flags that are set; they print as keywords after the state. `step` is the number
    of finished steps (i32), `norm` the global gradient norm: if it is not finite, the parameter does not change.
  }];
  let arguments = (ins StrAttr:$rule, FlatSymbolRefAttr:$state, OptionalAttr<StrArrayAttr>:$flags,
                       Tsr_FloatTensor:$parameter, Tsr_FloatTensor:$gradient, Tsr_Scalar:$step, Tsr_Scalar:$norm,
                       Variadic<Tsr_Scalar>:$values, StrArrayAttr:$names);
  let results = (outs Tsr_FloatTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $rule $state `` custom<Flags>($flags) $parameter `gradient` $gradient `step` $step `norm` $norm
    custom<RuleArguments>($names) `(` $values `)` `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// The backward pass: from `differentiate` until `fuse`
//===----------------------------------------------------------------------===//

def Tsr_SeedOp : Tsr_PureOp<"seed"> {
  let summary = "the gradient of the loss with respect to itself: 1";
  let description = [{
    Made by `differentiate`. With a loss scale, `precision` multiplies it by the scale. `fuse` replaces
    it by a constant. Until then it is an op of its own, by which `precision` finds where the backward pass begins.
  }];
  let results = (outs Tsr_Scalar:$result);
  let assemblyFormat = "`` custom<Notes>(attr-dict) `:` type($result)";
}

#endif // TSR_TRAINING_TD
