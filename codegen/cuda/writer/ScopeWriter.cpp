//===- ScopeWriter.cpp - values of kernels as C++ in nested scopes ----------===//

#include "codegen/cuda/writer/ScopeWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "ir/program/Program.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

/// Names that values cannot have: keywords of C++ that a model may use as names, and names that the writers use.
static constexpr llvm::StringLiteral reserved[] = {
    // clang-format off
    "asm", "typedef", "typeid", "alignas", "alignof", "decltype", "constexpr", "noexcept", "nullptr", "wchar_t",
    "char8_t", "char16_t", "char32_t", "thread_local", "static_assert", "static_cast", "const_cast", "dynamic_cast",
    "reinterpret_cast", "bitand", "bitor", "compl", "and_eq", "or_eq", "not_eq", "xor_eq", "concept", "requires",
    "co_await", "co_return", "co_yield", "consteval", "constinit", "threadIdx", "blockIdx", "blockDim", "gridDim",
    "warpSize", "tsr", "point", "lane", "active", "s", "k", "j", "int", "float", "double", "long", "short", "char",
    "bool", "void", "auto", "const", "for", "if", "else", "while", "do", "class", "struct", "return", "new", "delete",
    "this", "union", "using", "switch", "case", "default", "signed", "unsigned", "and", "or", "not", "xor", "true",
    "false", "goto", "break", "continue", "static", "template", "typename", "try", "catch", "throw", "enum", "export",
    "extern", "inline", "operator", "private", "public", "protected", "register", "virtual", "volatile", "namespace",
    "position", "start", "first", "found", "found_at", "counts", "is_own", "place", "many", "i", "row", "slot",
    "sorted", "begin", "begins", "lengths", "length", "chosen", "places",
    "friend", "explicit", "mutable", "sizeof", "main",
    // clang-format on
};

