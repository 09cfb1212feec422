//===- GemmTest.cpp - library calls mean what the contraction means --------------===//

#include "passes/gemm/Gemm.h"
#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/IterationSpace.h"
#include "passes/layout/OrderChoice.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace tessera;

namespace {
/// Random orders of the same contraction: two axes in each group.
class GemmTest : public testing::Test {
protected:
  GemmTest() { context.loadDialect<TsrDialect>(); }

  NamedTensorType shuffled(std::vector<std::pair<StringRef, int64_t>> axes, std::mt19937 &random) {
    for (size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random() % i]);
    SmallVector<AxisAttr> list;
    for (auto [name, size] : axes) list.push_back(AxisAttr::get(&context, name, size));
    return NamedTensorType::get(&context, list, Float32Type::get(&context));
  }

  MLIRContext context;
};

TensorValue filled(NamedTensorType type, std::mt19937 &random) {
  TensorValue value(type);
  for (double &number : value.data) number = static_cast<int>(random() % 7) - 3;
  return value;
}
} // namespace

/// More memory than elements along some axes.
static NamedTensorType withGaps(NamedTensorType type, std::mt19937 &random) {
  SmallVector<int64_t> allocated = type.getAllocatedSizes();
  for (int64_t &size : allocated) size += random() % 3 == 0 ? 1 + random() % 3 : 0;
  return type.withAllocated(allocated);
}

/// The elements where `type` has them, and elsewhere what spoils every sum.
static std::vector<double> inMemory(const TensorValue &value, NamedTensorType type) {
  std::vector<double> memory(type.getNumAllocated(), std::numeric_limits<double>::quiet_NaN());
  IterationSpace(type.getAxes()).add(type).add(value.type).forEach([&](ArrayRef<int64_t> at) {
    memory[at[0]] = value.data[at[1]];
  });
  return memory;
}

/// The contraction by its definition.
static std::vector<double> contract(const ContractTypes &types, const TensorValue &a, const TensorValue &b) {
  TensorValue c(types.result);
  SmallVector<AxisAttr> axes(types.result.getAxes());
  for (StringRef name : types.over) axes.push_back(types.lhs.getAxes()[types.lhs.findAxis(name)]);
  IterationSpace(axes).add(c.type).add(a.type).add(b.type).forEach(
      [&](ArrayRef<int64_t> at) { c.data[at[0]] += a.data[at[1]] * b.data[at[2]]; });
  return c.data;
}

/// What a library computes from the description.
static std::vector<double> multiply(const ContractionGemm &gemm, ArrayRef<double> a, ArrayRef<double> b, size_t size) {
  std::vector<double> c(size, 1e30);
  size_t rank = gemm.c.dims.size();
  int64_t sum = gemm.a.dims[rank - 1], points = sum;
  for (int64_t dim : gemm.c.dims) points *= dim;
  for (int64_t point = 0; point < points; ++point) {
    int64_t rest = point / sum, k = point % sum, atA = k * gemm.a.strides[rank - 1], atB = k * gemm.b.strides[rank - 2],
            atC = 0;
    for (size_t d = rank; d-- > 0;) {
      int64_t i = rest % gemm.c.dims[d];
      rest /= gemm.c.dims[d];
      atC += i * gemm.c.strides[d];
      if (d != rank - 1 && gemm.a.dims[d] != 1) atA += i * gemm.a.strides[d];
      if (d != rank - 2 && gemm.b.dims[d] != 1) atB += i * gemm.b.strides[d];
    }
    c[atC] = (k == 0 ? 0 : c[atC]) + a[atA] * b[atB];
  }
  return c;
}

TEST_F(GemmTest, DescribesWhatTheContractionMeans) {
  int described = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    ContractTypes types{shuffled({{"x", 2}, {"y", 3}, {"m1", 2}, {"m2", 4}, {"k1", 2}, {"k2", 8}}, random),
                        shuffled({{"x", 2}, {"y", 3}, {"k1", 2}, {"k2", 8}, {"n1", 3}, {"n2", 4}}, random),
                        shuffled({{"x", 2}, {"y", 3}, {"m1", 2}, {"m2", 4}, {"n1", 3}, {"n2", 4}}, random),
                        NamedTensorType(),
                        {"k1", "k2"}};
    std::optional<ContractionGemm> gemm = describeGemm(types);
    if (!gemm) continue;
    ++described;
    EXPECT_EQ(gemm->c.strides.back(), 1);
    TensorValue lhs = filled(types.lhs, random), rhs = filled(types.rhs, random);
    std::vector<double> got = multiply(*gemm, gemm->swapped ? rhs.data : lhs.data, gemm->swapped ? lhs.data : rhs.data,
                                       types.result.getNumElements());
    ASSERT_EQ(got, contract(types, lhs, rhs)) << "seed " << seed;
  }
  EXPECT_GT(described, 100);
}

TEST_F(GemmTest, StridesAreThoseOfTheAllocatedSizes) {
  int described = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    auto type = [&](std::vector<std::pair<StringRef, int64_t>> axes) {
      return withGaps(shuffled(axes, random), random);
    };
    ContractTypes types{type({{"x", 2}, {"m", 12}, {"k1", 2}, {"k2", 8}}),
                        type({{"x", 2}, {"k1", 2}, {"k2", 8}, {"n", 15}}),
                        type({{"x", 2}, {"m", 12}, {"n", 15}}),
                        NamedTensorType(),
                        {"k1", "k2"}};
    std::optional<ContractionGemm> gemm = describeGemm(types);
    if (!gemm) continue;
    ++described;
    TensorValue lhs = filled(types.lhs, random), rhs = filled(types.rhs, random);
    std::vector<double> a = inMemory(lhs, types.lhs), b = inMemory(rhs, types.rhs);
    if (gemm->swapped) std::swap(a, b);
    std::vector<double> got = multiply(*gemm, a, b, types.result.getNumAllocated());
    TensorValue result(types.result);
    result.data = contract(types, lhs, rhs);
    for (auto [number, expected] : llvm::zip(got, inMemory(result, types.result)))
      ASSERT_EQ(number, std::isnan(expected) ? 1e30 : expected) << "seed " << seed;
  }
  EXPECT_GT(described, 100);
}

TEST_F(GemmTest, EveryResultCandidateCanBeTriedOnDenseOperands) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    NamedTensorType lhs = shuffled({{"x", 2}, {"m1", 2}, {"m2", 4}, {"k1", 2}, {"k2", 8}}, random);
    NamedTensorType rhs = shuffled({{"x", 2}, {"k1", 2}, {"k2", 8}, {"n1", 3}, {"n2", 4}}, random);
    ContractTypes types{inOrderOf(lhs, {"x", "m1", "m2", "k1", "k2"}),
                        inOrderOf(rhs, {"x", "n1", "n2", "k1", "k2"}),
                        shuffled({{"x", 2}, {"m1", 2}, {"m2", 4}, {"n1", 3}, {"n2", 4}}, random),
                        NamedTensorType(),
                        {"k1", "k2"}};
    ContractTypes first = types;
    first.result = resultCandidates(types, types.result).front();
    std::optional<ContractionGemm> gemm = describeGemm(first);
    ASSERT_TRUE(gemm) << "seed " << seed;
    EXPECT_EQ(gemm->c.dims, (std::vector<int64_t>{2, 8, 12}));
  }
}
