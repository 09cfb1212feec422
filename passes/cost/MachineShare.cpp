//===- MachineShare.cpp - what a rank has of its machine -----------------===//

#include "passes/cost/MachineShare.h"
#include "ir/program/ComputingOps.h"
#include "ir/program/Machines.h"
#include "ir/program/ProgramMesh.h"
#include "ir/program/ShardSettings.h"
#include "passes/cost/CostModel.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

int64_t tessera::ranksOfMachine(ModuleOp module) {
  int64_t searched = ShardSettings::of(module).devices;
  int64_t ranks = searched > 0 ? searched : ProgramMesh::of(module).ranks();
  std::optional<Machines> machines = Machines::of(module);
  return machines ? std::min(machines->devices, ranks) : ranks;
}

/// Each core is for `turns` ranks, which alternate on it: what one thread does takes so many times as long.
static void alternate(CpuFigures &cpu, const CostModel &machine, double turns) {
  cpu.l2Bandwidth = machine.get("l2_bandwidth") / turns;
  *cpu.l3Bandwidth /= turns;
  for (const ComputingOp &op : computingOps())
    cpu.functions[op.name.str()] = turns * machine.get(("function." + op.name).str());
  cpu.barriers["1"] = turns * machine.get("barrier.1");
}

MachineShare MachineShare::of(const Target &target, int threads, int64_t ranks) {
  MachineShare share{target, threads};
  if (target.isGpu() || ranks <= 1) return share;
  CostModel machine(target, threads);
  DeviceFigures &figures = share.target.figures;
  int64_t cores = figures.cpu.cores.value_or(threads), own = std::max<int64_t>(1, cores / ranks);
  share.threads = static_cast<int>(std::min<int64_t>(threads, own));
  figures.cpu.cores = own;

  bool alternates = cores < ranks;
  double ofCores = alternates ? 1.0 / double(ranks) : double(own) / double(cores);
  MultiplyRates &rates = figures.rates;
  rates.f32 = machine.get("f32_rate"); // else it would follow from cores that ranks may share
  for (std::optional<double> *rate : {&rates.f32, &rates.bf16, &rates.f16, &rates.fp8})
    if (*rate) **rate *= ofCores;
  figures.copyBandwidth = machine.get("copy_bandwidth") / double(ranks);

  double l3Cores = machine.get("l3_cores"), ofL3 = std::min(1.0, double(own) / l3Cores);
  figures.cpu.l3Cores = std::min<int64_t>(own, std::llround(l3Cores));
  figures.cpu.l3Bytes = std::llround(machine.get("l3_cache") * ofL3);
  figures.cpu.l3Bandwidth = machine.get("l3_bandwidth") * ofL3;
  if (alternates) alternate(figures.cpu, machine, double(ranks) / double(cores));
  if (figures.memoryBytes) *figures.memoryBytes /= ranks;
  return share;
}
