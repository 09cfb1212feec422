//===- CpuBackend.cpp - kernels as functions of the host's code -----------===//

#include "codegen/cpu/CpuBackend.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/gemm/ContractionSpeeds.h"
#include "runtime/Abi.h"

using namespace mlir;
using namespace tessera;

static EmittedKernel emitted(const KernelInterface &interface) { return {interface.name, interface, {}}; }

void CpuBackend::begin(ModuleOp code) {
  this->code = code;
  kernels.emplace(code, processor);
}

FailureOr<SmallVector<EmittedKernel>> CpuBackend::emitKernels(ArrayRef<Operation *> ops,
                                                              ArrayRef<SmallVector<int64_t>>) {
  Operation *op = ops.front();
  if (ops.size() > 1) return op->emitError("expected a launch of one kernel, got ") << ops.size();
  auto kernel = dyn_cast<KernelOp>(op);
  FailureOr<KernelInterface> interface = kernel ? kernels->emit(kernel) : kernels->emit(cast<TiledOp>(op));
  if (failed(interface)) return failure();
  return SmallVector<EmittedKernel>{emitted(*interface)};
}

std::optional<EmittedKernel> CpuBackend::emitContraction(ArrayRef<ContractOp> contractions,
                                                         const ContractionGemm &description, const FusedGemms &fused) {
  if (fused.count == 1 && !isFasterGenerated(description, target)) return std::nullopt;
  return emitted(kernels->emit(description, fused, userName(contractions.front())));
}

/// Emits `tsr_kernels`, the addresses of the kernels of those names; none if there are none.
static void emitKernelTable(ModuleOp code, ArrayRef<std::string> kernels) {
  if (kernels.empty()) return;
  OpBuilder builder(code.getBodyRegion());
  builder.setInsertionPointToEnd(code.getBody());
  Location loc = builder.getUnknownLoc();
  auto pointer = LLVM::LLVMPointerType::get(code.getContext());
  auto type = LLVM::LLVMArrayType::get(pointer, kernels.size());
  auto table = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::External,
                                      TSR_SYMBOL_KERNELS, Attribute());
  builder.createBlock(&table.getInitializerRegion());
  Value list = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, name] : llvm::enumerate(kernels))
    list = LLVM::InsertValueOp::create(builder, loc, list, LLVM::AddressOfOp::create(builder, loc, pointer, name),
                                       static_cast<int64_t>(i));
  LLVM::ReturnOp::create(builder, loc, list);
}

LogicalResult CpuBackend::finish(StageLog &) {
  emitKernelTable(code, kernels->getSymbols());
  return success();
}

void CpuBackend::describe(TargetDescription &description) const {
  if (kernels->usesAmx()) llvm::append_range(description.features, CpuTarget::amxInstructionSets);
}
