//===- SamplesOfComposites.cpp - random composites and repeats -------------===//

#include "tests/ir/Samples.h"
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Softmax, layer norm, cross entropy
//===----------------------------------------------------------------------===//

static SmallVector<Value> softmaxSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1);
  Value x = s.input(axes);
  return {SoftmaxOp::create(s, s.getLoc(), x.getType(), x, s.choose(axes, 1, 1)[0])};
}

static SmallVector<Value> layerNormSample(Sample &s) {
  Sample::Axes axes = s.someAxes(1), over = s.choose(axes, 1, 2);
  s.setSize(over[0], s.integer(2, 5));
  Value x = s.input(axes);
  NamedTensorType rows = tensorType(x).withAxes(s.without(tensorType(x), refs(over)));
  // A large epsilon: two elements in a row would else give a result that is nearly constant.
  auto op = LayerNormOp::create(s, s.getLoc(), TypeRange{x.getType(), rows}, x, s.strings(refs(over)),
                                s.getF64FloatAttr(0.1));
  return {op.getResult(), op.getRstd()};
}

static SmallVector<Value> crossEntropySample(Sample &s) {
  Sample::Axes axes = s.someAxes(1), at = s.choose(axes, 1, 1);
  Value logits = s.input(axes);
  Value label = s.positions(s.choose({"b", "c", "e"}, 0, 2), -1, s.axis(at[0]).getSize());
  NamedTensorType rows = tensorType(logits).withAxes(s.without(tensorType(logits), refs(at)));
  SmallVector<AxisAttr> labelAxes = s.without(tensorType(label), refs(at));
  NamedTensorType labels = tensorType(label).withAxes(labelAxes);
  // A label cannot have the axis of the classes.
  if (labels != label.getType()) label = s.reduce(ReduceKind::Max, label, refs(at));
  NamedTensorType loss = s.type(s.unite({rows, labels}), s.getF64Type());
  auto op = CrossEntropyOp::create(s, s.getLoc(), TypeRange{loss, loss, loss}, logits, label, at[0]);
  return {op.getLoss(), op.getShift(), op.getInverseSum()};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// A causal mask; where it is strict the first row sees nothing.
enum class Mask { None, Causal, Strict };

/// What the region of an attention may do to a score; `capture` is null where there is none.
static Value changeScore(Sample &s, Value score, Value capture, Mask mask) {
  Value changed = s.mul(score, 0.5);
  if (capture) changed = s.coin() ? s.add(changed, capture) : s.mul(changed, capture);
  if (s.coin()) changed = s.mul(s.unary<TanhOp>(s.mul(changed, 1 / 1.5)), 1.5); // a soft cap
  if (mask == Mask::None) return changed;
  Value sees =
      s.compare(mask == Mask::Causal ? Predicate::GE : Predicate::GT, s.index(s.axis("q")), s.index(s.axis("key")));
  return s.select(sees, changed, s.scalar(-std::numeric_limits<double>::infinity(), s.getF64Type()));
}

static SmallVector<Value> attentionSample(Sample &s) {
  Sample::Axes shared = s.choose({"a", "b"}, 0, 2), hidden = s.choose({"d", "e"}, 1, 2);
  auto with = [](Sample::Axes axes, const Sample::Axes &more) {
    return axes.insert(axes.end(), more.begin(), more.end()), axes;
  };
  // Keys and values may lack an axis of the queries (one head of keys for all).
  Sample::Axes keys = s.integer(0, 3) ? shared : s.choose(shared, 0, 1);
  Value q = s.input(with(with(shared, {"q"}), hidden)), k = s.input(with(with(keys, {"key"}), hidden));
  Value v = s.input(with(with(keys, {"key"}), s.coin() ? hidden : Sample::Axes{"f"}));
  SmallVector<Value> captures;
  if (s.coin()) captures.push_back(s.input(s.choose({"a", "key", "q"}, 0, 2)));
  NamedTensorType score = s.type(s.unite({tensorType(q), tensorType(k)}), s.getF64Type());
  score = score.withAxes(s.without(score, refs(hidden)));
  if (!captures.empty())
    for (AxisAttr axis : tensorType(captures[0]).getAxes())
      if (!score.hasAxis(axis.getName())) captures[0] = s.sum(captures[0], axis.getName());
  NamedTensorType rows = score.withAxes(s.without(score, {"key"}));
  NamedTensorType result =
      s.type(s.without(s.type(s.unite({score, tensorType(v)}), s.getF64Type()), {"key"}), s.getF64Type());

  auto op = AttentionOp::create(s, s.getLoc(), TypeRange{result, rows, rows}, q, k, v, captures,
                                s.strings(refs(hidden)), s.getStringAttr("key"));
  OpBuilder::InsertionGuard guard(s);
  Block *block = s.createBlock(&op.getScore());
  Value argument = block->addArgument(score, s.getLoc());
  Value capture = captures.empty() ? Value() : block->addArgument(captures[0].getType(), s.getLoc());
  auto mask = static_cast<Mask>(s.integer(0, 2));
  YieldOp::create(s, s.getLoc(), changeScore(s, argument, capture, mask));
  if (s.coin()) { // what is kept of the probabilities, scaled
    Block *weight = s.createBlock(&op.getWeight());
    Value p = weight->addArgument(score, s.getLoc());
    Value factor = captures.empty() ? Value() : weight->addArgument(captures[0].getType(), s.getLoc());
    Value kept = s.mul(p, factor && s.coin() ? factor : s.scalar(1.25, s.getF64Type()));
    Value sees = s.compare(Predicate::NE, s.index(s.axis("key")), s.scalar(1, s.getI32Type()));
    YieldOp::create(s, s.getLoc(), s.select(sees, kept, s.scalar(0, s.getF64Type())));
  }
  return {op.getResult(), op.getShift(), op.getInverseSum()};
}

void tessera::test::addCompositeSamples(SampleTable &table) {
  table["tsr.softmax"] = softmaxSample;
  table["tsr.layer_norm"] = layerNormSample;
  table["tsr.cross_entropy"] = crossEntropySample;
  table["tsr.attention"] = attentionSample;
}

//===----------------------------------------------------------------------===//
// Repeat
//===----------------------------------------------------------------------===//

namespace {
/// One repeat with any mix of carried, sliced, invariant and stacked values.
struct RandomRepeat {
  Sample &s;
  std::string axis;
  int depth;
  SmallVector<Value> carried, sliced, invariants, carriedArgs, slicedArgs, invariantArgs;
  Value induction;

  void chooseOperands() {
    s.setSize(axis, s.integer(1, 4));
    for (int i = s.integer(0, 2); i >= 0; --i) carried.push_back(s.input(s.choose({"a", "b"}, 0, 2), -1, 1));
    for (int i = s.integer(0, 2); i > 0; --i) {
      Sample::Axes axes = s.choose({"a", "b"}, 0, 2);
      axes.push_back(axis);
      sliced.push_back(s.input(axes, -1, 1));
    }
    for (int i = s.integer(0, 2); i > 0; --i) invariants.push_back(s.input(s.choose({"a", "b"}, 0, 2), -1, 1));
    if (s.coin()) invariants.push_back(s.positions({"a"}, 0, 2));
  }

  void addArguments(Block &block) {
    induction = block.addArgument(s.scalarType(s.getI32Type()), s.getLoc());
    for (Value value : carried) carriedArgs.push_back(block.addArgument(value.getType(), s.getLoc()));
    for (Value value : sliced) {
      NamedTensorType type = tensorType(value);
      slicedArgs.push_back(block.addArgument(type.withAxes(s.without(type, {axis})), s.getLoc()));
    }
    for (Value value : invariants) invariantArgs.push_back(block.addArgument(value.getType(), s.getLoc()));
  }

  /// A bounded function of everything there is in the body.
  Value mix(ArrayRef<Value> pool) {
    Value x = pool[s.integer(0, pool.size() - 1)];
    for (int i = s.integer(1, 3); i > 0; --i) {
      Value y = pool[s.integer(0, pool.size() - 1)];
      switch (s.integer(0, 3)) {
      case 0:
        x = s.unary<TanhOp>(s.add(x, y));
        break;
      case 1:
        x = s.unary<SinOp>(s.mul(x, y));
        break;
      case 2:
        x = s.mul(s.sub(x, y), 0.5);
        break;
      default:
        x = s.select(s.compare(Predicate::LT, x, y), x, s.mul(y, 0.7));
        break;
      }
    }
    return x;
  }

  SmallVector<Value> buildBody() {
    SmallVector<Value> pool(carriedArgs);
    pool.append(slicedArgs);
    for (Value value : invariantArgs)
      pool.push_back(tensorType(value).getElementType().isF64() ? value : s.cast(value, s.getF64Type()));
    if (s.coin()) pool.push_back(s.mul(s.cast(induction, s.getF64Type()), 0.3));
    if (depth > 0 && s.integer(0, 3) == 0) pool.push_back(buildInner(pool));
    SmallVector<Value> yielded;
    for (Value argument : carriedArgs) {
      Value next = s.broadcast(s.sumTo(mix(pool), tensorType(argument)), tensorType(argument));
      yielded.push_back(s.integer(0, 4) ? next : argument);
      pool.push_back(next);
    }
    for (int i = s.integer(0, 2); i > 0; --i) yielded.push_back(s.integer(0, 4) ? mix(pool) : pool[0]);
    return yielded;
  }

  /// A repeat inside the body, over values of the body.
  Value buildInner(ArrayRef<Value> pool) {
    RandomRepeat inner{s, "inner", 0, {pool[0]}, {}, {pool.back()}, {}, {}, {}, {}};
    s.setSize("inner", 2);
    return inner.build()[0];
  }

  SmallVector<Value> build() {
    auto body = std::make_unique<Region>();
    SmallVector<Value> yielded;
    SmallVector<Type> types;
    {
      OpBuilder::InsertionGuard guard(s);
      Block *block = s.createBlock(body.get());
      addArguments(*block);
      yielded = buildBody();
      YieldOp::create(s, s.getLoc(), yielded);
    }
    for (size_t i = 0; i < yielded.size(); ++i)
      types.push_back(i < carried.size() ? tensorType(yielded[i]) : s.withAxis(tensorType(yielded[i]), s.axis(axis)));
    auto op = RepeatOp::create(s, s.getLoc(), types, s.axis(axis), s.coin() ? s.getUnitAttr() : UnitAttr(), carried,
                               sliced, invariants, ArrayAttr());
    op.getBody().takeBody(*body);
    return llvm::to_vector_of<Value>(op.getResults());
  }
};
} // namespace

void tessera::test::addRepeatSamples(SampleTable &table) {
  table["tsr.repeat"] = [](Sample &s) {
    RandomRepeat repeat{s, "layer", 1, {}, {}, {}, {}, {}, {}, {}};
    repeat.chooseOperands();
    return repeat.build();
  };
}
