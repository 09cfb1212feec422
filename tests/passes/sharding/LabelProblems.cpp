//===- LabelProblems.cpp - problems for tests of the solver ---------------===//

#include "tests/passes/sharding/LabelProblems.h"
#include <limits>

using namespace tessera;
using namespace tessera::test;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===- Random problems ---------------------------------------------------===//

namespace {
class RandomProblem {
public:
  RandomProblem(unsigned seed, const RandomShape &shape) : random(seed), shape(shape) {}

  LabelProblem make() {
    hasTies = flip(0.4), hasRealBytes = flip(0.3);
    bytesOfLabels = flip(0.8), bytesOfPairs = flip(0.3), forbids = shape.mayForbid && flip(0.4);
    unsigned count = draw(shape.leastVariables, shape.mostVariables);
    for (unsigned i = 0; i < count; ++i) {
      std::vector<LabelCost> labels(draw(shape.leastLabels, shape.mostLabels));
      for (LabelCost &label : labels) label = cost(bytesOfLabels, 0.05);
      problem.addVariable(labels);
    }
    addPairs(count);
    return std::move(problem);
  }

private:
  unsigned draw(unsigned low, unsigned high) { return std::uniform_int_distribution<unsigned>(low, high)(random); }
  bool flip(double share) { return std::uniform_real_distribution<>(0, 1)(random) < share; }

  LabelCost cost(bool hasBytes, double forbidden) {
    if (forbids && flip(forbidden)) return {infinity, 0};
    double seconds = hasTies ? draw(0, 4) : std::uniform_real_distribution<>(0, 1)(random);
    double bytes = hasRealBytes ? std::uniform_real_distribution<>(0, 100)(random) : draw(0, 20);
    return {seconds, hasBytes ? bytes : 0};
  }

  void addPair(unsigned a, unsigned b) {
    if (problem.labels(a).empty() || a == b) return;
    std::vector<LabelCost> table(problem.labels(a).size() * problem.labels(b).size());
    bool isSparse = flip(0.3);
    if (!flip(0.1))
      for (LabelCost &entry : table)
        if (!isSparse || flip(0.3)) entry = cost(bytesOfPairs, 0.15);
    problem.addPair(a, b, table);
  }

  void addPairs(unsigned count) {
    enum Structure { Chain, Tree, Cycle, Sparse, Dense };
    unsigned structure = draw(Chain, shape.mayBeDense ? Dense : Sparse);
    for (unsigned i = 1; i < count; ++i) {
      if (structure == Chain || structure == Cycle) addPair(flip(0.5) ? i - 1 : i, i - 1);
      if (structure == Chain || structure == Cycle) addPair(i - 1, i);
      if (structure == Tree) addPair(i, draw(0, i - 1));
      if (structure == Dense || structure == Sparse)
        for (unsigned j = 0; j < i; ++j)
          if (flip(structure == Dense ? 0.9 : 3.0 / count)) addPair(i, j);
    }
    if (structure == Cycle && count > 2) addPair(count - 1, 0);
  }

  std::mt19937 random;
  const RandomShape &shape;
  LabelProblem problem;
  bool hasTies = false, hasRealBytes = false, bytesOfLabels = false, bytesOfPairs = false, forbids = false;
};
} // namespace

LabelProblem test::randomProblem(unsigned seed, const RandomShape &shape) { return RandomProblem(seed, shape).make(); }

//===- A step of training -------------------------------------------------===//

namespace {
enum Axis { Rows, Length, Width, Heads, Inner, Vocabulary, axisCount };
using Axes = std::vector<Axis>;

/// Writes the ops of a step as variables.
class TrainingStep {
public:
  explicit TrainingStep(const StepShape &shape) : shape(shape) {
    sizes[Rows] = shape.rows, sizes[Length] = shape.length, sizes[Width] = shape.width, sizes[Heads] = shape.width;
    sizes[Inner] = 3.5 * shape.width, sizes[Vocabulary] = shape.vocabulary;
  }

