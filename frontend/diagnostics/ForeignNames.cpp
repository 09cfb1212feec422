//===- ForeignNames.cpp - names of other frameworks -----------------------===//

#include "frontend/diagnostics/ForeignNames.h"
#include "llvm/ADT/SmallVector.h"

using namespace tessera;
using llvm::StringRef;

static constexpr ForeignNames Table[] = {
    // Products and axes
    {"einsum matmul mm bmm tensordot dot", "`sum[a](x * w)`, a contraction over `a`"},
    {"permute transpose swapaxes movedim", "nothing: axes have names and no order"},
    {"reshape view flatten unflatten rearrange",
     "`x as [(row, col) -> pixel]` merges axes, `x as [hd -> (pair, half)]` splits one"},
    {"unsqueeze expand expand_as broadcast_to tile repeat_interleave",
     "`over[a](x)`; factors and smaller operands are broadcast by name anyway"},
    {"squeeze select", "`x[a = 0]`"},
    {"concat cat concatenate stack hstack vstack",
     "`x[a = pos[ab] else 0] + y[b = pos[ab] - a else 0]`, with `dim ab = a + b`"},
    {"split chunk narrow slice", "`x[a = pos[b]]` and `x[a = pos[b] + b]`, the halves along `b`"},
    {"pad roll shift", "`x[a = pos[b] - 1 else 0]`; around the end, `x[a = (pos[a] + 1) % a]`"},
    {"flip", "`x[a = a - 1 - pos[a]]`"},
    // Reading and selecting
    {"embedding gather index_select take take_along_dim", "`table[vocab = tokens]`"},
    {"one_hot", "`float(pos[class] == over[class](label))`"},
    {"argmax", "`min[c](where(x == max[c](x), pos[c], c - 1))`, the first of the largest"},
    {"argmin", "`min[c](where(x == min[c](x), pos[c], c - 1))`, the first of the smallest"},
    {"masked_fill", "`where(mask, value, x)`"},
    {"tril triu", "`where(pos[key] <= pos[seq], scores, -inf)`"},
    {"detach stop_gradient no_grad", "`stop(x)`"},
    // Elementwise
    {"relu6 hardtanh clip_by_value", "`clamp(x, 0, 6)`"},
    {"leaky_relu leakyrelu prelu", "`where(x > 0, x, 0.01 * x)`"},
    {"elu", "`where(x > 0, x, expm1(min(x, 0)))`"},
    {"swish", "`silu` of `nn`"},
    {"log_sigmoid logsigmoid", "`-softplus(-x)`, with `softplus` of `nn`"},
    {"pow power square", "`x ^ 2`"},
    {"maximum amax", "`max(a, b)` of two, `max[a](x)` along an axis"},
    {"minimum amin", "`min(a, b)` of two, `min[a](x)` along an axis"},
    {"fmod remainder", "`a % b`"},
    {"trunc long", "`int(x)`"},
    {"isnan", "`x != x`"},
    {"exp2", "`2 ^ x`"},
    {"log2", "`log(x) / log(2)`"},
    {"log10", "`log(x) / log(10)`"},
    // Reductions
    {"var variance", "`mean[a]((x - mean[a](x)) ^ 2)`"},
    {"std", "`sqrt(mean[a]((x - mean[a](x)) ^ 2))`"},
    {"norm", "`sqrt(sum[a](x * x))`"},
    {"logsumexp", "`top + log(sum[a](exp(x - top)))`, with `let top = max[a](x)`"},
    // Sources
    {"arange range indices", "`pos[a]`"},
    {"zeros zeros_like", "`0`, which is broadcast; `over[a](0.0)` has the axis"},
    {"ones ones_like full full_like", "`1`, which is broadcast; `over[a](1.0)` has the axis"},
    {"rand rand_like", "`uniform[a]()`"},
    {"randn randn_like", "`normal[a]()`"},
    {"randint", "`int(uniform[a]() * n)`"},
    {"bernoulli", "`uniform[a]() < p`"},
    {"len size shape numel", "`a`: in an expression, a dim stands for its size"},
    // Layers
    {"conv1d conv2d conv3d unfold", "`sum[kr, kc, chan](windows * w)`; docs/language.md, \"Convolutions\""},
    {"max_pool1d max_pool2d maxpool1d maxpool2d", "`max[kr, kc](windows)`; docs/language.md, \"Convolutions\""},
    {"avg_pool1d avg_pool2d avgpool1d avgpool2d", "`mean[kr, kc](windows)`; docs/language.md, \"Convolutions\""},
    {"upsample interpolate", "`x[row = pos[row2] // 2]`"},
    {"layernorm", "`layer_norm[a](x)` of `nn`"},
    {"rmsnorm", "`rms_norm[a](x)` of `nn`"},
    {"scaled_dot_product_attention multiheadattention attention",
     "`softmax[key](sum[hd](q * k) / sqrt(hd))`, then `sum[key](p * v)`; examples/04-gpt2.tsr"},
    {"lstm gru rnn", "`repeat[time](h = start) { cell(h) }`, with the weights declared outside of it"},
    {"modulelist sequential",
     "`repeat[layer](x = e) { h: block(x) }` for equal layers, calls one after another for others"},
    {"parameter", "`weight w [a, b]` where it is used"},
    // Losses
    {"mse_loss mseloss", "`mean[..]((x - y) ^ 2)`"},
    {"l1_loss l1loss", "`mean[..](abs(x - y))`"},
    {"crossentropyloss nll_loss nllloss",
     "`mean[batch](cross_entropy[class](scores, label))`, `cross_entropy` of `nn`"},
    {"binary_cross_entropy_with_logits bcewithlogitsloss bceloss",
     "`mean[..](softplus(x) - x * y)`, `softplus` of `nn`"},
    // Training
    {"clip_grad_norm_", "`clip(1.0)` in the training description"},
    {"autocast gradscaler half bfloat16", "`compute(bf16)` or `compute(fp16)` in the training description"},
    {"requires_grad requires_grad_", "`optimize none on …` freezes parameters"},
    {"backward zero_grad", "nothing: the compiler differentiates the losses"},
};

llvm::ArrayRef<ForeignNames> tessera::foreignNames() { return Table; }

StringRef tessera::adviceOnForeignName(StringRef name) {
  for (const ForeignNames &row : Table) {
    llvm::SmallVector<StringRef> names;
    row.names.split(names, ' ');
    for (StringRef each : names)
      if (each.equals_insensitive(name)) return row.write;
  }
  return "";
}
