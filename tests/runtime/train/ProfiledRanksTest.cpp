// What ranks tell the first one at the end of a profiled run: each its own figures, by mesh axis and kind of exchange.

#include "runtime/train/ProfiledRanks.h"
#include "tests/runtime/ranks/ThreadRanks.h"

using namespace tessera::tests;

namespace {

TEST(ProfiledRanks, HaveTheirOwnFigures) {
  RanksSpec spec;
  spec.mesh = {{"data", 2}, {"tensor", 1}};
  using Kind = ExchangeSpec::Kind;
  spec.exchanges = {
      {"a", "data", Kind::AllToAll, 8}, {"b", "data", Kind::AllGather, 8}, {"c", "data", Kind::AllToAll, 8}};
  std::vector<std::string> seen(2);
  onRanks(2, [&](HostCommunicator &world) {
    Profile profile;
    profile.beginStep();
    for (int number = 0; number < 3; ++number) profile.addSent(number, 100 * world.rank() + (1 << number));
    profile.endStep({});
    seen[world.rank()] = profiledRanks(profile, spec, 1000 + world.rank(), world).dump();
  });
  std::string none = R"("tensor":{"all_to_all":0,"reduce_scatter":0,"all_gather":0}}})";
  EXPECT_EQ(seen[0], R"([{"arena":1000,"sent":{"data":{"all_to_all":5,"reduce_scatter":0,"all_gather":2},)" + none +
                         R"(,{"arena":1001,"sent":{"data":{"all_to_all":205,"reduce_scatter":0,"all_gather":102},)" +
                         none + "]");
  EXPECT_EQ(seen[1], seen[0]);
}

} // namespace
