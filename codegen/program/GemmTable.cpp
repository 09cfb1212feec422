//===- GemmTable.cpp - the contractions that a library computes -----------===//

#include "codegen/program/GemmTable.h"
#include "ir/program/Program.h"
#include "runtime/machine/OnednnGemm.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// Bytes of workspace that cuBLASLt may use, as NVIDIA recommends for Hopper and later.
static constexpr int64_t deviceWorkspace = 32 << 20;

/// The description in the form of the runtime.
static runtime::GemmSpec forRuntime(const ContractionGemm &d) {
  runtime::GemmSpec result;
  result.a = d.a, result.b = d.b, result.c = d.c;
  result.bias = d.bias;
  result.accumulate = d.accumulate;
  return result;
}

FailureOr<std::vector<GemmCall>> GemmTable::add(ContractOp op, ContractionGemm description, const std::string &of,
                                                const CallSite &site) {
  description.tf32 = library.tf32 && !staysInF32(op) && description.a.type == ElementType::F32;
  std::vector<GemmPart> parts{{description}};
  if (library.isOnDevice) parts = alignedParts(description);
  std::vector<GemmCall> calls;
  for (auto [i, part] : llvm::enumerate(parts)) {
    FailureOr<uint32_t> index = add(op, part.gemm, /*isPart=*/i + 1 < parts.size(), of, site);
    if (failed(index)) return failure();
    calls.push_back({*index, part});
  }
  return calls;
}

FailureOr<uint32_t> GemmTable::add(ContractOp op, const ContractionGemm &description, bool isPart,
                                   const std::string &of, const CallSite &site) {
  for (auto [i, entry] : llvm::enumerate(entries))
    if (entry.description == description && entry.isPart == isPart) {
      entry.calls.add(site);
      return static_cast<uint32_t>(i);
    }
  runtime::GemmPlan plan{"", deviceWorkspace, "cublasLt", false};
  if (!library.isOnDevice) plan = runtime::planGemm(forRuntime(description), threads);
  if (!plan.error.empty()) return op.emitError("oneDNN cannot compute the contraction: ") << plan.error;
  if (plan.isReference)
    op.emitWarning("oneDNN has only its slow reference implementation for this contraction: ") << plan.implementation;
  Entry entry;
  entry.name = userName(op).str();
  entry.of = of;
  entry.line = userLine(op.getLoc());
  entry.description = description;
  entry.isPart = isPart;
  if (auto reason = op->getAttrOfType<StringAttr>(attrs::unaligned)) entry.unaligned = reason.str();
  entry.scratchBytes = plan.scratchBytes;
  entry.implementation = plan.implementation;
  entry.calls.add(site);
  entries.push_back(std::move(entry));
  return static_cast<uint32_t>(entries.size() - 1);
}

void GemmTable::addAlignments(uint32_t entry, std::array<int64_t, 3> alignments) {
  for (auto [known, own] : llvm::zip(entries[entry].alignments, alignments)) known = std::gcd(known, own);
}

int64_t GemmTable::workspaceBytes() const {
  int64_t bytes = 0;
  for (const Entry &entry : entries) bytes = std::max(bytes, entry.scratchBytes);
  return bytes;
}
