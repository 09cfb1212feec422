//===- KernelWriter.cpp - from a kernel's plan to CUDA C++ ------------------===//

#include "codegen/cuda/KernelWriter.h"
#include "codegen/cuda/Scalars.h"
#include "ir/Program.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// What a name in a kernel must not be: words of C++ that a model may use as names, and names that the writer gives.
static constexpr llvm::StringLiteral reserved[] = {
    "tsr",      "point",    "lane",   "active",    "s",        "k",       "j",        "int",       "float",
    "double",   "long",     "short",  "char",      "bool",     "void",    "auto",     "const",     "for",
    "if",       "else",     "while",  "do",        "class",    "struct",  "return",   "new",       "delete",
    "this",     "union",    "using",  "switch",    "case",     "default", "signed",   "unsigned",  "and",
    "or",       "not",      "xor",    "true",      "false",    "goto",    "break",    "continue",  "static",
    "template", "typename", "try",    "catch",     "throw",    "enum",    "export",   "extern",    "inline",
    "operator", "private",  "public", "protected", "register", "virtual", "volatile", "namespace", "friend",
    "explicit", "mutable",  "sizeof", "main"};

/// Largest number that an index may reach as an int.
static constexpr int64_t largestInt = int64_t(1) << 31;

KernelWriter::KernelWriter(const KernelPlan &plan, const KernelSchedule &schedule)
    : plan(plan), schedule(schedule), indices(plan.sizes.size()) {
  for (StringRef word : reserved) taken.insert(word);
  KernelOp kernel = plan.kernel;
  int64_t most = schedule.blocks() * schedule.pointsOfBlock() * schedule.vector;
  for (int64_t size : plan.sizes) most = std::max(most, size);
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(kernel.getOperands()), SmallVector<Value>(kernel.getResults())))
    most = std::max(most, tensorType(value).getNumElements());
  for (auto &[op, expr] : plan.positions) {
    int64_t reach = expr.constant;
    for (auto [coefficient, size] : llvm::zip(expr.coefficients, plan.sizes)) reach += std::abs(coefficient) * size;
    most = std::max(most, reach);
  }
  if (most >= largestInt) indexType = "tsr::i64";
  isExact = schedule.points % schedule.pointsOfBlock() == 0;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string KernelWriter::unique(StringRef wanted) {
  std::string base;
  for (char c : wanted) base += llvm::isAlnum(c) ? c : '_';
  if (base.empty() || llvm::isDigit(base.front())) base = "x" + base;
  std::string name = base;
  for (unsigned i = 1; !taken.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

/// What a value is called: after the user's name if it lies in memory, else after its op.
std::string KernelWriter::nameOf(Value item) {
  if (Operation *op = item.getDefiningOp()) return unique(op->getName().stripDialect());
  return unique(parameters[cast<BlockArgument>(item).getArgNumber()] + "_at");
}

bool KernelWriter::isKnown(Value item) const {
  return llvm::any_of(frames, [&](const Frame &frame) { return frame.contains(item); });
}

std::string KernelWriter::use(Value item) const {
  for (const Frame &frame : llvm::reverse(frames))
    if (auto it = frame.find(item); it != frame.end())
      return it->second.before + (it->second.isVector ? "[j]" : "") + it->second.after;
  llvm_unreachable("operands are written before their users");
}

void KernelWriter::fail(Operation *op) {
  if (!failed) op->emitError("has no CUDA code");
  failed = true;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The last part of the user's name of what an operand is.
static StringRef memoryName(Value value, StringRef other) {
  StringRef name;
  if (Operation *op = value.getDefiningOp()) name = userName(op);
  name = name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
  return name.empty() ? other : name;
}

void KernelWriter::writeSignature(StringRef symbol) {
  KernelOp kernel = plan.kernel;
  bool mayAlias = llvm::is_contained(plan.mayAliasResult, true);
  SmallVector<std::string> list;
  for (auto [i, operand] : llvm::enumerate(kernel.getOperands())) {
    StringRef type = scalarType(tensorType(operand).getElementType());
    parameters.push_back(unique(memoryName(operand, "in")));
    parameterTypes.push_back(("const " + type + " *").str());
    list.push_back(parameterTypes.back() + (plan.mayAliasResult[i] ? "" : "__restrict__ ") + parameters.back());
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResults())) {
    parameters.push_back(unique(i == 0 ? "out" : "out_" + std::to_string(i)));
    parameterTypes.push_back((scalarType(tensorType(result).getElementType()) + " *").str());
    list.push_back(parameterTypes.back() + (mayAlias ? "" : "__restrict__ ") + parameters.back());
  }
  text.open("extern \"C\" __global__ void __launch_bounds__(" + Twine(schedule.block) + ")\n" + symbol + "(" +
            llvm::join(list, ",\n    ") + ")");
}

/// Which point this thread computes. Teams whose threads work together do so to the end, on the last point where there is none for them,
/// and write nothing.
void KernelWriter::writePoint() {
  int64_t team = schedule.team, stride = schedule.pointsOfBlock();
  std::string own = team == 1          ? "threadIdx.x"
                    : schedule.strided ? "threadIdx.x % " + std::to_string(stride)
                                       : "threadIdx.x / " + std::to_string(team);
  std::string block = indexType == "int" ? "blockIdx.x" : "tsr::i64(blockIdx.x)";
  std::string number = stride == 1 ? block : block + " * " + std::to_string(stride) + " + " + own;
  if (team > 1)
    text.line("const int lane = threadIdx.x " + Twine(schedule.strided ? "/ " : "% ") +
              Twine(schedule.strided ? stride : team) + ";");
  if (schedule.points == 1 && stride == 1) {
    declareIndices(0, plan.parallelLoops, "0");
    return;
  }
  std::string count = std::to_string(schedule.points);
  if (isExact || team == 1) {
    text.line("const " + indexType + " point = " + number + ";");
    if (!isExact) text.line("if (point >= " + count + ") return;");
  } else {
    text.line("const bool active = " + number + " < " + count + ";");
    text.line("const " + indexType + " point = active ? " + number + " : " + std::to_string(schedule.points - 1) + ";");
  }
  declareIndices(0, plan.parallelLoops, "point");
}

FailureOr<std::string> KernelWriter::write(StringRef symbol) {
  writeSignature(symbol);
  frames.emplace_back();
  writePoint();
  if (plan.scatter) {
    writeScatter();
  } else if (plan.sweeps == 0) {
    Step all;
    all.items = plan.items;
    for (unsigned result = 0; result < plan.writes.size(); ++result) all.stores.push_back(result);
    writeStep(all);
  } else {
    writeRowStep(0);
    declareKept();
    for (unsigned number = 1; number <= plan.sweeps; ++number) {
      writeSweep(number);
      writeRowStep(number);
    }
  }
  text.close();
  if (failed) return failure();
  return text.str();
}

/// Values of the row that are known after `stage` sweeps; after the last one the row's results are written.
void KernelWriter::writeRowStep(unsigned stage) {
  Step step;
  for (Value item : plan.items)
    if (isRow(item) && plan.stages.lookup(item) == stage && !isa_and_nonnull<ReduceOp>(item.getDefiningOp()))
      step.items.push_back(item);
  step.storesOnce = schedule.team > 1;
  if (stage == plan.sweeps)
    for (unsigned result = 0; result < plan.writes.size(); ++result)
      if (!plan.isElementResult(result)) step.stores.push_back(result);
  writeStep(step);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool KernelWriter::isUsedLater(Value item) const {
  if (!isRow(item) || plan.sweeps == 0) return false;
  unsigned stage = plan.stages.lookup(item);
  for (Operation *user : item.getUsers()) {
    if (isa<YieldOp>(user)) {
      if (stage != plan.sweeps) return true;
      continue;
    }
    Value result = user->getResult(0);
    if (isa<ReduceOp>(user) || !isRow(result) || plan.stages.lookup(result) != stage) return true;
  }
  return false;
}

void KernelWriter::writeStep(const Step &step) {
  SmallVector<Value> vectors;
  for (Value item : step.items) {
    if (isKnown(item)) continue;
    if (isVector(item))
      vectors.push_back(item);
    else
      writeItem(item);
  }
  auto isOfLanes = [&](unsigned result) {
    return schedule.vector > 1 && plan.writes[result].offset.coefficients[plan.vectorLoop] != 0;
  };
  Step lanes = step;
  lanes.stores.clear(), lanes.reduces.clear();
  for (unsigned result : step.stores) {
    if (isOfLanes(result)) {
      lanes.stores.push_back(result);
      continue;
    }
    std::string once = schedule.team == 1 ? "" : std::string("lane == 0") + (isExact ? "" : " && active");
    text.line((step.storesOnce ? "if (" + once + ") " : "") + element(plan.writes[result]) + " = " +
              use(plan.yield().getValues()[result]) + ";");
  }
  bool isVectorSum = schedule.vector > 1;
  for (ReduceOp reduce : step.reduces) {
    // Along a serial vector every lane counts, even where all are equal.
    if (isVectorSum && (plan.isVectorSerial() || isVector(reduce.getResult())))
      lanes.reduces.push_back(reduce);
    else
      writeAccumulation(reduce);
  }
  if (!vectors.empty() || !lanes.stores.empty() || !lanes.reduces.empty()) writeLanes(lanes, vectors);
}

/// The part of a step that differs between neighbours: loads of all of them, a loop over them, stores of all of them.
void KernelWriter::writeLanes(const Step &step, ArrayRef<Value> items) {
  std::string vector = std::to_string(schedule.vector);
  SmallVector<Value> inLoop;
  for (Value item : items) {
    auto it = plan.reads.find(item);
    if (it != plan.reads.end() && isVectorAccess(it->second))
      writeRead(item);
    else
      inLoop.push_back(item);
  }
  if (inLoop.empty() && step.stores.empty() && step.reduces.empty()) return;
  llvm::DenseMap<Value, std::string> left; // to later steps
  for (Value item : inLoop) {
    if (!isUsedLater(item) || isa_and_nonnull<ConstantOp>(item.getDefiningOp())) continue;
    left[item] = nameOf(item);
    text.line("tsr::vec<" + scalarType(tensorType(item).getElementType()) + ", " + vector + "> " + left[item] + ";");
  }
  SmallVector<std::pair<unsigned, std::string>> stored; // as vectors
  for (unsigned result : step.stores) {
    if (!isVectorAccess(plan.writes[result])) continue;
    stored.emplace_back(result, unique(parameters[plan.writes[result].argument] + "_" + vector));
    text.line("tsr::vec<" + scalarType(plan.writes[result].element) + ", " + vector + "> " + stored.back().second +
              ";");
  }
  text.flush("#pragma unroll");
  text.open("for (int j = 0; j < " + Twine(vector) + "; ++j)");
  frames.emplace_back();
  inLane = true;
  for (Value item : inLoop) {
    writeItem(item);
    if (auto it = left.find(item); it != left.end()) text.line(it->second + "[j] = " + use(item) + ";");
  }
  for (ReduceOp reduce : step.reduces) writeAccumulation(reduce);
  std::string once = step.storesOnce ? std::string("if (lane == 0") + (isExact ? ") " : " && active) ") : "";
  for (unsigned result : step.stores) {
    std::string value = use(plan.yield().getValues()[result]);
    auto it = llvm::find_if(stored, [&](auto &entry) { return entry.first == result; });
    if (it != stored.end())
      text.line(it->second + "[j] = " + value + ";");
    else
      text.line(once + element(plan.writes[result]) + " = " + value + ";");
  }
  inLane = false;
  frames.pop_back();
  text.close();
  for (auto &[item, name] : left) know(item, {name, "", true});
  for (auto &[result, name] : stored)
    text.line(once + "tsr::store(" + address(plan.writes[result]) + ", " + name + ");");
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void KernelWriter::declare(Value item, const Twine &expression) {
  std::string name = nameOf(item), line;
  if (Operation *op = item.getDefiningOp()) line = userLine(op->getLoc());
  std::string comment = line.empty() || line == lastLine ? "" : " // " + line;
  if (!line.empty()) lastLine = line;
  text.line("const " + scalarType(tensorType(item).getElementType()) + " " + name + " = " + expression + ";" + comment);
  know(item, {name, "", false});
}

void KernelWriter::writeRead(Value item) {
  const Access &access = plan.reads.find(item)->second;
  std::string where = condition(access), type = scalarType(access.element).str();
  bool isWide = isVector(item) && isVectorAccess(access);
  std::string load =
      isWide ? "tsr::load<" + std::to_string(schedule.vector) + ">(" + address(access) + ")" : element(access);
  std::string zero = literal(0.0, access.element);
  if (isWide) zero = "tsr::filled<" + std::to_string(schedule.vector) + ">(" + zero + ")";
  if (!where.empty()) load = where + " ? " + load + " : " + zero;
  auto it = keptNames.find(item);
  if (it != keptNames.end()) {
    text.line(it->second + "[k] = " + load + ";");
    return know(item, {it->second + "[k]", "", isWide});
  }
  if (!isWide) return declare(item, load);
  std::string name = nameOf(item);
  text.line("const auto " + name + " = " + load + ";");
  know(item, {name, "", true});
}

void KernelWriter::writeItem(Value item) {
  if (plan.reads.contains(item)) return writeRead(item);
  Operation *op = item.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return know(item, {literal(constant.getValue(), tensorType(item).getElementType()), "", false});
  if (isa<ReorderOp, BroadcastOp>(op)) return know(item, {use(op->getOperand(0)), "", false});
  std::string value = computed(op);
  if (value.empty()) {
    fail(op);
    value = literal(0.0, tensorType(item).getElementType());
  }
  declare(item, value);
}

std::string KernelWriter::computed(Operation *op) {
  Type type = tensorType(op->getResult(0)).getElementType();
  if (isa<IndexOp>(op)) {
    std::string position = expression(plan.positions.at(op));
    return indexType == "int" && type.isInteger(32) ? position : (scalarType(type) + "(" + position + ")").str();
  }
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands()) operands.push_back(use(operand));
  auto random = dyn_cast<RandomOp>(op);
  if (!random) return elementwise(op, operands);
  std::string mixed = std::to_string(static_cast<uint32_t>(random.getSite())) + "u";
  for (const std::string &salt : ArrayRef(operands).drop_front(2))
    mixed = "tsr::salted(" + mixed + ", (unsigned)" + salt + ")";
  std::string draw = "tsr::philox(" + expression(plan.positions.at(op)) + ", (unsigned long long)" + operands[0] +
                     ", (unsigned)" + operands[1] + ", " + mixed + ")";
  StringRef distribution = random.getDistribution() == Distribution::Normal ? "tsr::normal" : "tsr::uniform";
  return castTo((distribution + "(" + draw + ")").str(), Float32Type::get(op->getContext()), type);
}