ScopeWriter::ScopeWriter() {
  for (StringRef word : reserved) taken.insert(word);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string ScopeWriter::unique(StringRef wanted) {
  std::string base;
  for (char c : wanted) base += llvm::isAlnum(c) ? c : '_';
  if (base.empty() || llvm::isDigit(base.front())) base = "x" + base;
  std::string name = base;
  for (unsigned i = 1; !taken.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

/// The name of a value: by the user's name of an operand, else by its op.
std::string ScopeWriter::nameOf(Value item) {
  if (Operation *op = item.getDefiningOp()) return unique(op->getName().stripDialect());
  return unique(parameterOf(cast<BlockArgument>(item).getArgNumber()) + "_at");
}

bool ScopeWriter::isBound(Value item) const {
  return llvm::any_of(frames, [&](const Frame &frame) { return frame.contains(item); });
}

std::string ScopeWriter::use(Value item) const {
  for (const Frame &frame : llvm::reverse(frames))
    if (auto it = frame.find(item); it != frame.end())
      return it->second.prefix +
             (it->second.multiplicity == Multiplicity::PerLane  ? "[" + laneIndex + "]"
              : it->second.multiplicity == Multiplicity::PerRow ? "[" + rowIndex + "]"
                                                                : "") +
             it->second.suffix;
  llvm_unreachable("operands are written before their users");
}

void ScopeWriter::fail(Operation *op) {
  if (!failed) op->emitError("has no CUDA code");
  failed = true;
}

Accumulator cuda::accumulatorFor(const KernelPlan &plan, ReduceOp reduce) {
  Type type = accumulatorType(reduce.getType().getElementType());
  if (plan.softmaxSumOf(reduce.getResult())) {
    std::string softmax = ("tsr::Softmax<" + scalarType(type) + ">").str();
    return {"softmax", softmax, softmax + "::none()", "tsr::JoinSoftmax"};
  }
  return {stringifyReduceKind(reduce.getKind()).str(), scalarType(type).str(), neutral(reduce.getKind(), type),
          reduction(reduce.getKind()).str()};
}

int64_t cuda::largestPosition(const KernelPlan &plan) {
  int64_t most = 0;
  for (auto &[op, expr] : plan.positions) {
    int64_t reach = expr.constant;
    for (auto [coefficient, size] : llvm::zip(expr.coefficients, plan.loops.sizes))
      reach += std::abs(coefficient) * size;
    most = std::max(most, reach);
  }
  return most;
}

StringRef cuda::memoryName(Value value, StringRef other) {
  StringRef name;
  if (Operation *op = value.getDefiningOp()) name = userName(op);
  name = name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
  return name.empty() ? other : name;
}

void ScopeWriter::addParameter(Value value, StringRef name, bool isResult) {
  parameters.push_back(unique(name));
  StringRef type = scalarType(tensorType(value).getElementType());
  parameterTypes.push_back(((isResult ? "" : "const ") + type + " *").str());
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void ScopeWriter::declare(Value item, const Twine &expression) {
  std::string name = nameOf(item), line;
  if (Operation *op = item.getDefiningOp()) line = userLine(op->getLoc());
  std::string comment = line.empty() || line == lastLine ? "" : " // " + line;
  if (!line.empty()) lastLine = line;
  text.line("const " + scalarType(tensorType(item).getElementType()) + " " + name + " = " + expression + ";" + comment);
  bind(item, {name, ""});
}

void ScopeWriter::writeItem(Value item) {
  if (current->reads.contains(item)) return writeRead(item);
  Operation *op = item.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return bind(item, {literal(constant.getValue(), tensorType(item).getElementType()), ""});
  if (op->hasTrait<traits::PointwiseIdentity>()) return bind(item, {use(op->getOperand(0)), ""});
  std::string value = computed(op);
  if (value.empty()) {
    fail(op);
    value = literal(0.0, tensorType(item).getElementType());
  }
  declare(item, value);
}

std::string ScopeWriter::computed(Operation *op) {
  Type type = tensorType(op->getResult(0)).getElementType();
  if (isa<IndexOp>(op)) {
    std::string position = expression(current->positions.at(op));
    return indexType == "int" && type.isInteger(32) ? position : (scalarType(type) + "(" + position + ")").str();
  }
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands()) operands.push_back(use(operand));
  auto random = dyn_cast<RandomOp>(op);
  if (!random) return elementwise(op, operands);
  std::string mixed = std::to_string(static_cast<uint32_t>(random.getSite())) + "u";
  for (const std::string &salt : ArrayRef(operands).slice(2, random.getSalts().size()))
    mixed = "tsr::salted(" + mixed + ", (unsigned)" + salt + ")";
  std::string index = expression(current->positions.at(op));
  if (random.getFirst()) index = "(unsigned long long)" + operands.back() + " + (" + index + ")";
  std::string draw = "tsr::philox(" + index + ", (unsigned long long)" + operands[0] + ", (unsigned)" + operands[1] +
                     ", " + mixed + ")";
  StringRef distribution = random.getDistribution() == Distribution::Normal ? "tsr::normal" : "tsr::uniform";
  return castTo((distribution + "(" + draw + ")").str(), Float32Type::get(op->getContext()), type);
}

void ScopeWriter::writeRead(Value item) {
  const Access &access = current->reads.find(item)->second;
  std::string where = condition(access), load = element(access);
  if (!where.empty()) load = where + " ? " + load + " : " + literal(0.0, access.element);
  declare(item, load);
}

//===----------------------------------------------------------------------===//
// Addresses of elements
//===----------------------------------------------------------------------===//

std::string ScopeWriter::term(const NonlinearTerm &term) {
  if (term.position) return "tsr::clamp(" + use(term.position) + ", " + std::to_string(term.extent) + ")";
  std::string result = "(" + expression(term.inner) + ")";
  if (term.divisor != 1) result += " / " + std::to_string(term.divisor);
  if (term.modulus != 0) result += " % " + std::to_string(term.modulus);
  return term.divisor == 1 && term.modulus == 0 ? result : "(" + result + ")";
}

std::string ScopeWriter::expression(const LinearIndex &expr) {
  SmallVector<std::string> parts;
  auto add = [&](int64_t coefficient, const std::string &factor) {
    parts.push_back(coefficient == 1 ? factor : std::to_string(coefficient) + " * " + factor);
  };
  for (auto [loop, coefficient] : llvm::enumerate(expr.coefficients)) {
    if (coefficient == 0) continue;
    bool isLane = inLane && vectorOf(loop) > 1;
    add(coefficient, isLane && coefficient != 1 ? "(" + indices[loop] + " + j)"
                     : isLane                   ? indices[loop] + " + j"
                                                : indices[loop]);
  }
  for (const LinearIndex::Term &part : expr.terms) add(part.coefficient, term(*part.value));
  if (expr.constant != 0 || parts.empty()) parts.push_back(std::to_string(expr.constant));
  return llvm::join(parts, " + ");
}

std::string ScopeWriter::condition(const Access &access) {
  SmallVector<std::string> parts;
  for (const IndexCondition &range : access.ranges)
    parts.push_back("tsr::is_inside(" + expression(range.expr) + ", " + std::to_string(range.extent) + ")");
  return llvm::join(parts, " && ");
}

std::string ScopeWriter::element(const Access &access) {
  return parameterOf(access.argument) + "[" + expression(access.offset) + "]";
}

std::string ScopeWriter::address(const Access &access) {
  std::string offset = expression(access.offset);
  bool isSum = offset.find(" + ") != std::string::npos;
  return parameterOf(access.argument) + " + " + (isSum ? "(" + offset + ")" : offset);
}

void ScopeWriter::declareIndices(unsigned first, unsigned last, StringRef number) {
  int64_t inner = 1;
  for (unsigned loop = last; loop-- > first;) {
    auto [start, count] = rangeOf(loop);
    int64_t vector = vectorOf(loop);
    std::string index = number.str();
    if (inner != 1) index += " / " + std::to_string(inner);
    if (loop != first) index += " % " + std::to_string(count);
    if (vector != 1) index += " * " + std::to_string(vector);
    if (start != 0) index = std::to_string(start) + " + " + index;
    inner *= count;
    if (index == number) {
      indices[loop] = number.str();
      continue;
    }
    indices[loop] = unique(current->loops.names[loop]);
    text.line("const " + indexType + " " + indices[loop] + " = " + index + ";");
  }
}
