//===- EpilogueKernels.cpp - kernels in place of a library's epilogues -----===//
//
// GELU in its tanh form is x · sigmoid(2u), since (1 + tanh u) / 2 = sigmoid(2u); ir/dialect/Gelu.h has u.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/EpilogueKernels.h"
#include "ir/dialect/Gelu.h"
#include "ir/dialect/GraphBuilder.h"

using namespace mlir;
using namespace tessera;

/// The axes of c.
static constexpr StringLiteral rowAxis = "m", columnAxis = "n";

static Type floatTypeOf(OpBuilder &builder, ElementType type) {
  return type == ElementType::BF16  ? Type(builder.getBF16Type())
         : type == ElementType::F16 ? Type(builder.getF16Type())
                                    : Type(builder.getF32Type());
}

/// The type of c and `aux`, which have two dimensions.
static NamedTensorType typeOf(GraphBuilder &builder, const GemmMatrix &c) {
  AxisAttr rows = axis(builder.getContext(), rowAxis, c.dims[0]);
  AxisAttr columns = axis(builder.getContext(), columnAxis, c.dims[1]);
  return NamedTensorType::get({rows, columns}, floatTypeOf(builder, c.type), {c.dims[0], c.strides[0]});
}

/// sigmoid(2u), from x and its square.
static Value sigmoidOf(GraphBuilder &builder, Value x, Value square) {
  Value inner = builder.add(x, builder.mul(builder.mul(square, x), geluCubic));
  return builder.unary<SigmoidOp>(builder.mul(inner, 2 * geluScale));
}

static Value geluOf(GraphBuilder &builder, Value x) { return builder.mul(x, sigmoidOf(builder, x, builder.mul(x, x))); }

/// s + x s (1 - s) (2u)', where s is sigmoid(2u)
static Value geluDerivativeOf(GraphBuilder &builder, Value x) {
  Value square = builder.mul(x, x), s = sigmoidOf(builder, x, square);
  Value slope = builder.mul(builder.add(builder.mul(square, 3 * geluCubic), 1), 2 * geluScale);
  return builder.add(s, builder.mul(builder.mul(builder.mul(x, s), builder.oneMinus(s)), slope));
}

/// The values that the kernel stores, computed from its operands.
static SmallVector<Value> resultsOf(GraphBuilder &builder, const ContractionGemm &gemm, ValueRange operands) {
  auto widened = llvm::map_to_vector(operands, [&](Value x) { return builder.cast(x, builder.getF32Type()); });
  bool isGrad = gemm.epilogue == Epilogue::GeluGrad;
  Value c = isGrad ? builder.mul(widened[0], geluDerivativeOf(builder, widened[1])) : geluOf(builder, widened[0]);
  SmallVector<Value> results{builder.cast(c, tensorType(operands[0]).getElementType())};
  results.front().setType(operands[0].getType()); // with its allocated sizes
  if (isGrad && gemm.bias) results.push_back(builder.sum(c, {rowAxis}));
  return results;
}

KernelOp tessera::buildEpilogueKernel(ModuleOp module, const ContractionGemm &gemm) {
  Location loc = module.getLoc();
  GraphBuilder builder(module, loc);
  bool isGrad = gemm.epilogue == Epilogue::GeluGrad, sums = isGrad && gemm.bias;
  SmallVector<Type> types(isGrad ? 2 : 1, typeOf(builder, gemm.c));
  Region body;
  Block &block = body.emplaceBlock();
  block.addArguments(types, SmallVector<Location>(types.size(), loc));
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> results = resultsOf(builder, gemm, block.getArguments());
  YieldOp::create(builder, loc, results);
  TypeRange resultTypes = ValueRange(results);

  builder.setInsertionPointToEnd(module.getBody());
  StringRef name = stringifyEpilogue(*gemm.epilogue);
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, resultTypes));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  SmallVector<StringRef> parallel{rowAxis, columnAxis}, serial;
  if (sums) parallel = {columnAxis}, serial = {rowAxis};
  auto kernel =
      KernelOp::create(builder, loc, resultTypes, name, function.getArguments(), builder.getStrArrayAttr(parallel),
                       builder.getStrArrayAttr(serial), builder.getStringAttr(columnAxis));
  kernel.getBody().takeBody(body);
  func::ReturnOp::create(builder, loc, kernel.getResults());
  return kernel;
}

/// The alignments of the kernel's operands, then of its results.
static SmallVector<int64_t> alignmentsOf(const GemmTable::Entry &entry) {
  auto [c, aux, bias] = entry.alignments;
  const ContractionGemm &gemm = entry.description;
  if (gemm.epilogue == Epilogue::Gelu) return {gemm.hasAux ? aux : c, c};
  SmallVector<int64_t> alignments{c, aux, c};
  if (gemm.bias) alignments.push_back(bias);
  return alignments;
}

LogicalResult tessera::emitEpilogueKernels(MLIRContext *context, Backend &backend, KernelTable &kernels,
                                           GemmTable &gemms) {
  for (GemmTable::Entry &entry : gemms.getEntries()) {
    if (!entry.description.epilogue) continue;
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
    Operation *kernel = buildEpilogueKernel(*module, entry.description);
    FailureOr<SmallVector<EmittedKernel>> emitted = backend.emitKernels(kernel, alignmentsOf(entry));
    if (failed(emitted)) return failure();
    KernelOrigin origin{entry.name.empty() ? "GELU" : entry.name + ", GELU", entry.line};
    entry.epilogueKernel = kernels.add(emitted->front(), workOf(kernel), origin);
  }
  return success();
}
