//===- FragmentWriter.cpp - matrix products of a warp, in fragments ---------===//

#include "codegen/cuda/tile/FragmentWriter.h"
#include "codegen/cuda/writer/Scalars.h"
#include "ir/program/Program.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

static StringRef scalarTypeOf(Value value) { return scalarType(tensorType(value).getElementType()); }

//===----------------------------------------------------------------------===//
// Own operands
//===----------------------------------------------------------------------===//

/// Elements outside the operand are zero. Two consecutive elements are loaded at once if the layout allows it.
void FragmentWriter::loadOwn(const TileContraction &contraction) {
  Value own = contraction.own;
  if (ownNames.contains(own)) return;
  Text &text = scope.text;
  StringRef type = scalarTypeOf(own);
  std::string from = scope.parameterFor(own), name = scope.unique(from + "_own");
  ownNames[own] = name;
  int64_t depth = contraction.depth(), extent = contraction.extent;
  bool isF32 = depth == 8; // a word is one element
  text.line("tsr::FragmentA " + name + "[" + Twine(paddedExtent(extent) / depth) + "];");
  text.line("#pragma unroll");
  text.open("for (int step = 0; step < " + Twine(paddedExtent(extent) / depth) + "; ++step)");
  text.line("#pragma unroll");
  text.open("for (int w = 0; w < 4; ++w)");
  text.line("const " + scope.indexType + " line = own + 8 * (w % 2);");
  text.line("const int part = step * " + Twine(depth) + " + 2 * member + " + (isF32 ? "w / 2;" : "8 * (w / 2);"));
  auto times = [](int64_t stride, const std::string &index) {
    return stride == 1 ? index : std::to_string(stride) + " * " + index;
  };
  std::string base =
      from + " + (" + scope.batchOffset(tensorType(own)) + " + " + times(contraction.ofOwn.line, "line") + " + ";
  auto guarded = [&](StringRef part, const std::string &load, const std::string &none) {
    SmallVector<std::string> conditions;
    if (plan.hasOwnTail()) conditions.push_back("line < " + std::to_string(plan.ownAxis().getSize()));
    if (paddedExtent(extent) != extent) conditions.push_back((part + " < " + Twine(extent)).str());
    return conditions.empty() ? load : llvm::join(conditions, " && ") + " ? " + load + " : " + none;
  };
  std::string zero = (type + "(0.0f)").str();
  auto at = [&](StringRef part) {
    return guarded(part, "*(" + base + times(contraction.ofOwn.element, ("(" + part + ")").str()) + "))", zero);
  };
  if (isF32) {
    text.line(name + "[step].words[w] = tsr::bits_of(" + at("part") + ");");
  } else if (extent % 2 == 0 && scope.allowsVectors(own, contraction.ofOwn, 2)) {
    text.line("const auto pair = " +
              guarded("part", "tsr::load<2>(" + base + "part))", "tsr::filled<2>(" + zero + ")") + ";");
    text.line(name + "[step].words[w] = tsr::packed(pair[0], pair[1]);");
  } else {
    text.line("const " + type + " left = " + at("part") + ";");
    text.line("const " + type + " right = " + at("part + 1") + ";");
    text.line(name + "[step].words[w] = tsr::packed(left, right);");
  }
  text.close();
  text.close();
}

//===----------------------------------------------------------------------===//
// Matrices: matrix [own, other] = own operand · tileᵀ
//===----------------------------------------------------------------------===//

TileElement FragmentWriter::writeMatrix(const TileContraction &contraction) {
  Text &text = scope.text;
  ContractOp op = contraction.op;
  Value other = contraction.other;
  std::string name = scope.unique(userName(op).empty() ? "product" : memoryName(op.getResult(), "product"));
  text.line("tsr::FragmentC " + name + "[" + Twine(plan.fragmentsOfTile()) + "] = {};");
  text.line("#pragma unroll");
  text.open("for (int step = 0; step < " + Twine(paddedExtent(contraction.extent) / contraction.depth()) + "; ++step)");
  text.line("#pragma unroll");
  if (contraction.depth() == 8) {
    writeMatrixOfF32(contraction, name);
  } else {
    text.open("for (int n = 0; n < " + Twine(plan.fragmentsOfTile()) + "; n += 2)");
    text.line("unsigned words[4]; // both halves of the step, for the lines of fragment n, then of n + 1");
    text.line("const int line = 8 * (n + threadIdx.x % 32 / 16) + threadIdx.x % 8;");
    text.line("tsr::load_matrices<false>(words, " + tiles.nameOf(other) + ", " + tiles.startOf(other) + "line * " +
              Twine(sharedLineStride(contraction.extent)) + " + step * 16 + threadIdx.x / 8 % 2 * 8);");
    std::string function = ("tsr::multiply_add<" + scalarTypeOf(contraction.own) + ">(" + name).str();
    std::string own = ownNames.lookup(contraction.own);
    text.line(function + "[n], " + own + "[step], {words[0], words[1]});");
    text.line(function + "[n + 1], " + own + "[step], {words[2], words[3]});");
    text.close();
  }
  text.close();
  std::string sum = name + "[n].values[v]";
  return {castTo(sum, Float32Type::get(op.getContext()), op.getType().getElementType()), sum};
}