  LabelProblem make() {
    constexpr double repeats = 10;
    times = 1;
    Op embedded = op({Rows, Length, Width}, {}, 1);
    Op table = parameter({Vocabulary, Width});
    read(table, embedded, {Vocabulary, Width});
    Op stream = embedded;
    for (int layer = 0; layer < shape.layers; ++layer) {
      times = repeats + layer;
      stream = addLayer(stream);
    }
    times = 1;
    Op logits = contraction(stream, {Rows, Length, Vocabulary}, {Width});
    Op loss = op({Rows, Length}, {Vocabulary}, 1);
    read(logits, loss, {Rows, Length, Vocabulary});
    for (auto step = backward.rbegin(); step != backward.rend(); ++step) (*step)();
    return std::move(problem);
  }

private:
  struct Op {
    unsigned variable;
    Axes axes;   ///< of its result
    Axes summed; ///< those that it sums over
    Axes all() const {
      Axes both = axes;
      both.insert(both.end(), summed.begin(), summed.end());
      return both;
    }
  };

  double elements(const Axes &axes) const {
    double count = 1;
    for (Axis axis : axes) count *= sizes[axis];
    return count;
  }
  size_t labelCount(const Axes &axes) const {
    size_t count = 1;
    for (size_t i = 0; i < shape.mesh.size(); ++i) count *= axes.size() + 1;
    return count;
  }
  /// The axis that a mesh axis divides, or `axisCount`.
  Axis divided(const Axes &axes, size_t label, size_t meshAxis) const {
    for (size_t i = 0; i < meshAxis; ++i) label /= axes.size() + 1;
    size_t choice = label % (axes.size() + 1);
    return choice == 0 ? axisCount : axes[choice - 1];
  }
  static bool has(const Axes &axes, Axis axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }
  /// By how many ranks a value with these axes is divided.
  double parts(const Axes &all, size_t label, const Axes &axes) const {
    double count = 1;
    for (size_t i = 0; i < shape.mesh.size(); ++i)
      if (has(axes, divided(all, label, i))) count *= shape.mesh[i];
    return count;
  }
  double bandwidth(size_t meshAxis) const { return meshAxis == 0 ? 300e9 : 25e9 / static_cast<double>(meshAxis); }

  /// An op with its own time, its exchanges of sums, and what it saves.
  Op op(Axes axes, Axes summed, double work, double savedBytes = 2) {
    Op made{0, std::move(axes), std::move(summed)};
    Axes all = made.all();
    std::vector<LabelCost> labels(labelCount(all));
    for (size_t label = 0; label < labels.size(); ++label) {
      double divided = parts(all, label, all), local = elements(made.axes) / parts(all, label, made.axes);
      double seconds = elements(all) * work / divided / (made.summed.empty() ? 1e12 : 4e14);
      for (size_t i = 0; i < shape.mesh.size(); ++i)
        if (has(made.summed, this->divided(all, label, i)))
          seconds += 1e-5 + 4 * local * (shape.mesh[i] - 1) / shape.mesh[i] / bandwidth(i);
      labels[label] = {times * seconds, times * std::floor(savedBytes * local)};
    }
    made.variable = problem.addVariable(labels);
    return made;
  }

  /// `user` reads a value with `axes` that `maker` makes.
  void read(const Op &maker, const Op &user, const Axes &axes) {
    Axes from = maker.all(), to = user.all();
    std::vector<LabelCost> table;
    for (size_t a = 0; a < labelCount(from); ++a)
      for (size_t b = 0; b < labelCount(to); ++b) table.push_back({times * exchange(from, a, to, b, axes), 0});
    problem.addPair(maker.variable, user.variable, table);
  }

  double exchange(const Axes &from, size_t a, const Axes &to, size_t b, const Axes &axes) const {
    double seconds = 0, local = 2 * elements(axes) / parts(from, a, axes);
    for (size_t i = 0; i < shape.mesh.size(); ++i) {
      Axis has = divided(from, a, i), wants = divided(to, b, i);
      if (!test(axes, has)) continue;
      if (!test(axes, wants)) wants = axisCount;
      if (has == wants) continue;
      double ranks = shape.mesh[i];
      seconds += 1e-5 + local * (ranks - 1) / (wants == axisCount ? 1 : ranks) / bandwidth(i);
    }
    return seconds;
  }
  static bool test(const Axes &axes, Axis axis) { return has(axes, axis); }

  void sameLayout(const Op &a, const Op &b) {
    size_t count = labelCount(a.all());
    std::vector<LabelCost> table(count * count, LabelCost{infinity, 0});
    for (size_t label = 0; label < count; ++label) table[label * count + label] = {};
    problem.addPair(a.variable, b.variable, table);
  }

