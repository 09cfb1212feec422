//===- Fp8Plan.cpp - which contractions have fp8 operands -----------------===//

#include "passes/precision/Fp8Plan.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/precision/Dataflow.h"
#include "passes/precision/Policy.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tessera;

using Stacks = llvm::SmallSetVector<StringRef, 2>;

namespace {
/// The function argument that a value is, in another type or shape, or is a slice of.
struct Origin {
  BlockArgument argument; ///< null: there is none
  Stacks slicedAlong;
};

/// The contractions with one parameter as an operand.
struct MatrixUse {
  Stacks stacks;
  SmallVector<ContractOp> products;
  bool isMultiplied = false; ///< by an activation
  bool isExcluded = false;
};
} // namespace

Value tessera::behindQuantization(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !isFp8(cast.getType().getElementType())) return {};
  auto scaled = cast.getX().getDefiningOp<MulOp>();
  return scaled ? scaled.getLhs() : Value();
}

static Origin findOrigin(Value value) {
  Origin origin;
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
      if (!repeat) {
        if (isa<func::FuncOp>(argument.getOwner()->getParentOp())) origin.argument = argument;
        return origin;
      }
      if (argument.getArgNumber() <= repeat.getCarried().size()) return origin;
      if (llvm::is_contained(repeat.getSlicedArgs(), argument)) origin.slicedAlong.insert(repeat.getAxis().getName());
      value = repeat->getOperand(argument.getArgNumber() - 1);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (Value behind = behindQuantization(value))
      value = behind;
    else if (isa<CastOp, ReorderOp>(op) || movesElements(op))
      value = op->getOperand(0);
    else
      return origin;
  }
}

/// Whether the result of `user` is still a score if `value` is one: it moves, scales, masks or shifts it, or is part of
/// a stable formula (softplus, the logarithm of a sigmoid).
static bool propagatesScore(Operation *user, Value value) {
  if (movesElements(user) || scaledFactor(user)) return true;
  if (!user->hasTrait<traits::PassesRoundingErrors>()) return false;
  if (user->getNumOperands() != 2) return true;
  Value other = user->getOperand(user->getOperand(0) == value ? 1 : 0);
  return tensorType(other).getRank() < tensorType(value).getRank();
}

/// Whether a rounding-sensitive function or a loss follows.
static bool isScore(Value product) {
  llvm::SetVector<Value> scores;
  scores.insert(product);
  for (unsigned next = 0; next < scores.size(); ++next)
    for (Operation *user : scores[next].getUsers()) {
      if (user->hasTrait<traits::RoundingSensitive>() || isa<CrossEntropyOp>(user)) return true;
      if (propagatesScore(user, scores[next])) scores.insert(user->getResult(0));
    }
  return false;
}

/// Whether both operands have axes that the other one lacks, and the target's library has such an fp8 GEMM.
static bool isMatrixProduct(ContractOp contract) {
  NamedTensorType lhs = contract.getLhs().getType(), rhs = contract.getRhs().getType();
  auto sizeOf = [](NamedTensorType x, llvm::function_ref<bool(StringRef)> counts) {
    int64_t size = 1;
    for (AxisAttr axis : x.getAxes())
      if (counts(axis.getName())) size *= axis.getSize();
    return size;
  };
  int64_t m = sizeOf(lhs, [&](StringRef name) { return !rhs.hasAxis(name); });
  int64_t n = sizeOf(rhs, [&](StringRef name) { return !lhs.hasAxis(name); });
  int64_t k = sizeOf(lhs, [&](StringRef name) { return llvm::is_contained(names(contract.getOver()), name); });
  int64_t multiple = Target::of(contract).library.fp8Multiple;
  return m > 1 && n > 1 && m % multiple == 0 && n % multiple == 0 && k % multiple == 0;
}

namespace {
class Fp8Planner {
public:
  explicit Fp8Planner(func::FuncOp step) : step(step) {}
  std::vector<Fp8Product> run();

private:
  void findParameters();
  bool isWeight(Value value) { return parameters.contains(findOrigin(value).argument); }
  /// Which side of a contraction is a parameter; none if neither is, or both.
  std::optional<unsigned> weightSide(ContractOp contract);
  void findMatrices();
  void findGradientsOf(BlockArgument parameter, Value gradient);
  bool isGradient(Value value) { return gradients.contains(value); }

