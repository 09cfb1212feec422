//===- LabelProblem.cpp - one label for each variable, at least cost ------===//

#include "passes/sharding/search/LabelProblem.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <cmath>
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

static constexpr double infinity = std::numeric_limits<double>::infinity();

bool LabelCost::isAllowed() const { return seconds < infinity; }

double LabelWeights::of(const LabelCost &cost) const {
  return cost.isAllowed() ? seconds * cost.seconds + bytes * cost.bytes : infinity;
}

static LabelCost checked(LabelCost cost) {
  assert(!std::isnan(cost.seconds) && cost.seconds > -infinity && std::isfinite(cost.bytes) &&
         "expected finite costs, or infinite seconds");
  return cost;
}

unsigned LabelProblem::addVariable(ArrayRef<LabelCost> labels) {
  assert(!labels.empty() && "a variable needs a label");
  variables.emplace_back();
  for (const LabelCost &cost : labels) variables.back().push_back(checked(cost));
  return variables.size() - 1;
}

/// Numbers classes in the order of their first members; `isEqual` compares two members.
template <typename IsEqual> static std::vector<unsigned> classify(unsigned count, IsEqual isEqual) {
  std::vector<unsigned> classes, firsts;
  for (unsigned i = 0; i < count; ++i) {
    auto first = llvm::find_if(firsts, [&](unsigned other) { return isEqual(i, other); });
    classes.push_back(first - firsts.begin());
    if (first == firsts.end()) firsts.push_back(i);
  }
  return classes;
}

static unsigned countOf(ArrayRef<unsigned> classes) { return *llvm::max_element(classes) + 1; }

void LabelProblem::addPair(unsigned a, unsigned b, ArrayRef<LabelCost> table) {
  unsigned rows = variables[a].size(), columns = variables[b].size();
  assert(table.size() == size_t(rows) * columns && "expected a cost for each two labels");
  auto isEqual = [](const LabelCost &x, const LabelCost &y) { return x.seconds == y.seconds && x.bytes == y.bytes; };
  std::vector<unsigned> ofRows = classify(rows, [&](unsigned i, unsigned j) {
    return std::equal(&table[i * columns], &table[i * columns] + columns, &table[j * columns], isEqual);
  });
  std::vector<unsigned> ofColumns = classify(columns, [&](unsigned i, unsigned j) {
    for (unsigned row = 0; row < rows; ++row)
      if (!isEqual(table[row * columns + i], table[row * columns + j])) return false;
    return true;
  });
  std::vector<LabelCost> ofClasses(size_t(countOf(ofRows)) * countOf(ofColumns));
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column)
      ofClasses[ofRows[row] * countOf(ofColumns) + ofColumns[column]] = table[row * columns + column];
  addPair(a, b, ofRows, ofColumns, ofClasses);
}

/// Two tables of a pair as one; its classes are those labels that are of one class in both.
static LabelProblem::Pair sum(const LabelProblem::Pair &one, const LabelProblem::Pair &other) {
  LabelProblem::Pair both = one;
  std::vector<unsigned> members[2]; // of each class a label
  for (unsigned side : {0, 1}) {
    const std::vector<unsigned> &ofOne = one.classes[side], &ofOther = other.classes[side];
    both.classes[side] = classify(
        ofOne.size(), [&](unsigned i, unsigned j) { return ofOne[i] == ofOne[j] && ofOther[i] == ofOther[j]; });
    both.counts[side] = countOf(both.classes[side]);
    members[side].resize(both.counts[side]);
    for (auto [label, number] : llvm::enumerate(both.classes[side])) members[side][number] = label;
  }
  both.table.clear();
  for (unsigned first : members[0])
    for (unsigned second : members[1]) {
      both.table.push_back(one.cost(first, second));
      both.table.back() += other.cost(first, second);
    }
  return both;
}

void LabelProblem::addPair(unsigned a, unsigned b, ArrayRef<unsigned> classesOfA, ArrayRef<unsigned> classesOfB,
                           ArrayRef<LabelCost> table) {
  assert(classesOfA.size() == variables[a].size() && classesOfB.size() == variables[b].size() &&
         "expected a class for each label");
  unsigned rows = countOf(classesOfA), columns = countOf(classesOfB);
  assert(table.size() == size_t(rows) * columns && "expected a cost for each two classes");
  if (a == b) {
    for (unsigned label = 0; label < classesOfA.size(); ++label)
      addCost(a, label, table[classesOfA[label] * columns + classesOfB[label]]);
    return;
  }
  if (a > b) {
    std::vector<LabelCost> transposed;
    for (unsigned column = 0; column < columns; ++column)
      for (unsigned row = 0; row < rows; ++row) transposed.push_back(table[row * columns + column]);
    return addPair(b, a, classesOfB, classesOfA, transposed);
  }
  Pair pair = {{a, b}, {classesOfA.vec(), classesOfB.vec()}, {rows, columns}, {}};
  for (const LabelCost &cost : table) pair.table.push_back(checked(cost));
  auto [entry, isNew] = pairNumbers.try_emplace({a, b}, pairs.size());
  if (isNew)
    pairs.push_back(std::move(pair));
  else
    pairs[entry->second] = sum(pairs[entry->second], pair);
}

void LabelProblem::addCost(unsigned variable, unsigned label, LabelCost cost) {
  variables[variable][label] += checked(cost);
}

LabelCost LabelProblem::cost(ArrayRef<unsigned> labelling) const {
  assert(labelling.size() == variables.size() && "expected a label for each variable");
  LabelCost sum;
  for (size_t i = 0; i < variables.size(); ++i) sum += variables[i][labelling[i]];
  for (const Pair &pair : pairs) sum += pair.cost(labelling[pair.ends[0]], labelling[pair.ends[1]]);
  return sum;
}

/// The labels of a side that are kept, and of each class that they have a label.
static std::pair<std::vector<unsigned>, std::vector<unsigned>> keptLabels(const LabelProblem::Pair &pair, unsigned side,
                                                                          const std::vector<bool> &kept) {
  std::vector<unsigned> labels, members;
  std::vector<bool> isKnown(pair.counts[side]);
  for (unsigned label = 0; label < kept.size(); ++label) {
    if (!kept[label]) continue;
    labels.push_back(label);
    if (isKnown[pair.classes[side][label]]) continue;
    isKnown[pair.classes[side][label]] = true;
    members.push_back(label);
  }
  return {labels, members};
}

LabelProblem LabelProblem::restrictedTo(const LabelSets &kept) const {
  LabelProblem part;
  for (auto [costs, labels] : llvm::zip_equal(variables, kept)) {
    std::vector<LabelCost> left;
    for (auto [cost, isKept] : llvm::zip_equal(costs, labels))
      if (isKept) left.push_back(cost);
    part.addVariable(left);
  }
  for (const Pair &pair : pairs) {
    std::vector<unsigned> classes[2], members[2];
    for (unsigned side : {0, 1}) {
      auto [labels, firsts] = keptLabels(pair, side, kept[pair.ends[side]]);
      for (unsigned label : labels) {
        auto isSame = [&, side = side](unsigned other) {
          return pair.classes[side][label] == pair.classes[side][other];
        };
        classes[side].push_back(llvm::find_if(firsts, isSame) - firsts.begin());
      }
      members[side] = std::move(firsts);
    }
    std::vector<LabelCost> table;
    for (unsigned first : members[0])
      for (unsigned second : members[1]) table.push_back(pair.cost(first, second));
    part.addPair(pair.ends[0], pair.ends[1], classes[0], classes[1], table);
  }
  return part;
}
