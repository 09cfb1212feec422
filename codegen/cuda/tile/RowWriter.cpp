//===- RowWriter.cpp - row values of a tiled op -----------------------------===//

#include "codegen/cuda/tile/RowWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

Sweep RowWriter::planSweep(unsigned number) const {
  return tessera::planSweep(kernel->plan, number,
                            [&](Value value) { return kernel->isRowValue(value) && scope.isBound(value); });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void RowWriter::declareAccumulators(unsigned number) {
  for (ReduceOp reduce : planSweep(number).reduces) {
    if (kernel->plan.isSoftmaxSum(reduce.getResult())) continue;
    Accumulator accumulator = accumulatorFor(kernel->plan, reduce);
    std::string name = scope.unique(accumulator.name);
    accumulators[reduce.getResult()] = name;
    scope.text.line(accumulator.type + " " + name + "[2] = {" + accumulator.start + ", " + accumulator.start + "};");
  }
}

void RowWriter::declareSoftmaxElements(unsigned number) {
  elementArrays.clear();
  for (Value max : llvm::make_first_range(accumulators)) {
    if (!kernel->plan.softmaxSumOf(max) || kernel->plan.stages.lookup(max) != number) continue;
    std::string name = elementArrays[max] = scope.unique("numbers");
    scope.text.line("tsr::vec<" + scalarType(tensorType(max).getElementType()) + ", " +
                    Twine(2 * plan.fragmentsOfTile()) + "> " + name + "[2];");
  }
}

void RowWriter::accumulate(ReduceOp reduce, const std::string &x) {
  std::string total = accumulators.lookup(reduce.getResult()) + "[v / 2]";
  bool hasTail = plan.hasOtherTail();
  if (auto it = elementArrays.find(reduce.getResult()); it != elementArrays.end())
    scope.text.line(it->second + "[v / 2][2 * n + v % 2] = " + (hasTail ? "inside ? " : "") + x +
                    (hasTail ? " : -tsr::infinity()" : "") + ";");
  else
    scope.text.line((hasTail ? "if (inside) " : "") + total + " = " + cuda::reduction(reduce.getKind()) + "::combine(" +
                    total + ", " + x + ");");
}

void RowWriter::addSoftmaxElements() {
  for (auto &[max, name] : elementArrays)
    for (const char *half : {"[0]", "[1]"})
      scope.text.line(accumulators.lookup(max) + half + ".add(" + name + half + ");");
}

void RowWriter::reduceOverLanes(unsigned number) {
  for (Value item : kernel->plan.items) {
    auto reduce = dyn_cast_if_present<ReduceOp>(item.getDefiningOp());
    if (!reduce || kernel->plan.stages.lookup(item) != number || kernel->plan.isSoftmaxSum(item)) continue;
    std::string name = accumulators.lookup(item), op = accumulatorFor(kernel->plan, reduce).op;
    for (const char *half : {"[0]", "[1]"})
      scope.text.line(name + half + " = tsr::warp_reduce<" + op + ", 4>(" + name + half + ");");
    Type element = reduce.getType().getElementType(), type = accumulatorType(element);
    Binding binding{name, "", Multiplicity::PerRow};
    if (Value sum = kernel->plan.softmaxSumOf(item)) {
      scope.bind(sum, {name, ".sum", Multiplicity::PerRow});
      binding.suffix = ".max";
    }
    if (element != type) binding.prefix = (scalarType(element) + "(" + name).str(), binding.suffix = ")";
    scope.bind(item, binding);
  }
}

void RowWriter::bindOnlineMaximum() {
  Binding binding{runningSoftmax(), ".max", Multiplicity::PerRow};
  if (double scale = plan.onlineScale(); scale != 1) {
    binding.prefix = "(" + literal(scale, tensorType(plan.online->max).getElementType()) + " * " + binding.prefix;
    binding.suffix += ")";
  }
  scope.bind(plan.online->max, binding);
}

/// All lanes of a row have the same maximum (`tsr::advance`), so only the sums are combined.
void RowWriter::reduceOnlineSoftmax() {
  std::string running = runningSoftmax();
  for (const char *half : {"[0]", "[1]"})
    scope.text.line(running + half + ".sum = tsr::warp_reduce<tsr::Sum, 4>(" + running + half + ".sum);");
  bindOnlineMaximum();
  scope.bind(plan.online->sum, {running, ".sum", Multiplicity::PerRow});
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Declares the index of row `h` of a lane.
std::string RowWriter::declareRow() {
  std::string name = scope.unique(plan.axes.rows.getName()), line = "own + 8 * h";
  if (plan.hasOwnTail()) line = "tsr::clamp(" + line + ", " + std::to_string(plan.axes.rows.getSize()) + ")";
  scope.text.line("const " + scope.indexType + " " + name + " = " + line + ";");
  return name;
}

/// Stores a result of the kernel if it is a result of the tiled op. One of the lanes that share a row does so.
void RowWriter::storeResult(unsigned number) {
  std::string where = "member == 0";
  if (plan.hasOwnTail()) where += " && own + 8 * h < " + std::to_string(plan.axes.rows.getSize());
  for (unsigned argument : scope.resultArguments(kernel->op->getResult(number)))
    scope.text.line("if (" + where + ") " + scope.parameters[argument] + "[" +
                    scope.expression(kernel->plan.writes[number].offset) +
                    "] = " + scope.use(kernel->plan.yield().getValues()[number]) + ";");
}

void RowWriter::writeStage(unsigned stage) {
  SmallVector<Value> items;
  SmallVector<unsigned> stores;
  for (Value item : kernel->plan.items)
    if (kernel->isRowValue(item) && kernel->plan.stages.lookup(item) == stage &&
        !isa_and_nonnull<ReduceOp>(item.getDefiningOp()))
      items.push_back(item);
  if (stage == kernel->plan.sweeps)
    for (auto [i, result] : llvm::enumerate(kernel->op->getResults()))
      if (!plan.isMatrix(result)) stores.push_back(i);
  if (items.empty() && stores.empty()) return;
  Text &text = scope.text;
  llvm::DenseMap<Value, std::string> arrays;
  for (Value item : items) {
    Operation *op = item.getDefiningOp();
    if (isa_and_nonnull<ConstantOp>(op)) continue;
    arrays[item] = scope.unique(op ? op->getName().stripDialect() : StringRef("row"));
    text.line(scalarType(tensorType(item).getElementType()) + " " + arrays[item] + "[2];");
  }
  text.line("#pragma unroll");
  text.open("for (int h = 0; h < 2; ++h)");
  scope.frames.emplace_back();
  scope.rowIndex = "h";
  scope.enter(*kernel);
  scope.indices[kernel->rowsLoop()] = declareRow();
  for (Value item : items) {
    scope.writeItem(item);
    if (auto it = arrays.find(item); it != arrays.end()) text.line(it->second + "[h] = " + scope.use(item) + ";");
  }
  for (unsigned number : stores) storeResult(number);
  scope.frames.pop_back();
  text.close();
  for (Value item : items) {
    if (auto it = arrays.find(item); it != arrays.end())
      scope.bind(item, {it->second, "", Multiplicity::PerRow});
    else
      scope.bind(item, {literal(item.getDefiningOp<ConstantOp>().getValue(), tensorType(item).getElementType()), ""});
  }
}