void FragmentWriter::writeMatrixOfF32(const TileContraction &contraction, StringRef name) {
  Text &text = scope.text;
  Value other = contraction.other;
  text.open("for (int n = 0; n < " + Twine(plan.fragmentsOfTile()) + "; ++n)");
  text.line("const auto pair = " + tiles.nameOf(other) + ".get_vector<2>(" + tiles.startOf(other) +
            "(8 * n + group) * " + Twine(sharedLineStride(contraction.extent)) + " + step * 8 + 2 * member);");
  text.line("tsr::multiply_add<float>(" + name + "[n], " + ownNames.lookup(contraction.own) +
            "[step], {tsr::bits_of(pair[0]), tsr::bits_of(pair[1])});");
  text.close();
}

//===----------------------------------------------------------------------===//
// Weights: the matrices that sums read
//===----------------------------------------------------------------------===//

void FragmentWriter::declareWeights() {
  for (const TileContraction &sum : plan.sums) {
    if (weights.contains(sum.own)) continue;
    weights[sum.own] = scope.unique("weight");
    scope.text.line(scalarTypeOf(sum.own) + " " + weights[sum.own] + "[" + Twine(plan.fragmentsOfTile()) + "][4];");
  }
}

void FragmentWriter::storeWeights(const TileKernel &kernel) {
  for (auto [result, value] : llvm::zip(kernel.op->getResults(), kernel.plan.yield().getValues())) {
    auto it = weights.find(result);
    if (it == weights.end()) continue;
    std::string zero = literal(0.0, tensorType(result).getElementType());
    scope.text.line(it->second + "[n][v] = " + (plan.hasOtherTail() ? "inside ? " : "") + scope.use(value) +
                    (plan.hasOtherTail() ? " : " + zero : "") + ";");
  }
}

//===----------------------------------------------------------------------===//
// Sums over the other lines: sum [own, E] += matrix [own, other] · tile [other, E]
//===----------------------------------------------------------------------===//

void FragmentWriter::declareSums() {
  for (const TileContraction &sum : plan.sums) {
    std::string name = sumNames[sum.result] = scope.unique("sum");
    scope.text.line("tsr::FragmentC " + name + "[" + Twine(paddedExtent(sum.extent) / 8) + "] = {};");
  }
}

void FragmentWriter::accumulate(const TileContraction &sum) {
  if (sum.depth() == 8) return accumulateF32(sum);
  Text &text = scope.text;
  std::string name = sumNames.lookup(sum.result), weight = weights.lookup(sum.own);
  text.line("#pragma unroll");
  text.open("for (int step = 0; step < " + Twine(plan.mapping.otherLines / 16) + "; ++step)");
  text.line("tsr::FragmentA left;");
  text.line("#pragma unroll");
  text.line("for (int w = 0; w < 4; ++w)");
  text.line("  left.words[w] = tsr::packed(" + weight + "[2 * step + w / 2][w % 2 * 2], " + weight +
            "[2 * step + w / 2][w % 2 * 2 + 1]);");
  text.line("#pragma unroll");
  text.open("for (int n = 0; n < " + Twine(paddedExtent(sum.extent) / 8) + "; n += 2)");
  text.line("unsigned words[4];");
  text.line("const int line = step * 16 + threadIdx.x % 16;");
  text.line("tsr::load_matrices<true>(words, " + tiles.nameOf(sum.other) + ", " + tiles.startOf(sum.other) + "line * " +
            Twine(sharedLineStride(sum.extent)) + " + 8 * (n + threadIdx.x % 32 / 16));");
  std::string function = ("tsr::multiply_add<" + scalarTypeOf(sum.own) + ">(" + name).str();
  text.line(function + "[n], left, {words[0], words[1]});");
  text.line(function + "[n + 1], left, {words[2], words[3]});");
  text.close();
  text.close();
}