  /// With the state of its optimizer.
  Op parameter(Axes axes) { return op(std::move(axes), {}, 0, 4 + 8); }

  /// Of `input` with a parameter of its own, forward and backward.
  Op contraction(const Op &input, Axes axes, Axes summed) {
    Op result = op(axes, summed, 2);
    Axes weightAxes;
    for (Axis axis : {Width, Heads, Inner, Vocabulary})
      if (has(axes, axis) || has(summed, axis)) weightAxes.push_back(axis);
    Op weight = parameter(weightAxes);
    read(input, result, input.axes);
    read(weight, result, weightAxes);
    afterwards([=, this](const Op &gradient) {
      Op toInput = op(input.axes, axes.back() == input.axes.back() ? Axes{} : Axes{axes.back()}, 2, 0);
      Op toWeight = op(weightAxes, {Rows, Length}, 2, 4);
      read(gradient, toInput, axes), read(gradient, toWeight, axes);
      read(weight, toInput, weightAxes), read(input, toWeight, input.axes);
      Op update = op(weightAxes, {}, 16, 0);
      read(toWeight, update, weightAxes), read(update, weight, weightAxes);
      return toInput;
    });
    return result;
  }

  /// Of values with the same axes, forward and backward.
  Op elementwise(const Op &input) {
    Op result = op(input.axes, {}, 4);
    read(input, result, input.axes);
    afterwards([=, this](const Op &gradient) {
      Op back = op(input.axes, {}, 6, 0);
      read(gradient, back, input.axes), read(input, back, input.axes);
      return back;
    });
    return result;
  }

  Op attention(const Op &queries) {
    Op result = op({Rows, Length, Heads}, {}, 4 * shape.length / 128);
    read(queries, result, queries.axes);
    afterwards([=, this](const Op &gradient) {
      Op back = op({Rows, Length, Heads}, {}, 10 * shape.length / 128, 0);
      read(gradient, back, queries.axes), read(queries, back, queries.axes);
      return back;
    });
    return result;
  }

  Op addLayer(const Op &stream) {
    Op afterAttention = residual(stream, [&](const Op &input) {
      Op queries = contraction(input, {Rows, Length, Heads}, {Width});
      return contraction(attention(queries), {Rows, Length, Width}, {Heads});
    });
    Op exit = residual(afterAttention, [&](const Op &input) {
      Op inner = contraction(input, {Rows, Length, Inner}, {Width});
      Op gate = contraction(input, {Rows, Length, Inner}, {Width});
      read(gate, inner, inner.axes);
      return contraction(elementwise(inner), {Rows, Length, Width}, {Inner});
    });
    sameLayout(stream, exit);
    return exit;
  }

  /// A normalised branch that is added to the stream.
  template <typename Branch> Op residual(const Op &stream, Branch branch) {
    Op inside = branch(elementwise(elementwise(stream)));
    Op sum = op(stream.axes, {}, 3);
    read(stream, sum, stream.axes), read(inside, sum, stream.axes);
    afterwards([=, this](const Op &gradient) {
      Op back = op(stream.axes, {}, 3, 0);
      read(gradient, back, stream.axes);
      return back;
    });
    return sum;
  }

  /// Backward ops come in the reverse order of the forward ones, each from the gradient that the one before made.
  void afterwards(std::function<Op(const Op &)> make) {
    double timesHere = times;
    backward.push_back([=, this] {
      times = timesHere;
      if (!gradient) gradient = op({Rows, Length, Vocabulary}, {}, 1, 0);
      gradient = make(*gradient);
    });
  }

  StepShape shape;
  double sizes[axisCount];
  double times = 1; ///< layers that are equal to this one
  LabelProblem problem;
  std::vector<std::function<void()>> backward;
  std::optional<Op> gradient;
};
} // namespace

LabelProblem test::trainingStep(const StepShape &shape) { return TrainingStep(shape).make(); }

void test::forEachLabelling(const LabelProblem &problem, const std::function<void(const Labelling &)> &visit) {
  Labelling labels(problem.size());
  for (;;) {
    visit(labels);
    size_t i = 0;
    while (i < labels.size() && ++labels[i] == problem.labels(i).size()) labels[i++] = 0;
    if (i == labels.size()) return;
  }
}
