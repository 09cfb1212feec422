// Results of every collective, for one rank and for four, as threads and as processes; collectives in groups and in
// graphs.

#include "tests/runtime/cuda/NcclFixture.h"

#include <algorithm>
#include <cmath>

using namespace tessera;
using namespace tessera::tests;

namespace {

constexpr ElementType allTypes[] = {ElementType::F32, ElementType::BF16, ElementType::F16, ElementType::I32,
                                    ElementType::U8};
constexpr ReductionKind allReductions[] = {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Average};

/// Of elements from `first` on.
Values reduced(ElementType type, ReductionKind reduction, int ranks, int64_t count, int64_t first = 0) {
  Values values;
  for (int64_t i = first; i < first + count; ++i) {
    double sum = 0, largest = -INFINITY;
    for (int rank = 0; rank < ranks; ++rank) {
      sum += valueOf(type, rank, i);
      largest = std::max(largest, valueOf(type, rank, i));
    }
    double average = isInteger(type) ? std::trunc(sum / ranks) : sum / ranks;
    values.push_back(reduction == ReductionKind::Sum ? sum : reduction == ReductionKind::Max ? largest : average);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

class NcclRanks : public NcclFixture, public testing::WithParamInterface<std::tuple<int, RanksAre>> {
protected:
  int ranks = std::get<0>(GetParam());
  RanksAre kind = std::get<1>(GetParam());
  /// Runs `body` on all ranks with every type, and expects no error.
  void withAllTypes(const std::function<void(Rank &, ElementType)> &body) {
    for (ElementType type : allTypes) {
      SCOPED_TRACE(static_cast<int>(type));
      EXPECT_EQ(onRanks(ranks, [&](Rank &rank) { body(rank, type); }, kind), Texts(ranks));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(OneAndFour, NcclRanks,
                         testing::Combine(testing::Values(1, 4),
                                          testing::Values(RanksAre::Threads, RanksAre::Processes)));

TEST_P(NcclRanks, HaveNumbers) {
  EXPECT_EQ(onRanks(ranks, [&](Rank &rank) { EXPECT_EQ(rank.communicator.ranks(), ranks); }, kind), Texts(ranks));
}

TEST_P(NcclRanks, AllReduce) {
  withAllTypes([&](Rank &rank, ElementType type) {
    for (ReductionKind reduction : allReductions) {
      rank.put(rank.from, type, valuesOf(type, rank.rank(), 7));
      rank.communicator.allReduce("x", rank.from, rank.to, 7, type, reduction, rank.stream);
      EXPECT_EQ(rank.get(rank.to, type, 7), reduced(type, reduction, ranks, 7));
      rank.communicator.allReduce("in place", rank.from, rank.from, 7, type, reduction, rank.stream);
      EXPECT_EQ(rank.get(rank.from, type, 7), reduced(type, reduction, ranks, 7));
    }
    rank.communicator.allReduce("nothing", rank.from, rank.to, 0, type, ReductionKind::Sum, rank.stream);
    rank.communicator.check();
  });
}

TEST_P(NcclRanks, ReduceScatter) {
  withAllTypes([&](Rank &rank, ElementType type) {
    for (ReductionKind reduction : allReductions) {
      Values expected = reduced(type, reduction, ranks, 3, 3 * rank.rank());
      rank.put(rank.from, type, valuesOf(type, rank.rank(), 3 * ranks));
      rank.communicator.reduceScatter("x", rank.from, rank.to, 3, type, reduction, rank.stream);
      EXPECT_EQ(rank.get(rank.to, type, 3), expected);
      DevicePointer place = Rank::offset(rank.from, type, 3 * rank.rank());
      rank.communicator.reduceScatter("in place", rank.from, place, 3, type, reduction, rank.stream);
      EXPECT_EQ(rank.get(place, type, 3), expected);
    }
  });
}

TEST_P(NcclRanks, AllGather) {
  withAllTypes([&](Rank &rank, ElementType type) {
    Values expected;
    for (int other = 0; other < ranks; ++other)
      for (double number : valuesOf(type, other, 5)) expected.push_back(number);
    rank.put(rank.from, type, valuesOf(type, rank.rank(), 5));
    rank.communicator.allGather("x", rank.from, rank.to, 5, type, rank.stream);
    EXPECT_EQ(rank.get(rank.to, type, 5 * ranks), expected);

    rank.put(rank.to, type, Values(5 * ranks, 9));
    DevicePointer place = Rank::offset(rank.to, type, 5 * rank.rank());
    rank.put(place, type, valuesOf(type, rank.rank(), 5));
    rank.communicator.allGather("in place", place, rank.to, 5, type, rank.stream);
    EXPECT_EQ(rank.get(rank.to, type, 5 * ranks), expected);
  });
}

TEST_P(NcclRanks, Broadcast) {
  withAllTypes([&](Rank &rank, ElementType type) {
    for (int root = 0; root < ranks; ++root) {
      rank.put(rank.from, type, valuesOf(type, rank.rank(), 5));
      DevicePointer from = rank.rank() == root ? rank.from : 0; // of the others nothing is read
      rank.communicator.broadcast("x", from, rank.to, 5, type, root, rank.stream);
      EXPECT_EQ(rank.get(rank.to, type, 5), valuesOf(type, root, 5));
      rank.communicator.broadcast("in place", rank.from, rank.from, 5, type, root, rank.stream);
      EXPECT_EQ(rank.get(rank.from, type, 5), valuesOf(type, root, 5));
    }
  });
}

TEST_P(NcclRanks, Ring) {
  withAllTypes([&](Rank &rank, ElementType type) {
    int next = (rank.rank() + 1) % ranks, before = (rank.rank() + ranks - 1) % ranks;
    rank.put(rank.from, type, valuesOf(type, rank.rank(), 5));
    for (int round = 0; round < 3; ++round) {
      rank.put(rank.to, type, Values(5, 9));
      Communicator::Group group(rank.communicator, "ring");
      rank.communicator.send("forwards", rank.from, 5, type, next, rank.stream);
      rank.communicator.receive("from previous", rank.to, 5, type, before, rank.stream);
      group.end();
      EXPECT_EQ(rank.get(rank.to, type, 5), valuesOf(type, before, 5));
    }
  });
}

class NcclTwoRanks : public NcclFixture {};

TEST_F(NcclTwoRanks, SendWithoutGroup) {
  EXPECT_EQ(onRanks(2,
                    [](Rank &rank) {
                      ElementType type = ElementType::F32;
                      rank.put(rank.from, type, valuesOf(type, rank.rank(), 5));
                      if (rank.rank() == 0)
                        rank.communicator.send("x", rank.from, 5, type, 1, rank.stream);
                      else
                        rank.communicator.receive("x", rank.to, 5, type, 0, rank.stream);
                      if (rank.rank() == 1) EXPECT_EQ(rank.get(rank.to, type, 5), valuesOf(type, 0, 5));
                    }),
            Texts(2));
}

TEST_P(NcclRanks, GroupOfManyCollectives) {
  withAllTypes([&](Rank &rank, ElementType type) {
    Values values = valuesOf(type, rank.rank(), 8);
    rank.put(rank.from, type, values);
    Communicator::Group group(rank.communicator, "gradients");
    {
      Communicator::Group inner(rank.communicator, "of one layer");
      for (int64_t i = 0; i < 8; ++i)
        rank.communicator.allReduce("x", Rank::offset(rank.from, type, i), Rank::offset(rank.to, type, i), 1, type,
                                    ReductionKind::Sum, rank.stream);
      rank.put(rank.to, type, Values(8, 9));
      inner.end();
      EXPECT_EQ(rank.get(rank.to, type, 8), Values(8, 9)); // not yet
    }
    group.end();
    EXPECT_EQ(rank.get(rank.to, type, 8), reduced(type, ReductionKind::Sum, ranks, 8));
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST_P(NcclRanks, InAGraph) {
  withAllTypes([&](Rank &rank, ElementType type) {
    rank.put(rank.to, type, Values(4, 9));
    GraphExec graph = record(rank, [&] {
      rank.communicator.allReduce("x", rank.from, rank.to, 4, type, ReductionKind::Sum, rank.stream);
      Communicator::Group group(rank.communicator, "two more");
      for (int i = 1; i < 3; ++i)
        rank.communicator.broadcast("y", rank.to, Rank::offset(rank.to, type, 4 * i), 4, type, 0, rank.stream);
      group.end();
    });
    EXPECT_EQ(rank.get(rank.to, type, 4), Values(4, 9)); // only recorded
    for (int64_t first : {0, 2, 4}) {
      rank.put(rank.from, type, valuesOf(type, rank.rank(), 4, first));
      rank.driver.check(rank.driver.graphLaunch(graph, rank.stream), "launch");
      for (int64_t block = 0; block < 3; ++block)
        EXPECT_EQ(rank.get(Rank::offset(rank.to, type, 4 * block), type, 4),
                  reduced(type, ReductionKind::Sum, ranks, 4, first));
    }
    rank.driver.graphExecDestroy(graph);
  });
}

} // namespace
