//===- TsrRanks.td - what ranks exchange ----------------------------------===//

#ifndef TSR_RANKS_TD
#define TSR_RANKS_TD

include "ir/dialect/TsrOpBase.td"

def Tsr_StartOp : Tsr_PureOp<"start", [Tsr_HasNoArithmetic]> {
  let summary = "begins to exchange a value with the ranks along a mesh axis";
  let description = [{
    Made by `localize`. Each rank along `along` sends and receives; the result is complete only behind its `tsr.wait`,
    and until then nothing may read the result or write the operand. The number of ranks is the size of the axis
    `along`, which is an ordinary one here: position i is what rank i sent, or what is sent to it.

    `all_gather`: everybody's operand; the result has the operand's axes and `along`.
    `all_to_all`: of everybody's operand the position along `along` that is this rank's; operand and result have one
    type, with `along`.
    `reduce_scatter`: the sum over all ranks of that position, in an order that the library chooses; the result is the
    operand without `along`.

    C1: `all_gather`: the result is the operand with the axis `along`, which the operand lacks. C2: `all_to_all`: the
    operand has the axis `along`, and the result its type. C3: `reduce_scatter`: the operand is the result with the axis
    `along`, which the result lacks; its elements are f32 or f64.
  }];
  let arguments = (ins Tsr_ExchangeKindAttr:$kind, StrAttr:$along, Tsr_Tensor:$x);
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = [{
    `` $kind $x `along` custom<Name>($along) `` custom<Notes>(attr-dict) `:` type($x) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Of the operand and the result the one with a position for each rank.
    NamedTensorType getTypeOfRanks() { return getKind() == ExchangeKind::AllGather ? getType() : getX().getType(); }
    int64_t countRanks() { return getTypeOfRanks().getSize(getAlong()); }
    /// That go to each rank.
    int64_t countBytes() { return getTypeOfRanks().getNumBytes() / countRanks(); }
  }];
  let hasVerifier = 1;
}

def Tsr_WaitOp : Tsr_PureOp<"wait", [AllTypesMatch<["started", "result"]>, Tsr_HasNoArithmetic]> {
  let summary = "what a tsr.start receives, complete";
  let description = [{
    `sent` is the operand of the start: it lives until here.

    C1: `started` is the result of a `tsr.start` of `sent`, in the same block.
  }];
  let arguments = (ins Tsr_Tensor:$started, Tsr_Tensor:$sent);
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = "$started `sent` $sent `` custom<Notes>(attr-dict) `:` type($started) `,` type($sent)";
  let hasVerifier = 1;
}

#endif // TSR_RANKS_TD
