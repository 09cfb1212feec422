//===- ShardingCosts.cpp - what a sharding costs on a mesh ----------------===//

#include "passes/sharding/search/ShardingCosts.h"
#include "passes/gemm/Gemm.h"
#include "passes/sharding/Sharding.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

ShardingCosts::ShardingCosts(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                             RecomputationWay recomputation)
    : graph(graph), ranks(mesh), model(devices.model), leastDivided(devices.leastDivided), recomputation(recomputation),
      links(devices.target, mesh, devices.machines), allToAll(model.exchangeFigures(ExchangeKind::AllToAll)),
      allGather(model.exchangeFigures(ExchangeKind::AllGather)) {
  bool canOverlap = llvm::any_of(graph.getEdges(), [](const ShardingEdge &edge) { return edge.besideIn != 0; });
  if (devices.target.overlapsExchanges && canOverlap) shares.assign(graph.getRepeats().size(), 0.0);
  labels.resize(graph.getNodes().size());
  for (unsigned node = 0; node < labels.size(); ++node) {
    addLabels(node, {}, 0);
    if (!maySayAgain(node)) continue;
    std::vector<Form> twice = labels[node];
    llvm::append_range(twice, labels[node]);
    labels[node] = std::move(twice);
  }
}

bool ShardingCosts::maySayAgain(unsigned node) const {
  bool mayBe = graph.getNodes()[node].isStack || graph.getNodes()[node].iterations > 0;
  return recomputation == RecomputationWay::Values && mayBe;
}

double ShardingCosts::runsOf(const ShardingNode &node) const {
  if (node.iterations == 0) return 1;
  return recomputation == RecomputationWay::Both ? 3 : recomputation == RecomputationWay::Segments ? 2 : 1;
}

double ShardingCosts::runsOf(unsigned node, unsigned label) const {
  const ShardingNode &ofNode = graph.getNodes()[node];
  return (saysAgain(node, label) && !ofNode.isStack ? 2 : 1) * runsOf(ofNode);
}