void FragmentWriter::accumulateF32(const TileContraction &sum) {
  Text &text = scope.text;
  std::string name = sumNames.lookup(sum.result), tile = tiles.nameOf(sum.other);
  int64_t stride = sharedLineStride(sum.extent);
  text.line("#pragma unroll");
  text.open("for (int step = 0; step < " + Twine(plan.fragmentsOfTile()) + "; ++step)");
  text.line("tsr::FragmentA left;");
  text.line("#pragma unroll");
  text.line("for (int w = 0; w < 4; ++w) left.words[w] = tsr::bits_of(" + weights.lookup(sum.own) +
            "[step][w % 2 * 2 + w / 2]);");
  text.line("#pragma unroll");
  text.open("for (int n = 0; n < " + Twine(paddedExtent(sum.extent) / 8) + "; ++n)");
  text.line("const int at = " + tiles.startOf(sum.other) + "(8 * step + 2 * member) * " + Twine(stride) +
            " + 8 * n + group;");
  text.line("tsr::multiply_add<float>(" + name + "[n], left, {tsr::bits_of(" + tile + ".get(at)), tsr::bits_of(" +
            tile + ".get(at + " + Twine(stride) + "))});");
  text.close();
  text.close();
}

void FragmentWriter::scaleSums(StringRef scale) {
  Text &text = scope.text;
  for (const TileContraction &sum : plan.sums) {
    text.line("#pragma unroll");
    text.open("for (int n = 0; n < " + Twine(paddedExtent(sum.extent) / 8) + "; ++n)");
    text.line("#pragma unroll");
    text.line("for (int v = 0; v < 4; ++v) " + sumNames.lookup(sum.result) + "[n].values[v] *= " + scale + "[v / 2];");
    text.close();
  }
}

/// Two adjacent elements are stored at once if the layout allows it.
void FragmentWriter::storeSum(const TileContraction &sum) {
  Text &text = scope.text;
  NamedTensorType type = tensorType(sum.result);
  StringRef scalar = scalarType(type.getElementType());
  for (unsigned argument : scope.resultArguments(sum.result)) {
    bool isPaired = sum.extent % 2 == 0 && scope.allowsVectors(type, sum.ofResult, argument, 2);
    text.line("#pragma unroll");
    text.open("for (int n = 0; n < " + Twine(paddedExtent(sum.extent) / 8) + "; ++n)");
    text.line("#pragma unroll");
    text.open("for (int h = 0; h < 2; ++h)");
    text.line("const " + scope.indexType + " line = own + 8 * h;");
    text.line("const int part = 8 * n + 2 * member;");
    std::string factors, extent = std::to_string(sum.extent);
    scope.rowIndex = "h";
    if (plan.online)
      for (Value factor : plan.online->factors.lookup(sum.own)) factors += " * " + scope.use(factor);
    auto value = [&](StringRef v) {
      return castTo((sumNames.lookup(sum.result) + "[n].values[2 * h" + v + "]" + factors).str(),
                    Float32Type::get(type.getContext()), type.getElementType());
    };
    auto guarded = [&](StringRef part) -> std::string {
      SmallVector<std::string> conditions;
      if (plan.hasOwnTail()) conditions.push_back("line < " + std::to_string(plan.ownAxis().getSize()));
      if (paddedExtent(sum.extent) != sum.extent) conditions.push_back((part + " < " + extent).str());
      return conditions.empty() ? "" : "if (" + llvm::join(conditions, " && ") + ") ";
    };
    std::string place = scope.parameters[argument] + " + (" + scope.batchOffset(type) + " + " +
                        std::to_string(sum.ofResult.line) + " * line + part)";
    if (isPaired) {
      text.line("const tsr::vec<" + scalar + ", 2> pair = {" + value("") + ", " + value(" + 1") + "};");
      text.line(guarded("part") + "tsr::store(" + place + ", pair);");
    } else {
      text.line("const auto to = " + place + ";");
      text.line(guarded("part") + "to[0] = " + value("") + ";");
      text.line(guarded("part + 1") + "to[1] = " + value(" + 1") + ";");
    }
    text.close();
    text.close();
  }
}
