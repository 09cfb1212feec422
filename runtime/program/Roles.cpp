//===- Roles.cpp - what inputs, outputs and states are for ----------------===//

#include "runtime/program/Roles.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera::runtime {

namespace {
/// Entry functions, as a set.
enum Entries : unsigned { Init = 1, Step = 2, Evaluate = 4, Predict = 8, Generate = 16, Shadow = 32 };
constexpr unsigned steps = Step | Shadow, trains = steps | Evaluate, infers = Predict | Generate, all = 63;

struct RoleRule {
  std::string_view name;
  unsigned entries;                       ///< that have values of the role
  std::optional<ElementType> scalar = {}; ///< the type, if it is a scalar
};
} // namespace

static constexpr std::pair<std::string_view, Entries> entryNames[] = {
    {"init", Init},       {"step", Step},         {"evaluate", Evaluate},
    {"predict", Predict}, {"generate", Generate}, {"shadow", Shadow},
};

static constexpr RoleRule inputRoles[] = {
    {"seed", Init, ElementType::I64}, {"data", trains | Predict},
    {"weight", Evaluate | Predict},   {"batch_number", Evaluate | Predict, ElementType::I32},
    {"argument", Generate},           {"rank", all, ElementType::I32},
};

static constexpr RoleRule outputRoles[] = {
    {"loss", trains, ElementType::F32},
    {"metric", trains, ElementType::F32},
    {"count", Evaluate, ElementType::F32},
    {"total", steps, ElementType::F32},
    {"rate", steps, ElementType::F32},
    {"grad_norm", steps, ElementType::F32},
    {"finite", steps, ElementType::I32},
    {"loss_scale", steps, ElementType::F32},
    {"skipped", steps, ElementType::I32},
    {"result", infers | trains},
    {"batch_result", infers},
};

static constexpr std::array<std::string_view, 7> kinds = {"weight", "bias",    "gain", "state",
                                                          "moment", "counter", "scale"};

template <size_t N>
static void checkRole(const ValueSpec &value, const EntryFunction &entry, const RoleRule (&roles)[N], const char *what,
                      const char *where) {
  const auto *of = std::find_if(std::begin(entryNames), std::end(entryNames),
                                [&](const auto &each) { return each.first == entry.name; });
  if (of == std::end(entryNames)) return; // nothing calls it
  const RoleRule *role =
      std::find_if(std::begin(roles), std::end(roles), [&](const RoleRule &r) { return r.name == value.role; });
  if (role == std::end(roles) || !(role->entries & of->second))
    fail("{}: '{}' has no {}s of the role '{}', which '{}' has", where, entry.name, what, value.role, value.name);
  if (role->scalar && (!value.axes.empty() || value.type != *role->scalar))
    fail("{}: the {} '{}' of '{}' must be a scalar of {}", where, what, value.name, entry.name,
         infoOf(*role->scalar).name);
}

void checkRoles(const EntryFunction &entry, const char *where) {
  for (const ValueSpec &value : entry.inputs) checkRole(value, entry, inputRoles, "input", where);
  for (const ValueSpec &value : entry.outputs) checkRole(value, entry, outputRoles, "output", where);
}

void checkKind(const StateEntry &state, const char *where) {
  if (std::find(kinds.begin(), kinds.end(), state.kind) != kinds.end()) return;
  std::string known;
  for (std::string_view kind : kinds) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", kind);
  fail("{}: '{}' is a state of the unknown kind '{}': expected one of {}", where, state.path, state.kind, known);
}

} // namespace tessera::runtime