/// Of a stack.
double ShardingCosts::storedShare(const ShardingNode &node) const {
  if (recomputation == RecomputationWay::Both && node.isStack) return 0;
  return recomputation == RecomputationWay::Both || recomputation == RecomputationWay::Segments ? node.segmentShare : 1;
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

bool ShardingCosts::canDivideNode(unsigned number, const SizedAxis &axis, unsigned along) const {
  const ShardingNode &node = graph.getNodes()[number];
  if (axis.size < ranks[along]) return false;
  if (node.kind != ShardingNode::Kind::Ops) return true;
  StringRef name = graph.axisName(axis.id);
  return llvm::all_of(node.ops, [&](Operation *op) {
    bool hasAxis = llvm::any_of(spaceOf(op), [&](AxisAttr ofOp) { return ofOp.getName() == name; });
    return !hasAxis || canDivide(op, name, ranks[along]);
  });
}

/// All ways to go on along the mesh axes from one on.
void ShardingCosts::addLabels(unsigned node, Form form, unsigned along) {
  if (along == ranks.size()) {
    labels[node].push_back(form);
    return;
  }
  addLabels(node, form, along + 1);
  if (ranks[along] == 1) return;
  for (const SizedAxis &axis : graph.getNodes()[node].axes) {
    if (llvm::is_contained(form.along, axis.id) || !canDivideNode(node, axis, along)) continue;
    form.along[along] = axis.id;
    addLabels(node, form, along + 1);
    form.along[along] = wholeForm;
  }
  if (!graph.getNodes()[node].mayPend) return;
  form.along[along] = pendingForm;
  addLabels(node, form, along + 1);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

double ShardingCosts::elementsOf(const TensorShape &shape, const Form &form) const {
  double elements = 1;
  for (const SizedAxis &axis : shape.axes) {
    auto along = llvm::find(form.along, axis.id);
    int64_t size = along == form.along.end() ? axis.size : partSize(axis.size, ranks[along - form.along.begin()]);
    elements *= static_cast<double>(size);
  }
  return elements;
}

double ShardingCosts::bytesOf(const ShardedAccess &access, const Form &ofNode) const {
  return access.shape.elementBytes * elementsOf(access.shape, access.form(ofNode));
}

int64_t ShardingCosts::sizeOf(StringRef axis, int64_t size, const Form &form) const {
  for (auto [i, id] : llvm::enumerate(form.along))
    if (id != wholeForm && id != pendingForm && graph.axisName(id) == axis) return partSize(size, ranks[i]);
  return size;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

CallWork ShardingCosts::workOf(unsigned number, const Form &form) const {
  const ShardingNode &node = graph.getNodes()[number];
  CallWork work;
  double scoreBytes = 0; // of attention that is decomposed
  auto local = [&](NamedTensorType type) {
    int64_t elements = 1;
    for (AxisAttr axis : type.getAxes()) elements *= sizeOf(axis.getName(), axis.getSize(), form);
    return elements;
  };
  auto multiply = [&](NamedTensorType a, NamedTensorType b, ArrayRef<StringRef> over, Value typed) {
    MultiplyWork gemm;
    gemm.m = gemm.n = gemm.k = 1;
    gemm.type = elementTypeOf(tensorType(typed).getElementType()).value_or(ElementType::F32);
    for (AxisAttr axis : a.getAxes()) {
      int64_t size = sizeOf(axis.getName(), axis.getSize(), form);
      if (llvm::is_contained(over, axis.getName()))
        gemm.k *= size;
      else if (b.hasAxis(axis.getName()))
        gemm.count *= static_cast<double>(size);
      else
        gemm.m *= size;
    }
    for (AxisAttr axis : b.getAxes())
      if (!a.hasAxis(axis.getName())) gemm.n *= sizeOf(axis.getName(), axis.getSize(), form);
    return gemm;
  };
  // Ranks that divide rows or columns have parts of a band that differ, and compute all of theirs.
  auto shareOf = [&](const TiledMatrix *matrix) {
    if (!matrix) return 1.0;
    bool isDivided = llvm::any_of(form.along, [&](AxisId axis) {
      return axis != wholeForm && (axis == graph.axisNumber(matrix->rows) || axis == graph.axisNumber(matrix->columns));
    });
    return isDivided ? 1.0 : matrix->share;
  };
  auto isTiled = [&](const TiledMatrix *matrix) {
    return matrix && !llvm::is_contained(form.along, graph.axisNumber(matrix->columns));
  };
  auto timesMade = [&](const TiledMatrix *matrix, Value value) {
    NamedTensorType type = tensorType(value);
    bool isMade = isTiled(matrix) && type.hasAxis(matrix->rows) && type.hasAxis(matrix->columns);
    return isMade ? static_cast<double>(matrix->launches) : 1.0;
  };
  auto shared = [](int64_t elements, double share) { return std::llround(share * static_cast<double>(elements)); };
  for (Operation *op : node.ops) {
    if (auto contract = dyn_cast<ContractOp>(op)) {
      work.gemms.push_back(multiply(tensorType(contract.getLhs()), tensorType(contract.getRhs()),
                                    names(contract.getOver()), contract.getLhs()));
      const TiledMatrix *matrix = graph.matrixOf(op);
      work.gemms.back().isTiled = isTiled(matrix);
      work.gemms.back().count *= shareOf(matrix) * timesMade(matrix, contract.getResult());
      work.kind = work.gemms.back().isTiled ? CallKind::Kernel : CallKind::Gemm;
      continue;
    }
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      NamedTensorType q = tensorType(attention.getQ()), k = tensorType(attention.getK());
      MultiplyWork scores = multiply(q, k, names(attention.getHidden()), attention.getQ());
      AxisId key = graph.axisNumber(attention.getKey());
      scores.isTiled = key == wholeForm || !llvm::is_contained(form.along, key);
      double share = shareOf(graph.matrixOf(op));
      scores.count *= share;
      work.gemms.push_back(scores);
      std::swap(scores.n, scores.k);
      work.gemms.push_back(scores);
      double ofScores = scores.count * static_cast<double>(scores.m * scores.k);
      work.ops.push_back({ExpOp::getOperationName().drop_front(4), static_cast<int64_t>(ofScores)});
      if (!scores.isTiled)
        scoreBytes += ofScores * static_cast<double>(tensorType(attention.getShift()).getElementBytes());
      continue;
    }
    if (op->hasTrait<traits::HasNoArithmetic>() && !isa<ElementwiseOpInterface>(op)) continue;
    Value computed = op->getResult(0);
    if (auto reduce = dyn_cast<ReduceOp>(op)) computed = reduce.getX();
    if (auto scatter = dyn_cast<ScatterAddOp>(op)) computed = scatter.getUpdates();
    if (isa<DecomposeOpInterface>(op)) computed = op->getOperand(0);
    const TiledMatrix *matrix = graph.matrixOf(computed);
    int64_t elements = shared(local(tensorType(computed)), shareOf(matrix) * timesMade(matrix, computed));
    work.ops.push_back({op->getName().stripDialect(), elements});
  }
  SmallVector<int64_t, 4> caches = model.cacheBytes();
  work.traffic.assign(caches.size() + 1, 0.0);
  auto access = [&](double bytes, double times) {
    size_t level = llvm::find_if(caches, [&](int64_t cache) { return 2 * bytes <= cache; }) - caches.begin();
    work.traffic[level] += times * bytes;
  };
  // Made, and read for the largest one, for the sum and for the values.
  if (scoreBytes > 0) access(scoreBytes, 4);
  // Of a table only what is read of it.
  auto gather = node.ops.size() == 1 ? dyn_cast<GatherOp>(node.ops.front()) : GatherOp();
  auto isInMemory = [&](const ShardedAccess &value) {
    return value.columns == wholeForm || llvm::is_contained(form.along, value.columns);
  };
  for (const ShardedAccess &read : node.read) {
    if (!isInMemory(read)) continue;
    double bytes = bytesOf(read, form);
    if (gather) bytes = std::min(bytes, static_cast<double>(local(gather.getType())) * read.shape.elementBytes);
    access(bytes, 1);
  }
  for (const ShardedAccess &written : node.written)
    if (isInMemory(written)) access(bytesOf(written, form), model.readsLinesToWrite() ? 2 : 1);
  return work;
}

ShardingCosts::OpTimes ShardingCosts::timesOf(unsigned node, const Form &form) const {
  const ShardingNode &ops = graph.getNodes()[node];
  OpTimes times;
  if (ops.kind != ShardingNode::Kind::Ops) return times;
  for (const auto &[axis, shape] : ops.combined) {
    auto along = llvm::find(form.along, axis);
    if (along == form.along.end()) continue;
    Form whole;
    for (auto [i, divided] : llvm::enumerate(form.along))
      if (llvm::any_of(shape.axes, [&](const SizedAxis &of) { return of.id == divided; })) whole.along[i] = divided;
    Form parts = whole;
    parts.along[along - form.along.begin()] = pendingForm;
    DividedShape divided(shape, ranks, leastDivided);
    times.exchanges += ops.runs * secondsOfExchange(divided, parts, whole);
  }
  // A change of shape is a view, or a part of what reads it.
  bool isView = ops.ops.size() == 1 && ops.ops.front()->hasTrait<traits::IsReshape>();
  if (!isView) times.kernels = ops.runs * model.secondsOf(workOf(node, form));
  return times;
}

const std::vector<std::vector<ShardingCosts::OpTimes>> &ShardingCosts::getOpTimes() {
  if (!opTimes.empty()) return opTimes;
  for (auto [i, forms] : llvm::enumerate(labels)) {
    std::vector<OpTimes> &ofNode = opTimes.emplace_back();
    for (const Form &form : forms) ofNode.push_back(timesOf(i, form));
  }
  return opTimes;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// `bytes`: from each rank for each other one.
double ShardingCosts::secondsOfMessage(ExchangeKind kind, unsigned along, double bytes) const {
  const ExchangeFigures &figures = kind == ExchangeKind::AllToAll ? allToAll : allGather;
  return figures.secondsOf(links.workOf(kind, along, static_cast<int64_t>(bytes)));
}

ShardingCosts::DividedShape::DividedShape(const TensorShape &shape, ArrayRef<int64_t> ranks, int64_t leastDivided)
    : bytes(shape.elementBytes), termBytes(shape.termBytes),
      leastDividedBytes(shape.elementBytes * static_cast<double>(leastDivided)) {
  for (const SizedAxis &axis : shape.axes) {
    bytes *= static_cast<double>(axis.size), termBytes *= static_cast<double>(axis.size);
    for (auto [i, count] : llvm::enumerate(ranks))
      parts[i][axis.id] = static_cast<double>(partSize(axis.size, count)) / static_cast<double>(axis.size);
  }
}

/// As `partition` and `localize` build it: sums are completed first, along the innermost mesh axis first, then what is
/// divided in another way becomes whole, along the outermost one first, and of what is whole a rank takes its part:
/// before the sums if it can.
double ShardingCosts::secondsOfExchange(const DividedShape &shape, Form from, const Form &to) const {
  // Sums are delayed only behind ops that leave mesh axes alone, or take a part of what is whole.
  bool staysPending = false, changes = false, isSum = false;
  auto isDivision = [](AxisId axis) { return axis != wholeForm && axis != pendingForm; };
  double part = 1; // of the whole
  for (unsigned i = 0; i < ranks.size(); ++i) {
    AxisId before = from.along[i], after = to.along[i];
    if (before != after && after == pendingForm) return INFINITY;
    staysPending |= before == pendingForm && after == pendingForm;
    changes |= before != after && before != wholeForm;
    isSum |= before == pendingForm && after != pendingForm;
    if (isDivision(before)) part *= shape.parts[i][before];
  }
  if (staysPending && changes) return INFINITY;
  auto takePart = [&](unsigned i) {
    from.along[i] = to.along[i];
    part *= shape.parts[i][to.along[i]];
  };
  auto isTaken = [&](AxisId axis) { return llvm::is_contained(from.along, axis); };
  for (unsigned i = 0; isSum && i < ranks.size(); ++i)
    if (from.along[i] == wholeForm && isDivision(to.along[i]) && !isTaken(to.along[i])) takePart(i);
  double seconds = 0;
  SmallVector<unsigned, mostMeshAxes> summedInParts;
  for (unsigned i = ranks.size(); i-- > 0;) {
    if (from.along[i] != pendingForm || to.along[i] == pendingForm) continue;
    auto count = static_cast<double>(ranks[i]);
    double terms = shape.termBytes * part;
    bool isScattered = to.along[i] != wholeForm && !isTaken(to.along[i]);
    if (!isScattered && shape.bytes * part < shape.leastDividedBytes) {
      seconds += secondsOfMessage(ExchangeKind::AllGather, i, terms);
      from.along[i] = wholeForm;
      continue;
    }
    seconds += secondsOfMessage(ExchangeKind::AllToAll, i, terms / count);
    if (isScattered) {
      takePart(i);
      continue;
    }
    part /= count;
    summedInParts.push_back(i);
  }
  for (unsigned i : llvm::reverse(summedInParts)) {
    seconds += secondsOfMessage(ExchangeKind::AllGather, i, shape.bytes * part);
    part *= static_cast<double>(ranks[i]);
    from.along[i] = wholeForm;
  }
  for (unsigned i = 0; i < ranks.size(); ++i) {
    if (from.along[i] == to.along[i] || from.along[i] == wholeForm) continue;
    seconds += secondsOfMessage(ExchangeKind::AllGather, i, shape.bytes * part);
    part /= shape.parts[i][from.along[i]];
    from.along[i] = wholeForm;
  }
  return seconds;
}

/// Many edges have the same.
const std::vector<double> &ShardingCosts::exchangesOf(const TensorShape &shape, const std::vector<Form> &produced,
                                                      const std::vector<Form> &wanted) {
  std::vector<int64_t> key{static_cast<int64_t>(8 * shape.elementBytes), static_cast<int64_t>(8 * shape.termBytes)};
  for (const SizedAxis &axis : shape.axes) llvm::append_values(key, axis.id, axis.size);
  for (const std::vector<Form> *forms : {&produced, &wanted}) {
    key.push_back(-1);
    for (const Form &form : *forms) key.push_back(form.number());
  }
  auto [known, isNew] = exchanges.try_emplace(std::move(key));
  if (!isNew) return known->second;
  DividedShape divided(shape, ranks, leastDivided);
  known->second.reserve(produced.size() * wanted.size());
  for (const Form &from : produced)
    for (const Form &to : wanted) known->second.push_back(secondsOfExchange(divided, from, to));
  return known->second;
}

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

ShardingCosts::FormsOfNode ShardingCosts::formsOf(unsigned node, const FormMap &map) const {
  FormsOfNode result;
  result.hasAgain = maySayAgain(node);
  DenseMap<uint64_t, unsigned> known;
  for (auto [label, ofNode] : llvm::enumerate(labels[node])) {
    Form form = map(ofNode);
    auto [number, isNew] = known.try_emplace(form.number(), result.forms.size());
    if (isNew) result.forms.push_back(form);
    result.classes.push_back(result.hasAgain ? 2 * number->second + saysAgain(node, label) : number->second);
  }
  return result;
}

/// Whether two forms divide an axis along the same mesh axis, or not at all.
static bool areTogether(const Form &some, const Form &others, AxisId axis) {
  return llvm::all_of(llvm::zip(some.along, others.along),
                      [&](auto pair) { return (std::get<0>(pair) == axis) == (std::get<1>(pair) == axis); });
}

/// What the label of a node says is alive.
void ShardingCosts::forEachAlive(unsigned number, unsigned label, VisitAlive visit) const {
  const ShardingNode &node = graph.getNodes()[number];
  if (node.isStack && saysAgain(number, label)) return;
  const Form &form = labels[number][label];
  double share = storedShare(node);
  for (const LiveTensor &alive : node.alive) visit(share * bytesOf(alive.tensor, form), alive.life);
  for (const auto &[axes, alive] : node.aliveInParts)
    if (llvm::any_of(axes, [&](AxisId axis) { return llvm::is_contained(form.along, axis); }))
      visit(bytesOf(alive.tensor, form), alive.life);
}

/// What is received is not exchanged again, but stored: as `rematerialize` does.
void ShardingCosts::forEachAlive(const ShardingEdge &edge, const EdgeEnds &ends, double exchangeSeconds,
                                 VisitAlive visit) const {
  using Copy = ShardingEdge::Copy;
  bool isExchanged = exchangeSeconds > 0;
  if (isExchanged && edge.copy == Copy::Sent)
    visit(edge.shape.termBytes * elementsOf(edge.shape, ends.produced), ends.copied);
  if (isExchanged && edge.copy == Copy::Received)
    visit(edge.shape.elementBytes * elementsOf(edge.shape, ends.wanted), ends.copied);
  const ShardingNode &reader = graph.getNodes()[edge.to];
  if (!ends.toAgain || reader.isStack) return;
  bool isStored = edge.again == ShardingEdge::Again::Kept ||
                  (edge.again == ShardingEdge::Again::Computed && !ends.fromAgain) || isExchanged;
  if (isStored) visit(reader.iterations * edge.shape.elementBytes * elementsOf(edge.shape, ends.wanted), edge.stacked);
}

const ShardingCosts::EdgeForms &ShardingCosts::formsOf(unsigned number) {
  edgeForms.resize(graph.getEdges().size());
  EdgeForms &forms = edgeForms[number];
  if (forms.seconds) return forms;
  const ShardingEdge &edge = graph.getEdges()[number];
  forms.from = formsOf(edge.from, edge.produced), forms.to = formsOf(edge.to, edge.wanted);
  forms.seconds = &exchangesOf(edge.shape, forms.from.forms, forms.to.forms);
  return forms;
}

void ShardingCosts::addEdge(LabelProblem &problem, unsigned number, const MomentWeights &weights) {
  const ShardingEdge &edge = graph.getEdges()[number];
  const auto &[from, to, exchanges] = formsOf(number);
  bool isStack = graph.getNodes()[edge.to].isStack;
  bool countsCopy = edge.copy != ShardingEdge::Copy::None && weights.of(edge.copied) > 0;
  bool countsBytes = countsCopy || (to.hasAgain && weights.of(edge.stacked) > 0);
  double factor = factorOf(edge);
  auto costOf = [&](unsigned made, unsigned read) -> LabelCost {
    const Form &produced = from.forms[from.formOf(made)], &wanted = to.forms[to.formOf(read)];
    double seconds = (*exchanges)[from.formOf(made) * to.forms.size() + to.formOf(read)];
    bool fromAgain = from.saysAgain(made), toAgain = to.saysAgain(read);
    if (edge.together != wholeForm && !areTogether(produced, wanted, edge.together)) return {INFINITY, 0};
    if (toAgain && isStack && !fromAgain) return {INFINITY, 0};
    if (!countsBytes) return {factor * seconds, 0};
    double counted = 0;
    EdgeEnds ends{produced, wanted, fromAgain, toAgain, edge.copied};
    forEachAlive(edge, ends, seconds, [&](double bytes, Life life) { counted += weights.of(life) * bytes; });
    return {factor * seconds, counted};
  };
  std::vector<LabelCost> table;
  table.reserve(size_t(from.countClasses()) * to.countClasses());
  for (unsigned made = 0; made < from.countClasses(); ++made)
    for (unsigned read = 0; read < to.countClasses(); ++read) table.push_back(costOf(made, read));
  problem.addPair(edge.from, edge.to, from.classes, to.classes, table);
}

LabelProblem ShardingCosts::problem(const MomentWeights &weights) {
  LabelProblem problem;
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    std::vector<LabelCost> costs;
    double share = shareOfKernels(node);
    for (unsigned label = 0; label < labels[i].size(); ++label) {
      OpTimes times = getOpTimes()[i][label];
      LabelCost cost{runsOf(i, label) * (share * times.kernels + times.exchanges), 0};
      forEachAlive(i, label, [&](double bytes, Life life) { cost.bytes += weights.of(life) * bytes; });
      costs.push_back(cost);
    }
    problem.addVariable(costs);
  }
  for (unsigned edge = 0; edge < graph.getEdges().size(); ++edge) addEdge(problem, edge, weights);
  return problem;
}