  func::FuncOp step;
  llvm::DenseSet<Value> parameters;
  llvm::DenseSet<Value> gradients; ///< all that the backward pass computes
  llvm::MapVector<BlockArgument, MatrixUse> matrices;
  llvm::DenseMap<Operation *, Fp8Product> products;
};
} // namespace

void Fp8Planner::findParameters() {
  llvm::StringMap<StateOp> states = statesByPath(step->getParentOfType<ModuleOp>());
  for (BlockArgument argument : step.getArguments()) {
    StateOp state = states.lookup(argumentState(step, argument.getArgNumber()));
    if (state && state.isParameter()) parameters.insert(argument);
  }
}

std::optional<unsigned> Fp8Planner::weightSide(ContractOp contract) {
  bool isLhs = isWeight(contract.getLhs()), isRhs = isWeight(contract.getRhs());
  if (isLhs == isRhs) return std::nullopt;
  return isLhs ? 0 : 1;
}

void Fp8Planner::findMatrices() {
  step.walk([&](ContractOp contract) {
    std::optional<unsigned> side = weightSide(contract);
    if (!side) return;
    Origin origin = findOrigin(contract->getOperand(*side));
    MatrixUse &use = matrices[origin.argument];
    use.stacks.insert(origin.slicedAlong.begin(), origin.slicedAlong.end());
    use.products.push_back(contract);
    bool isForward = !isGradient(contract.getResult());
    use.isMultiplied |= isForward;
    use.isExcluded |=
        staysInF32(contract) || (isForward && (!isMatrixProduct(contract) || isScore(contract.getResult())));
  });
  for (auto &[argument, use] : matrices)
    for (ContractOp contract : use.products)
      use.isExcluded |=
          llvm::any_of(names(contract.getOver()), [&](StringRef axis) { return use.stacks.contains(axis); });
}

/// The contractions that compute a parameter's gradient or terms of it.
void Fp8Planner::findGradientsOf(BlockArgument parameter, Value gradient) {
  llvm::SetVector<Value> work;
  work.insert(gradient);
  for (unsigned next = 0; next < work.size(); ++next) {
    if (auto contract = work[next].getDefiningOp<ContractOp>()) {
      bool isLhs = isGradient(contract.getLhs()), isRhs = isGradient(contract.getRhs());
      if (isLhs == isRhs || staysInF32(contract) || !isMatrixProduct(contract)) continue;
      auto roleOf = [](bool is) { return is ? Fp8Role::Gradient : Fp8Role::Activation; };
      products[contract] = {contract, {roleOf(isLhs), roleOf(isRhs)}, matrices[parameter].stacks};
      continue;
    }
    for (Term term : termsOf(work[next])) work.insert(term.value);
  }
}

std::vector<Fp8Product> Fp8Planner::run() {
  gradients = followForwards(step, [](Operation *op, bool isOperandFound) -> ValueRange {
    return isa<SeedOp>(op) || isOperandFound ? ValueRange(op->getResults()) : ValueRange();
  });
  findParameters();
  findMatrices();
  auto isQuantized = [&](BlockArgument argument) {
    auto it = matrices.find(argument);
    return it != matrices.end() && it->second.isMultiplied && !it->second.isExcluded;
  };
  step.walk([&](ContractOp contract) {
    std::optional<unsigned> side = weightSide(contract);
    if (!side) return;
    Origin origin = findOrigin(contract->getOperand(*side));
    if (!isQuantized(origin.argument)) return;
    Fp8Product product{contract, {Fp8Role::Weight, Fp8Role::Weight}, matrices[origin.argument].stacks};
    product.roles[1 - *side] = isGradient(contract->getOperand(1 - *side)) ? Fp8Role::Gradient : Fp8Role::Activation;
    products[contract] = product;
  });
  step.walk([&](UpdateOp update) {
    Origin origin = findOrigin(update.getParameter());
    if (!origin.argument || !isQuantized(origin.argument)) return;
    Value gradient = update.getGradient();
    if (auto clip = gradient.getDefiningOp<ClipOp>())
      gradient = clip.getGradients()[cast<OpResult>(gradient).getResultNumber()];
    findGradientsOf(origin.argument, gradient);
  });
  std::vector<Fp8Product> inOrder;
  step.walk<WalkOrder::PreOrder>([&](ContractOp contract) {
    auto it = products.find(contract);
    if (it != products.end()) inOrder.push_back(it->second);
  });
  return inOrder;
}

std::vector<Fp8Product> tessera::planFp8(func::FuncOp step) { return Fp8Planner(step).run(); }
