//===- Mesh.cpp - ranks arranged along named axes -------------------------===//

#include "runtime/ranks/Mesh.h"

#include <algorithm>
#include <charconv>

namespace tessera::runtime {

static bool isIdentifier(std::string_view name) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto isPart = [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && isLetter(name[0]) && std::all_of(name.begin(), name.end(), isPart);
}

Mesh::Mesh(std::vector<MeshAxis> axes) : list(std::move(axes)) {
  for (size_t i = 0; i < list.size(); ++i) {
    const MeshAxis &axis = list[i];
    if (!isIdentifier(axis.name))
      failUsage("expected a name of letters, digits and _ for an axis of the mesh, got '{}'", axis.name);
    if (axis.size < 1) failUsage("mesh axis '{}': expected a size of at least 1, got {}", axis.name, axis.size);
    for (size_t j = 0; j < i; ++j)
      if (list[j].name == axis.name) failUsage("the mesh has two axes named '{}'", axis.name);
    constexpr int most = 1 << 20; // as in modules (ir/program/VerifyProgram.cpp)
    if (__builtin_mul_overflow(ranks, axis.size, &ranks) || ranks > most)
      failUsage("the mesh {} has too many ranks", text());
  }
}

Mesh Mesh::parse(std::string_view text) {
  std::vector<MeshAxis> axes;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string_view part = text.substr(at, end - at);
    size_t equals = std::min(part.find('='), part.size());
    MeshAxis axis{std::string(part.substr(0, equals)), 0};
    const char *first = part.data() + std::min(equals + 1, part.size()), *last = part.data() + part.size();
    auto [stop, error] = std::from_chars(first, last, axis.size);
    if (error == std::errc::result_out_of_range) failUsage("mesh '{}': the size in '{}' is too large", text, part);
    if (axis.name.empty() || error != std::errc() || stop != last)
      failUsage("mesh '{}': expected AXIS=SIZE in place of '{}', as in data=2,tensor=4", text, part);
    axes.push_back(std::move(axis));
    at = end + 1;
  }
  return Mesh(std::move(axes));
}

std::string Mesh::text() const {
  std::string text;
  for (const MeshAxis &axis : list) text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  return text;
}

void Mesh::requireRanks(int count) const {
  if (ranks != count)
    failUsage("the mesh {} is for {} rank{}, but there {} {}; start as many, or give a mesh whose sizes multiply to {}",
              list.empty() ? "without axes" : text(), ranks, ranks == 1 ? "" : "s", count == 1 ? "is" : "are", count,
              count);
}

size_t Mesh::axis(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return i;
    names.push_back(list[i].name);
  }
  if (names.empty()) failUsage("expected an axis of the mesh, got '{}': this mesh has none", name);
  failUsage("expected an axis of the mesh ({}), got '{}'", fmt::format("{}", fmt::join(names, ", ")), name);
}

int Mesh::stride(size_t axis) const {
  int stride = 1;
  for (size_t i = axis + 1; i < list.size(); ++i) stride *= list[i].size;
  return stride;
}

std::vector<int> Mesh::coordinates(int rank) const {
  std::vector<int> result;
  for (size_t i = 0; i < list.size(); ++i) result.push_back(rank / stride(i) % list[i].size);
  return result;
}

int Mesh::rankAt(const std::vector<int> &coordinates) const {
  int rank = 0;
  for (size_t i = 0; i < list.size(); ++i) rank = rank * list[i].size + coordinates[i];
  return rank;
}

std::vector<int> Mesh::ranksAlong(size_t axis, int rank) const {
  int step = stride(axis), first = rank - rank / step % list[axis].size * step;
  std::vector<int> result;
  for (int i = 0; i < list[axis].size; ++i) result.push_back(first + i * step);
  return result;
}

std::vector<std::unique_ptr<HostCommunicator>> splitAlongAxes(HostCommunicator &world, const Mesh &mesh) {
  mesh.requireRanks(world.size());
  std::vector<std::unique_ptr<HostCommunicator>> groups;
  for (size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    int first = mesh.ranksAlong(axis, world.rank()).front();
    groups.push_back(world.split(mesh.axes()[axis].name, first, world.rank()));
  }
  return groups;
}

} // namespace tessera::runtime
