// What ranks hold equally is compared, and only that.

#include "runtime/train/Replicas.h"
#include "tests/runtime/ranks/ThreadRanks.h"

using namespace tessera::tests;

namespace {

/// A state of two floats.
StateEntry entryOf(const std::string &path, std::vector<DividedAxis> divided = {}) {
  StateEntry entry;
  entry.path = path, entry.bytes = 8, entry.divided = std::move(divided);
  return entry;
}

/// What is said if the ranks of data=2,tensor=2 hold what `valueOf(path, rank)` says.
std::string said(const std::function<float(const std::string &path, int rank)> &valueOf) {
  Manifest manifest;
  manifest.state = {entryOf("whole"), entryOf("moment", {{"embed", "data", 4}}),
                    entryOf("both", {{"embed", "data", 4}, {"ff", "tensor", 4}})};
  Mesh mesh = Mesh::parse("data=2,tensor=2");
  std::vector<std::string> messages(4);
  onRanks(4, [&](HostCommunicator &world) {
    messages[world.rank()] = messageOf([&] {
      std::map<std::string, std::vector<float>> memory;
      checkReplicas(manifest, mesh, world, [&](const StateEntry &entry) {
        memory[entry.path] = {1, valueOf(entry.path, world.rank())};
        return reinterpret_cast<const char *>(memory[entry.path].data());
      });
    });
  });
  for (const std::string &message : messages) EXPECT_EQ(message, messages[0]);
  return messages[0];
}

TEST(Replicas, PartsMayDiffer) {
  EXPECT_EQ(said([](const std::string &path, int rank) {
              return path == "whole" ? 0 : path == "moment" ? static_cast<float>(rank / 2) : static_cast<float>(rank);
            }),
            "no error");
}

TEST(Replicas, NamesStatesAndRanksThatDiffer) {
  EXPECT_EQ(said([](const std::string &path, int rank) { return path == "whole" && rank == 3 ? 1.0f : 0.0f; }),
            "states that ranks hold equally differ: whole (rank 3 from 0)");
  EXPECT_EQ(said([](const std::string &path, int rank) { return path == "moment" ? static_cast<float>(rank) : 0.0f; }),
            "states that ranks hold equally differ: moment (rank 1 from 0, 3 from 2)");
}

} // namespace
