//===- RanksCpuRunner.cpp - generated CPU code on several ranks -----------===//

#include "tests/differential/RanksCpuRunner.h"
#include "codegen/program/Program.h"
#include "runtime/machine/LoadedProgram.h"
#include "tests/runtime/ranks/ThreadRanks.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// Of each axis, the groups of ranks along it, by the number of their first rank.
struct RanksCpuRunner::Groups {
  std::map<std::pair<std::string, int64_t>, tests::ThreadGroup> list;
};

struct RanksCpuRunner::Rank {
  std::unique_ptr<runtime::HostCommunicator> world;
  std::vector<std::unique_ptr<runtime::HostCommunicator>> along;
  std::unique_ptr<runtime::LoadedProgram> program;
  Coordinates coordinates;
  std::string error;
};

RanksCpuRunner::RanksCpuRunner(ModuleOp whole) : ShardedRunner(whole) {}
RanksCpuRunner::~RanksCpuRunner() = default;

LogicalResult RanksCpuRunner::load(ModuleOp scheduled) {
  divided = scheduled;
  mesh = ProgramMesh::of(scheduled);
  CodegenOptions options;
  options.threads = 1;
  FailureOr<CompiledProgram> compiled = generateProgram(scheduled, options);
  if (failed(compiled)) return failure();
  groups = std::make_unique<Groups>();
  ranks.clear();
  Lockstep lockstep(mesh);
  for (int64_t number = 0; number < mesh.ranks(); ++number) {
    Rank &rank = *ranks.emplace_back(std::make_unique<Rank>());
    int64_t stride = mesh.ranks();
    auto &all = groups->list.try_emplace({"world", 0}, stride).first->second;
    rank.world = std::make_unique<tests::ThreadCommunicator>(all, number, "world");
    std::vector<runtime::HostCommunicator *> along;
    for (auto [axis, at] : llvm::zip(mesh.getAxes(), lockstep.coordinates(number))) {
      std::string name = axis.getName().str();
      stride /= axis.getSize();
      rank.coordinates[name] = at;
      auto &group = groups->list.try_emplace({name, number - at * stride}, axis.getSize()).first->second;
      rank.along.push_back(std::make_unique<tests::ThreadCommunicator>(group, at, name));
      along.push_back(rank.along.back().get());
    }
    try {
      rank.program = std::make_unique<runtime::LoadedProgram>(runtime::Payload{compiled->object, compiled->manifest});
    } catch (const std::exception &error) {
      return scheduled.emitError(error.what());
    }
    rank.program->connect(runtime::RankGroups(*rank.world, along), {});
  }
  return onAllRanks(scheduled, [](Rank &rank) { rank.program->start(1); });
}

LogicalResult RanksCpuRunner::onAllRanks(Operation *op, function_ref<void(Rank &)> work) {
  std::vector<std::thread> threads;
  for (auto &rank : ranks)
    threads.emplace_back([&rank = *rank, work] {
      try {
        work(rank);
      } catch (const std::exception &error) {
        rank.error = error.what();
      }
    });
  for (std::thread &thread : threads) thread.join();
  for (auto &rank : ranks)
    if (!rank->error.empty()) return op->emitError(rank->error);
  return success();
}

FailureOr<Values> RanksCpuRunner::run(StringRef entry, const Values &values) {
  auto function = divided.lookupSymbol<func::FuncOp>(entry);
  for (auto &rank : ranks) {
    Values own;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      own[argumentName(function, i)] = argumentFor(function, i, values, rank->coordinates);
    auto arena = [&](int64_t offset) { return rank->program->at(offset); };
    if (failed(storeArguments(function, own, arena))) return failure();
  }
  if (failed(onAllRanks(function, [entry](Rank &rank) { rank.program->call(entry.str()); }))) return failure();
  Values wholes;
  for (auto &rank : ranks) {
    Values parts = fetchResults(function, [&](int64_t offset) { return rank->program->at(offset); });
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      addPart(function, i, parts.at(resultName(function, i)), rank->coordinates, wholes);
  }
  return wholes;
}
