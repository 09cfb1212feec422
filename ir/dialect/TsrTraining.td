//===- TsrTraining.td - gradients and updates -----------------------------===//
//
// `parse` makes these ops, `differentiate` and `optimize` replace them. The seed alone remains.
//
//===----------------------------------------------------------------------===//

#ifndef TSR_TRAINING_TD
#define TSR_TRAINING_TD

include "ir/dialect/TsrOpBase.td"

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

def Tsr_SeedOp : Tsr_PureOp<"seed"> {
  let summary = "the gradient of the loss with respect to itself: 1";
  let description = "Made by `differentiate`; loss scaling (`precision`) multiplies it by the scale.";
  let results = (outs Tsr_Scalar:$result);
  let assemblyFormat = "`` custom<Notes>(attr-dict) `:` type($result)";
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
  let summary = "one optimizer step of one parameter";
  let description = [{
    Made by `parse`, replaced by `optimize`, which also adds the optimizer's state. `rule` is an entry of the table in
    `ir/optimizer/OptimizerRules.cpp`, `hypers` are the scalars that it takes, in any order, named by `names`; what is
    absent there is 0. `step` is the number of finished steps (i32), `norm` the global gradient norm: where it is not
    finite the parameter stays as it is.
  }];
  let arguments = (ins StrAttr:$rule, FlatSymbolRefAttr:$state, UnitAttr:$nesterov, Tsr_FloatTensor:$parameter,
                       Tsr_FloatTensor:$gradient, Tsr_Scalar:$step, Tsr_Scalar:$norm,
                       Variadic<Tsr_Scalar>:$hypers, StrArrayAttr:$names);
  let results = (outs Tsr_FloatTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $rule $state (`nesterov` $nesterov^)? $parameter `gradient` $gradient `step` $step `norm` $norm `hypers`
    custom<Names>($names) `(` $hypers `)` `` custom<Notes>(attr-dict) `:` functional-type(operands, results)
  }];
}

#endif // TSR_TRAINING_TD
