// Axes of a mesh, the order of its ranks, and what is refused.

#include "runtime/ranks/Mesh.h"
#include "tests/runtime/ranks/ThreadRanks.h"

using namespace tessera::tests;

namespace {

using Ints = std::vector<int>;

TEST(MeshTest, IsReadAndPrinted) {
  Mesh mesh = Mesh::parse("data=2,tensor=4");
  EXPECT_EQ(mesh.axes(), (std::vector<MeshAxis>{{"data", 2}, {"tensor", 4}}));
  EXPECT_EQ(mesh.size(), 8);
  EXPECT_EQ(mesh.text(), "data=2,tensor=4");
  EXPECT_EQ(mesh.axis("tensor"), 1u);
  EXPECT_EQ(Mesh().size(), 1);
  EXPECT_EQ(Mesh().text(), "");
  EXPECT_EQ(Mesh::parse("data=1").size(), 1);
}

TEST(MeshTest, LastAxisIsTheFastest) {
  Mesh mesh = Mesh::parse("a=2,b=3,c=2");
  EXPECT_EQ(mesh.coordinates(0), (Ints{0, 0, 0}));
  EXPECT_EQ(mesh.coordinates(1), (Ints{0, 0, 1}));
  EXPECT_EQ(mesh.coordinates(7), (Ints{1, 0, 1}));
  EXPECT_EQ(mesh.ranksAlong(0, 7), (Ints{1, 7}));
  EXPECT_EQ(mesh.ranksAlong(1, 7), (Ints{7, 9, 11}));
  EXPECT_EQ(mesh.ranksAlong(2, 7), (Ints{6, 7}));
}

TEST(MeshTest, GroupsAlongAnAxisPartitionTheRanks) {
  for (const char *text : {"a=8", "a=2,b=4", "a=4,b=2", "a=2,b=2,c=2", "a=1,b=5,c=3", "a=3,b=1"}) {
    Mesh mesh = Mesh::parse(text);
    for (int rank = 0; rank < mesh.size(); ++rank) {
      Ints coordinates = mesh.coordinates(rank);
      EXPECT_EQ(mesh.rankAt(coordinates), rank);
      for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
        Ints group = mesh.ranksAlong(axis, rank);
        ASSERT_EQ(group.size(), static_cast<size_t>(mesh.axes()[axis].size)) << text;
        for (int place = 0; place < mesh.axes()[axis].size; ++place) {
          Ints expected = coordinates;
          expected[axis] = place;
          EXPECT_EQ(group[place], mesh.rankAt(expected)) << text;
          EXPECT_EQ(mesh.ranksAlong(axis, group[place]), group) << text;
        }
      }
    }
  }
}

TEST(MeshTest, RefusesOtherText) {
  auto message = [](const char *text) { return messageOf([&] { Mesh::parse(text); }); };
  EXPECT_EQ(message(""), "mesh '': expected AXIS=SIZE in place of '', as in data=2,tensor=4");
  EXPECT_EQ(message("data"), "mesh 'data': expected AXIS=SIZE in place of 'data', as in data=2,tensor=4");
  EXPECT_EQ(message("data=2,"), "mesh 'data=2,': expected AXIS=SIZE in place of '', as in data=2,tensor=4");
  EXPECT_EQ(message("data=2x"), "mesh 'data=2x': expected AXIS=SIZE in place of 'data=2x', as in data=2,tensor=4");
  EXPECT_EQ(message("=2"), "mesh '=2': expected AXIS=SIZE in place of '=2', as in data=2,tensor=4");
  EXPECT_EQ(message("data=99999999999"), "mesh 'data=99999999999': the size in 'data=99999999999' is too large");
  EXPECT_EQ(message("data=0"), "mesh axis 'data': expected a size of at least 1, got 0");
  EXPECT_EQ(message("data=-2"), "mesh axis 'data': expected a size of at least 1, got -2");
  EXPECT_EQ(message("2d=2"), "expected a name of letters, digits and _ for an axis of the mesh, got '2d'");
  EXPECT_EQ(message("data=2,data=4"), "the mesh has two axes named 'data'");
  EXPECT_EQ(message("a=65536,b=65536"), "the mesh a=65536,b=65536 has too many ranks");
}

TEST(MeshTest, RefusesAnotherNumberOfRanks) {
  Mesh mesh = Mesh::parse("data=2,tensor=4");
  mesh.requireRanks(8);
  EXPECT_EQ(
      messageOf([&] { mesh.requireRanks(1); }),
      "the mesh data=2,tensor=4 is for 8 ranks, but there is 1; start as many, or give a mesh whose sizes multiply "
      "to 1");
  EXPECT_EQ(messageOf([] { Mesh().requireRanks(4); }),
            "the mesh without axes is for 1 rank, but there are 4; start as many, or give a mesh whose sizes multiply "
            "to 4");
  EXPECT_EQ(messageOf([&] { mesh.axis("model"); }), "expected an axis of the mesh (data, tensor), got 'model'");
  EXPECT_EQ(messageOf([] { Mesh().axis("model"); }), "expected an axis of the mesh, got 'model': this mesh has none");
}

} // namespace
