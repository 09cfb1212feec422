//===- ProgramSummary.cpp - facts about a compiled program ----------------===//

#include "tools/ProgramSummary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tessera;

ProgramSummary tessera::summarize(StringRef manifest) {
  ProgramSummary summary;
  auto json = llvm::json::parse(manifest);
  if (!json) return llvm::consumeError(json.takeError()), summary;
  const llvm::json::Object *target = json->getAsObject()->getObject("target");
  const llvm::json::Object *arena = json->getAsObject()->getObject("arena");
  llvm::SmallVector<StringRef> features;
  for (const llvm::json::Value &feature : *target->getArray("features")) features.push_back(*feature.getAsString());
  StringRef widest = llvm::is_contained(features, "avx512f") ? "avx512"
                     : llvm::is_contained(features, "avx2")  ? "avx2"
                                                             : "";
  summary.instructionSets = llvm::join(features, " ");
  summary.arenaMiB = static_cast<double>(arena->getInteger("bytes").value_or(0)) / (1 << 20);
  if (const llvm::json::Array *mesh = json->getAsObject()->getArray("mesh"))
    for (const llvm::json::Value &axis : *mesh) {
      int64_t size = axis.getAsObject()->getInteger("size").value_or(1);
      StringRef name = axis.getAsObject()->getString("name").value_or("");
      summary.mesh += llvm::formatv("{0}{1}={2}", summary.mesh.empty() ? "" : ",", name, size);
      summary.ranks *= size;
    }
  if (const llvm::json::Array *architectures = target->getArray("architectures")) {
    llvm::SmallVector<StringRef> list;
    for (const llvm::json::Value &architecture : *architectures) list.push_back(*architecture.getAsString());
    summary.target = "cuda (" + llvm::join(list, ", ") + "), " +
                     std::to_string(json->getAsObject()->getArray("kernels")->size()) + " kernels";
    return summary;
  }
  int64_t threads = target->getInteger("threads").value_or(0);
  summary.target = llvm::formatv("cpu {0}{1}, {2} thread{3}", target->getString("march").value_or(""),
                                 widest.empty() ? "" : (" (" + widest + ")").str(), threads, threads == 1 ? "" : "s");
  return summary;
}
