//===- Expressions.cpp - places of elements as C++ expressions --------------===//

#include "codegen/cuda/KernelWriter.h"
#include "codegen/cuda/Scalars.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

std::string KernelWriter::term(const Nonlinear &term) {
  if (term.position) return "tsr::clamp(" + use(term.position) + ", " + std::to_string(term.extent) + ")";
  std::string result = "(" + expression(term.inner) + ")";
  if (term.divisor != 1) result += " / " + std::to_string(term.divisor);
  if (term.modulus != 0) result += " % " + std::to_string(term.modulus);
  return term.divisor == 1 && term.modulus == 0 ? result : "(" + result + ")";
}

std::string KernelWriter::expression(const Expr &expr) {
  SmallVector<std::string> parts;
  auto add = [&](int64_t coefficient, const std::string &factor) {
    parts.push_back(coefficient == 1 ? factor : std::to_string(coefficient) + " * " + factor);
  };
  for (auto [loop, coefficient] : llvm::enumerate(expr.coefficients)) {
    if (coefficient == 0) continue;
    bool isLane = inLane && isVectorLoop(loop);
    add(coefficient, isLane && coefficient != 1 ? "(" + indices[loop] + " + j)"
                     : isLane                   ? indices[loop] + " + j"
                                                : indices[loop]);
  }
  for (const Expr::Term &part : expr.terms) add(part.coefficient, term(*part.value));
  if (expr.constant != 0 || parts.empty()) parts.push_back(std::to_string(expr.constant));
  return llvm::join(parts, " + ");
}

std::string KernelWriter::condition(const Access &access) {
  SmallVector<std::string> parts;
  for (const Extent &range : access.ranges)
    parts.push_back("tsr::is_inside(" + expression(range.expr) + ", " + std::to_string(range.extent) + ")");
  return llvm::join(parts, " && ");
}

std::string KernelWriter::element(const Access &access) {
  return parameters[access.argument] + "[" + expression(access.offset) + "]";
}

std::string KernelWriter::address(const Access &access) {
  std::string offset = expression(access.offset);
  bool isSum = offset.find(" + ") != std::string::npos;
  return parameters[access.argument] + " + " + (isSum ? "(" + offset + ")" : offset);
}

void KernelWriter::declareIndices(unsigned first, unsigned last, StringRef number) {
  int64_t inner = 1;
  for (unsigned loop = last; loop-- > first;) {
    int64_t vector = isVectorLoop(loop) ? schedule.vector : 1, count = plan.sizes[loop] / vector;
    std::string index = number.str();
    if (inner != 1) index += " / " + std::to_string(inner);
    if (loop != first) index += " % " + std::to_string(count);
    if (vector != 1) index += " * " + std::to_string(vector);
    inner *= count;
    if (index == number) {
      indices[loop] = number.str();
      continue;
    }
    indices[loop] = unique(plan.loopNames[loop]);
    text.line("const " + indexType + " " + indices[loop] + " = " + index + ";");
  }
}
