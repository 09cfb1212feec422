//===- Contractions.cpp - the contractions of a program on a GPU -----------===//

#include "runtime/cuda/Contractions.h"

#include "runtime/Abi.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <dlfcn.h>

namespace tessera::runtime::cuda {

ContractionCall contractionCall(uint32_t gemm, const void *a, const void *b, const void *bias, const void *aux,
                                const void *c) {
  auto pointer = [](const void *address) { return reinterpret_cast<DevicePointer>(address); };
  return {gemm, {pointer(a), pointer(b), pointer(bias), pointer(c), pointer(aux)}};
}

std::vector<ContractionCall> listContractionCalls(const Manifest &manifest, void *library, DevicePointer arena) {
  // Entry functions run with functions that do nothing but list the contractions.
  struct Listing : TsrRuntime {
    std::vector<ContractionCall> calls;
  } listing{};
  listing.abiVersion = TSR_ABI_VERSION;
  listing.threads = 1;
  listing.launch = [](TsrRuntime *, uint32_t, void *const *) {};
  listing.copy = [](TsrRuntime *, void *, const void *, int64_t) {};
  listing.zero = [](TsrRuntime *, void *, int64_t) {};
  listing.setInt = [](TsrRuntime *, void *, int32_t) {};
  listing.start = [](TsrRuntime *, uint32_t, const void *, void *) {};
  listing.wait = [](TsrRuntime *, uint32_t) {};
  listing.gemm = [](TsrRuntime *runtime, uint32_t gemm, const void *a, const void *b, void *bias, void *aux, void *c) {
    static_cast<Listing *>(runtime)->calls.push_back(contractionCall(gemm, a, b, bias, aux, c));
  };
  for (const auto &[name, entry] : manifest.entries)
    if (auto function = reinterpret_cast<TsrEntry>(dlsym(library, (TSR_SYMBOL_ENTRY_PREFIX + name).c_str())))
      function(&listing, reinterpret_cast<char *>(arena));
  return std::move(listing.calls);
}

/// A contraction with the bias alone, and without the sum that GELU's gradient gives.
static GemmSpec withoutGelu(const GemmSpec &d) {
  GemmSpec plain = d;
  plain.epilogue = GemmEpilogue::None;
  plain.hasAux = false;
  plain.epilogueKernel.reset();
  if (d.epilogue == GemmEpilogue::GeluGrad) plain.bias.reset();
  return plain;
}

Contractions::Contractions(const Manifest &manifest, ChoiceRecords records, RankGroups ranks)
    : manifest(manifest), records(std::move(records)), ranks(std::move(ranks)), isReplaced(manifest.gemms.size()) {
  for (const GemmSpec &gemm : manifest.gemms) gemms.emplace_back(gemm, manifest.arena.workspaceBytes);
}

void Contractions::replaceEpilogues(const std::vector<ContractionCall> &calls, DevicePointer workspace, Stream stream) {
  GemmUses tried;
  for (const ContractionCall &call : calls) {
    CublasGemm &gemm = gemms[call.gemm];
    if (!manifest.gemms[call.gemm].epilogueKernel || isReplaced[call.gemm]) continue;
    if (!tried.emplace(call.gemm, gemm.alignmentOf(call.operands)).second) continue;
    if (gemm.findAlgorithm(call.operands, workspace, stream)) continue;
    isReplaced[call.gemm] = true;
    gemm = CublasGemm(withoutGelu(manifest.gemms[call.gemm]), manifest.arena.workspaceBytes);
  }
}

void Contractions::sayWhatIsReplaced() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < gemms.size(); ++i) {
    std::string name = "'" + manifest.gemms[i].name + "'";
    if (isReplaced[i] && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) return;
  warn("note: cuBLASLt has no algorithm with GELU for {} {}; a kernel computes GELU instead, and no action is required",
       names.size() == 1 ? "the contraction" : "the contractions", fmt::join(names, ", "));
}

/// Runs a contraction for the first time. The library may refuse to run an algorithm that it has accepted: then the
/// first of its suggestions that runs is chosen.
static void runFirst(CublasGemm &gemm, const GemmAddresses &operands, DevicePointer workspace, Stream stream) {
  try {
    gemm.run(operands, workspace, stream);
  } catch (const Error &) {
    if (!gemm.findAlgorithm(operands, workspace, stream)) throw;
  }
}

void Contractions::prepare(const std::vector<ContractionCall> &calls, const std::string &device,
                           DevicePointer workspace, Stream stream) {
  GemmSearch search(records, device);
  GemmUses uses;
  ranks.together("algorithms of contractions", [&] {
    replaceEpilogues(calls, workspace, stream);
    for (const ContractionCall &call : calls) uses.emplace(call.gemm, gemms[call.gemm].alignmentOf(operandsOf(call)));
    if (ranks.isFirst()) search.chooseFor(gemms, uses, workspace, stream);
  });
  if (ranks.isSeveral()) search.takeFromFirst(gemms, uses, *ranks.world());
  ranks.together("the first run of each contraction", [&] {
    runOnce(calls, std::move(uses), workspace, stream);
    const Driver &driver = Driver::get();
    driver.check(driver.streamSynchronize(stream), "the first run of each contraction failed on " + device);
  });
  sayWhatIsReplaced();
}

void Contractions::runOnce(const std::vector<ContractionCall> &calls, GemmUses uses, DevicePointer workspace,
                           Stream stream) {
  for (const ContractionCall &call : calls) {
    CublasGemm &gemm = gemms[call.gemm];
    GemmAddresses operands = operandsOf(call);
    gemm.prepare(operands);
    // The arena contains zeros, and so do the results.
    if (uses.erase({call.gemm, gemm.alignmentOf(operands)})) runFirst(gemm, operands, workspace, stream);
  }
}

GemmAddresses Contractions::operandsOf(const ContractionCall &call) const {
  GemmAddresses operands = call.operands;
  const GemmSpec &d = manifest.gemms[call.gemm];
  // The kernel reads the sums there.
  if (isReplaced[call.gemm] && d.epilogue == GemmEpilogue::Gelu && d.hasAux) operands.c = operands.aux;
  return operands;
}

std::optional<uint32_t> Contractions::kernelOf(uint32_t number) const {
  return isReplaced[number] ? manifest.gemms[number].epilogueKernel : std::nullopt;
}

std::vector<void *> Contractions::kernelArguments(const ContractionCall &call) const {
  const GemmSpec &d = manifest.gemms[call.gemm];
  const GemmAddresses &at = call.operands;
  std::vector<DevicePointer> places = {d.hasAux ? at.aux : at.c, at.c};
  if (d.epilogue == GemmEpilogue::GeluGrad) places = {at.c, at.aux, at.c};
  if (d.epilogue == GemmEpilogue::GeluGrad && d.bias) places.push_back(at.bias);
  std::vector<void *> arguments;
  for (DevicePointer place : places) arguments.push_back(reinterpret_cast<void *>(place));
  return arguments;
}

void Contractions::describe(Profile &profile) const {
  for (size_t i = 0; i < gemms.size(); ++i)
    if (isReplaced[i]) profile.setGemm(static_cast<int64_t>(i), gemms[i].description());
}

} // namespace tessera::runtime::cuda
