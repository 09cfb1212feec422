//===- KernelCodegen.cpp - from tsr.kernel to a function ------------------===//

#include "codegen/cpu/KernelCodegen.h"
#include "codegen/cpu/contraction/ContractionCodegen.h"
#include "codegen/cpu/kernel/LoopNestEmitter.h"
#include "codegen/cpu/tiled/TiledCodegen.h"
#include "ir/program/Program.h"
#include "passes/memory/Offsets.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

/// `name` as a C identifier, with a number if it is taken.
std::string KernelCodegen::uniqueSymbol(StringRef name) {
  std::string symbol = "tsr_kernel_";
  for (char c : name) symbol += llvm::isAlnum(c) ? c : '_';
  std::string candidate = symbol;
  for (unsigned i = 2; !taken.insert(candidate).second; ++i) candidate = symbol + "_" + std::to_string(i);
  return candidate;
}

KernelInterface KernelCodegen::emit(const ContractionGemm &contraction, const FusedGemms &fused, StringRef name) {
  for (const Contraction &known : contractions)
    if (known.description == contraction && known.fused == fused) return known.interface;
  ContractionPlan plan(contraction, fused, target);
  KernelInterface result{plan.threads.sharing, uniqueSymbol(name.empty() ? "contract" : name)};
  result.scratchBytes = alignedBytes(plan.scratch.bytes);
  emitContraction(code, result.name, plan, matrixFunctions);
  symbols.push_back(result.name);
  contractions.push_back({contraction, fused, result});
  return result;
}

FailureOr<KernelInterface> KernelCodegen::emit(KernelOp kernel) {
  KernelFingerprint print = fingerprint(kernel);
  if (auto it = emitted.find(print); it != emitted.end()) return it->second;
  FailureOr<KernelPlan> plan = planKernel(kernel);
  if (failed(plan)) return failure();
  KernelInterface result;
  result.name = uniqueSymbol(kernel.getName());
  FailureOr<WorkSharing> sharing =
      LoopNestEmitter(*plan, target, UnknownLoc::get(code.getContext())).emit(code, result.name);
  if (failed(sharing)) return failure();
  static_cast<WorkSharing &>(result) = *sharing;
  symbols.push_back(result.name);
  emitted.emplace(std::move(print), result);
  return result;
}

FailureOr<KernelInterface> KernelCodegen::emit(TiledOp tiled) {
  KernelFingerprint print = fingerprint(tiled);
  if (auto it = emitted.find(print); it != emitted.end()) return it->second;
  std::optional<MatrixAxes> axes = MatrixAxes::of(tiled);
  if (!axes) return tiled.emitError("expected an op with a matrix of its rows and columns");
  TiledPlan plan(tiled, *axes, target);
  KernelInterface result{plan.sharing, uniqueSymbol(tiled.getName())};
  result.scratchBytes = alignedBytes(plan.scratch.bytes);
  if (failed(emitTiled(code, result.name, plan, matrixFunctions, target))) return failure();
  symbols.push_back(result.name);
  emitted.emplace(std::move(print), result);
  return result;
}
