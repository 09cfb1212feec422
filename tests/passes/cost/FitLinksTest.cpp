//===- FitLinksTest.cpp - figures of links from measured exchanges --------===//

#include "passes/cost/FitLinks.h"
#include <gtest/gtest.h>
#include <random>

using namespace tessera;

namespace {

std::vector<TimedExchange> exchangesOf(LinkFigures link, double noise = 0) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  std::vector<TimedExchange> exchanges;
  for (LinkLoad load : {LinkLoad{0, 2}, {3e6, 3}, {24e6, 3}, {60e6, 1}})
    exchanges.push_back({load, (double(load.rounds) * link.latency + load.bytes / link.bandwidth) * factor(random)});
  return exchanges;
}

TEST(FitLinks, FindsTheFiguresThatTimesFollowFrom) {
  for (double latency : {0.5e-6, 20e-6, 1e-4})
    for (double bandwidth : {10e6, 3e9, 40e9}) {
      std::optional<LinkFigures> found = fitLink(exchangesOf({latency, bandwidth}));
      ASSERT_TRUE(found);
      EXPECT_NEAR(found->latency / latency, 1, 1e-6);
      bool isLatencySmall = 3 * latency < 0.5 * 3e6 / bandwidth;
      if (isLatencySmall) EXPECT_NEAR(found->bandwidth / bandwidth, 1, 1e-6);
      found = fitLink(exchangesOf({latency, bandwidth}, 0.1));
      ASSERT_TRUE(found);
      EXPECT_NEAR(found->latency / latency, 1, 0.11);
      if (isLatencySmall) EXPECT_NEAR(found->bandwidth / bandwidth, 1, 0.25);
    }
}

TEST(FitLinks, ALargeExchangeMayBeAsFastAsASmallOne) {
  std::optional<LinkFigures> found = fitLink({{{256, 1}, 1e-3}, {{1e6, 1}, 1e-3}});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->latency, 1e-3);
  EXPECT_NEAR(found->bandwidth, 2e9, 1);
}

TEST(FitLinks, OneTimeIsNotEnough) {
  EXPECT_FALSE(fitLink({}));
  EXPECT_FALSE(fitLink(TimedExchange{{1e6, 1}, 1e-3}));
  EXPECT_FALSE(fitLink({{{256, 0}, 1e-3}, {{1e6, 1}, 1e-3}})) << "of one rank";
}

TEST(FitLinks, DevicesThatShareALinkSlowEachOtherDown) {
  EXPECT_EQ(devicesOnLink(1e-3, 1.1e-3, 4), 1);
  EXPECT_EQ(devicesOnLink(1e-3, 1.9e-3, 4), 2);
  EXPECT_EQ(devicesOnLink(1e-3, 9e-3, 4), 4);
  EXPECT_EQ(devicesOnLink(1e-3, 0.5e-3, 4), 1);
}

} // namespace
