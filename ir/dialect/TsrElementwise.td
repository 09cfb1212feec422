//===- TsrElementwise.td - elementwise ops --------------------------------===//
//
// One entry holds what passes know of an elementwise op: how it is evaluated (by the interpreter and wherever constants
// are folded) and its traits (TsrTraits.td); for an op of one operand also its gradient and its name in the model
// language. The gradients of other ops are in ir/autodiff/AdjointsElementwise.cpp. What the two targets need is beside
// the code that they emit: codegen/cpu/builder/VectorMath.cpp or codegen/cpu/kernel/OpLowering.cpp, and
// codegen/cuda/device/scalars.cuh.
//
//===----------------------------------------------------------------------===//

#ifndef TSR_ELEMENTWISE_TD
#define TSR_ELEMENTWISE_TD

include "ir/dialect/TsrOpBase.td"

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Each element of the result depends only on the operands' elements at the same position. Operands broadcast by name.
/// An entry without the trait MayBeInKernel runs in no kernel: then no program can contain the op after `fuse`.
/// C1: operands that share an axis agree in its size. C2: the result's axes are the union of the operands' axes.
class Tsr_ElementwiseOp<string opMnemonic, list<Trait> traits = [], list<string> methods = []>
    : Tsr_PureOp<opMnemonic, [DeclareOpInterfaceMethods<Tsr_ElementwiseInterface, methods>, Tsr_DivisibleInterface]
        # traits> {
  let results = (outs Tsr_Tensor:$result);
  let assemblyFormat = "operands `` custom<Notes>(attr-dict) `:` functional-type(operands, results)";
  let hasVerifier = 1;
  code evaluateByPoint = [{
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<TensorValue> operands,
                                              ::llvm::MutableArrayRef<TensorValue> results, Interpreter &) {
      evaluateElementwise(*this, operands, results);
      return ::llvm::success();
    }
  }];
  let extraClassDefinition = resultNames # evaluateByPoint;
}

/// C3: the operands and the result have one element type. C4: it is none of the fp8 types.
class Tsr_ArithmeticOp<string opMnemonic, list<Trait> traits = [], list<string> methods = []>
    : Tsr_ElementwiseOp<opMnemonic, traits, methods> {
  code verifyArithmetic = "::llvm::LogicalResult $cppClass::verify() { return verifyArithmeticOp(getOperation()); }";
  let extraClassDefinition = resultNames # evaluateByPoint # verifyArithmetic;
}

/// An op of one operand. `evaluation` is a C++ expression of `double x`.
class Tsr_UnaryOp<string opMnemonic, string evaluation, list<Trait> traits = []>
    : Tsr_ArithmeticOp<opMnemonic, [AllTypesMatch<["x", "result"]>, Tsr_IsUnaryFunction] # traits> {
  let arguments = (ins Tsr_FloatTensor:$x);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x)";

  /// The name of the function in the model language; empty: model files cannot call it.
  string languageName = "";
  /// For integers known at compile time: a C++ expression of `int64_t x`, std::nullopt where the value does not fit.
  /// Empty: they are converted to floats.
  string integerEvaluation = "";
  /// The value is a whole number. Known at compile time, it is an integer in the model language.
  bit roundsToInteger = 0;
  /// Tensors of integers may be operands.
  bit takesIntegers = 0;
  /// Tests sample the operand between these two. There the function is smooth, and neither it nor its derivative is
  /// extreme.
  string sampleLow = "-2";
  string sampleHigh = "2";

  let extraClassDeclaration = [{
    static double valueAt(double x);
    static std::optional<int64_t> valueAtInteger(int64_t x);
    static constexpr auto integerEvaluator() -> std::optional<int64_t> (*)(int64_t) {
      return }] # !if(!empty(integerEvaluation), "nullptr", "&valueAtInteger") # [{;
    }
    static constexpr bool roundsToInteger = }] # !if(roundsToInteger, "true", "false") # [{;
    static constexpr bool takesIntegers = }] # !if(takesIntegers, "true", "false") # [{;
    static constexpr double sampleLow = }] # sampleLow # ", sampleHigh = " # sampleHigh # [{;
    static constexpr ::llvm::StringLiteral languageName = "}] # languageName # [{";
  }];
  code evaluatePoints = [{
    double $cppClass::valueAt(double x) { return }] # evaluation # [{; }
    double $cppClass::applyScalar(::llvm::ArrayRef<double> x) { return valueAt(x[0]); }
    std::optional<int64_t> $cppClass::valueAtInteger([[maybe_unused]] int64_t x) {
      return }] # !if(!empty(integerEvaluation), "std::nullopt", integerEvaluation) # [{;
    }
  }];
  let extraClassDefinition = resultNames # evaluateByPoint # verifyArithmetic # evaluatePoints;
}

/// `gradient` is a C++ expression: the gradient of the operand, of a GraphBuilder `b`, the gradient `d` of the
/// result, the operand `x` and the result `y`. Forms with `y` are preferred where the result is cheaper to have than
/// to compute from the operand.
class Tsr_DifferentiableUnaryOp<string opMnemonic, string evaluation, string gradient, list<Trait> traits = []>
    : Tsr_UnaryOp<opMnemonic, evaluation, [DeclareOpInterfaceMethods<Tsr_AdjointInterface>] # traits> {
  let extraClassDefinition = resultNames # evaluateByPoint # verifyArithmetic # evaluatePoints # [{
    void $cppClass::buildAdjoint(GraphBuilder &b, ::mlir::ValueRange gradients, ::llvm::function_ref<bool(unsigned)>,
                                 ::llvm::function_ref<void(unsigned, ::mlir::Value)> accumulate) {
      [[maybe_unused]] ::mlir::Value d = gradients[0], x = getX(), y = getResult();
      accumulate(0, }] # gradient # [{);
    }
  }];
}

/// An op of two operands. `evaluation` is a C++ expression of `double a` and `double b`; `bounds`, of two `Interval`s
/// of these names, is an optional interval for integers (Interval.h).
class Tsr_BinaryOp<string opMnemonic, string evaluation, string bounds = "std::nullopt", list<Trait> traits = []>
    : Tsr_ArithmeticOp<opMnemonic, [Tsr_IsBinaryFunction] # traits, ["inferBounds"]> {
  let arguments = (ins Tsr_NumberTensor:$lhs, Tsr_NumberTensor:$rhs);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Notes>(attr-dict) `:` custom<BinaryTypes>(type($lhs), type($rhs), type($result))
  }];

  /// The name of the function in the model language; empty: model files cannot call it.
  string languageName = "";
  /// Tensors of integers may be operands.
  bit takesIntegers = 1;
  /// Tests sample the operands between these bounds, where the function is smooth and neither it nor a derivative is
  /// extreme. If `rhsHasEitherSign`, the bounds of the right operand are those of its magnitude.
  string lhsSampleLow = "-2";
  string lhsSampleHigh = "2";
  string rhsSampleLow = "-2";
  string rhsSampleHigh = "2";
  bit rhsHasEitherSign = 0;

  let extraClassDeclaration = [{
    static double valueAt(double a, double b);
    static std::optional<Interval> boundsOf(Interval a, Interval b);
    static constexpr bool takesIntegers = }] # !if(takesIntegers, "true", "false") # [{;
    static constexpr double lhsSampleLow = }] # lhsSampleLow # ", lhsSampleHigh = " # lhsSampleHigh # [{;
    static constexpr double rhsSampleLow = }] # rhsSampleLow # ", rhsSampleHigh = " # rhsSampleHigh # [{;
    static constexpr bool rhsHasEitherSign = }] # !if(rhsHasEitherSign, "true", "false") # [{;
    static constexpr ::llvm::StringLiteral languageName = "}] # languageName # [{";
  }];
  let extraClassDefinition = resultNames # evaluateByPoint # verifyArithmetic # [{
    double $cppClass::valueAt(double a, double b) { return }] # evaluation # [{; }
    double $cppClass::applyScalar(::llvm::ArrayRef<double> x) { return valueAt(x[0], x[1]); }
    std::optional<Interval> $cppClass::boundsOf([[maybe_unused]] Interval a, [[maybe_unused]] Interval b) {
      return }] # bounds # [{;
    }
    std::optional<Interval> $cppClass::inferBounds(::llvm::ArrayRef<Interval> operands) {
      return boundsOf(operands[0], operands[1]);
    }
  }];
}

/// The entry has no gradient: `buildAdjoint` is in ir/autodiff/AdjointsElementwise.cpp.
class Tsr_DifferentiableBinaryOp<string opMnemonic, string evaluation, string bounds = "std::nullopt",
    list<Trait> traits = []>
    : Tsr_BinaryOp<opMnemonic, evaluation, bounds, [DeclareOpInterfaceMethods<Tsr_AdjointInterface>] # traits>;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

def Tsr_NegOp : Tsr_DifferentiableUnaryOp<"neg", "-x", "b.neg(d)",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Linear, Tsr_PassesRoundingErrors]> {
  let summary = "negation";
  let arguments = (ins Tsr_NumberTensor:$x);
  let integerEvaluation = "x == INT64_MIN ? std::nullopt : std::optional(-x)";
  let takesIntegers = 1;
}

def Tsr_ExpOp : Tsr_DifferentiableUnaryOp<"exp", "std::exp(x)", "b.mul(d, y)",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_RoundingSensitive, Tsr_Approximated, Tsr_MayBeNonFinite]> {
  let summary = "exponential";
  let languageName = "exp";
}

def Tsr_Expm1Op : Tsr_DifferentiableUnaryOp<"expm1", "std::expm1(x)", "b.mul(d, b.add(y, 1))",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_RoundingSensitive, Tsr_Approximated, Tsr_MayBeNonFinite]> {
  let summary = "exp(x) - 1, accurate near zero";
  let languageName = "expm1";
}

def Tsr_LogOp : Tsr_DifferentiableUnaryOp<"log", "std::log(x)", "b.div(d, x)",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_RoundingSensitive, Tsr_Approximated, Tsr_MayBeNonFinite]> {
  let summary = "natural logarithm";
  let languageName = "log";
  let sampleLow = "0.3";
  let sampleHigh = "3";
}

def Tsr_Log1pOp : Tsr_DifferentiableUnaryOp<"log1p", "std::log1p(x)", "b.div(d, b.add(x, 1))",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_RoundingSensitive, Tsr_Approximated, Tsr_MayBeNonFinite]> {
  let summary = "natural logarithm of 1 + x, accurate near zero";
  let languageName = "log1p";
  let sampleLow = "-0.7";
  let sampleHigh = "2";
}

def Tsr_SqrtOp
    : Tsr_DifferentiableUnaryOp<"sqrt", "std::sqrt(x)", "b.div(b.mul(d, 0.5), y)",
      [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_MayBeNonFinite]> {
  let summary = "square root";
  let languageName = "sqrt";
  let sampleLow = "0.3";
  let sampleHigh = "3";
}

def Tsr_RsqrtOp : Tsr_DifferentiableUnaryOp<"rsqrt", "1 / std::sqrt(x)", "b.mul(b.mul(d, -0.5), b.mul(y, b.mul(y, y)))",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Approximated, Tsr_MayBeNonFinite]> {
  let summary = "reciprocal of the square root";
  let languageName = "rsqrt";
  let sampleLow = "0.3";
  let sampleHigh = "3";
}

def Tsr_TanhOp
    : Tsr_DifferentiableUnaryOp<"tanh", "std::tanh(x)", "b.mul(d, b.oneMinus(b.mul(y, y)))",
      [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Approximated]> {
  let summary = "hyperbolic tangent";
  let languageName = "tanh";
}

def Tsr_SigmoidOp : Tsr_DifferentiableUnaryOp<"sigmoid", "(x < 0 ? std::exp(x) : 1) / (1 + std::exp(-std::abs(x)))",
    "b.mul(d, b.sub(y, b.mul(y, y)))", [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Approximated, Tsr_PassesRoundingErrors]> {
  let summary = "logistic function, 1 / (1 + exp(-x))";
  let sampleLow = "-3";
  let sampleHigh = "3";
}

def Tsr_ErfOp : Tsr_DifferentiableUnaryOp<"erf", "std::erf(x)",
    "b.mul(d, b.mul(b.exp(b.neg(b.mul(x, x))), 2 / std::sqrt(M_PI)))",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Approximated]> {
  let summary = "error function";
  let languageName = "erf";
}

def Tsr_SinOp
    : Tsr_DifferentiableUnaryOp<"sin", "std::sin(x)", "b.mul(d, b.unary<CosOp>(x))",
      [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Approximated]> {
  let summary = "sine";
  let languageName = "sin";
  let sampleLow = "-4";
  let sampleHigh = "4";
}

def Tsr_CosOp
    : Tsr_DifferentiableUnaryOp<"cos", "std::cos(x)", "b.neg(b.mul(d, b.unary<SinOp>(x)))",
      [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Approximated]> {
  let summary = "cosine";
  let languageName = "cos";
  let sampleLow = "-4";
  let sampleHigh = "4";
}

def Tsr_AbsOp : Tsr_DifferentiableUnaryOp<"abs", "std::abs(x)", "b.mul(d, b.unary<SignOp>(x))",
    [Tsr_MayBeInKernel, Tsr_PassesRoundingErrors]> {
  let summary = "absolute value; its gradient at zero is zero";
  let arguments = (ins Tsr_NumberTensor:$x);
  let languageName = "abs";
  let integerEvaluation = "x == INT64_MIN ? std::nullopt : std::optional(std::abs(x))";
  let takesIntegers = 1;
}

def Tsr_FloorOp : Tsr_UnaryOp<"floor", "std::floor(x)", [Tsr_MayBeInKernel]> {
  let summary = "largest integer not above";
  let languageName = "floor";
  let integerEvaluation = "x";
  let roundsToInteger = 1;
}

def Tsr_CeilOp : Tsr_UnaryOp<"ceil", "std::ceil(x)", [Tsr_MayBeInKernel]> {
  let summary = "smallest integer not below";
  let languageName = "ceil";
  let integerEvaluation = "x";
  let roundsToInteger = 1;
}

// nearbyint rounds as the mode of the thread says, which nothing changes: ties to even.
def Tsr_RoundOp : Tsr_UnaryOp<"round", "std::nearbyint(x)", [Tsr_MayBeInKernel]> {
  let summary = "nearest integer, halves to the even one";
  let languageName = "round";
  let integerEvaluation = "x";
  let roundsToInteger = 1;
}

def Tsr_SignOp : Tsr_UnaryOp<"sign", "std::isnan(x) ? x : (x > 0) - (x < 0)", [Tsr_MayBeInKernel]> {
  let summary = "-1, 0 or 1";
  let languageName = "sign";
  let integerEvaluation = "(x > 0) - (x < 0)";
}

def Tsr_NotOp : Tsr_ArithmeticOp<"not", [Tsr_MayBeInKernel, AllTypesMatch<["x", "result"]>]> {
  let summary = "logical not";
  let arguments = (ins Tsr_BoolTensor:$x);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x)";
  let extraClassDefinition = resultNames # evaluateByPoint # verifyArithmetic #
    "double $cppClass::applyScalar(::llvm::ArrayRef<double> x) { return x[0] == 0; }";
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

def Tsr_AddOp
    : Tsr_DifferentiableBinaryOp<"add", "a + b", "bounds::sum(a, b)",
      [Tsr_MayBeInKernel, Commutative, Tsr_Smooth, Tsr_Linear, Tsr_PassesRoundingErrors]> {
  let summary = "sum, broadcast by name";
  let hasFolder = 1;
}

def Tsr_SubOp
    : Tsr_DifferentiableBinaryOp<"sub", "a - b", "bounds::difference(a, b)",
      [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Linear, Tsr_PassesRoundingErrors]> {
  let summary = "difference, broadcast by name";
  let hasFolder = 1;
}

def Tsr_MulOp : Tsr_DifferentiableBinaryOp<"mul", "a * b", "bounds::product(a, b)",
    [Tsr_MayBeInKernel, Commutative, Tsr_Smooth]> {
  let summary = "product, broadcast by name";
  let hasFolder = 1;
}

def Tsr_DivOp : Tsr_DifferentiableBinaryOp<"div", "a / b", "std::nullopt",
    [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_MayBeNonFinite]> {
  let summary = "quotient of floats, broadcast by name";
  let arguments = (ins Tsr_FloatTensor:$lhs, Tsr_FloatTensor:$rhs);
  let takesIntegers = 0;
  let rhsSampleLow = "0.5";
  let rhsHasEitherSign = 1;
  let hasFolder = 1;
}

def Tsr_MaxOp
    : Tsr_DifferentiableBinaryOp<"max", "std::isnan(a) || a >= b ? a : b", "bounds::larger(a, b)",
      [Tsr_MayBeInKernel, Tsr_PassesRoundingErrors]> {
  let summary = "larger of two; at a tie the gradient goes to the left side. NaN if either is NaN";
  let languageName = "max";
}

def Tsr_MinOp
    : Tsr_DifferentiableBinaryOp<"min", "std::isnan(a) || a <= b ? a : b", "bounds::smaller(a, b)",
      [Tsr_MayBeInKernel, Tsr_PassesRoundingErrors]> {
  let summary = "smaller of two; at a tie the gradient goes to the left side. NaN if either is NaN";
  let languageName = "min";
}

def Tsr_PowOp
    : Tsr_DifferentiableBinaryOp<"pow", "std::pow(a, b)", "std::nullopt",
      [Tsr_MayBeInKernel, Tsr_Smooth, Tsr_Approximated, Tsr_MayBeNonFinite]> {
  let summary = "power; the gradient of the exponent is zero where the base is not positive";
  let arguments = (ins Tsr_FloatTensor:$lhs, Tsr_FloatTensor:$rhs);
  let takesIntegers = 0;
  let lhsSampleLow = "0.3";
}

def Tsr_FloorDivOp : Tsr_BinaryOp<"floordiv", "std::floor(a / b)", "bounds::floorQuotient(a, b)", [Tsr_MayBeInKernel]> {
  let summary = "quotient rounded down";
}

def Tsr_ModOp : Tsr_DifferentiableBinaryOp<"mod", "floorRemainder(a, b)", "bounds::remainder(a, b)",
    [Tsr_MayBeInKernel]> {
  let summary = "remainder with the sign of the divisor: a - b floor(a / b)";
  // Quotients between 3.1 and 3.7, and their negatives: the function jumps at whole ones.
  let lhsSampleLow = "3.3";
  let lhsSampleHigh = "3.7";
  let rhsSampleLow = "1";
  let rhsSampleHigh = "1.05";
  let rhsHasEitherSign = 1;
}

def Tsr_AndOp : Tsr_BinaryOp<"and", "a != 0 && b != 0", "std::nullopt", [Tsr_MayBeInKernel, Commutative]> {
  let summary = "logical and";
  let arguments = (ins Tsr_BoolTensor:$lhs, Tsr_BoolTensor:$rhs);
  let takesIntegers = 0;
}

def Tsr_OrOp : Tsr_BinaryOp<"or", "a != 0 || b != 0", "std::nullopt", [Tsr_MayBeInKernel, Commutative]> {
  let summary = "logical or";
  let arguments = (ins Tsr_BoolTensor:$lhs, Tsr_BoolTensor:$rhs);
  let takesIntegers = 0;
}

//===----------------------------------------------------------------------===//
// Other element types
//===----------------------------------------------------------------------===//

def Tsr_CompareOp : Tsr_ElementwiseOp<"compare", [Tsr_MayBeInKernel]> {
  let summary = "comparison, broadcast by name; false if a side is NaN, but for `ne`";
  let description = "C3: both sides have one element type. C4: it is none of the fp8 types.";
  let arguments = (ins Tsr_PredicateAttr:$predicate, Tsr_Tensor:$lhs, Tsr_Tensor:$rhs);
  let results = (outs Tsr_BoolTensor:$result);
  let assemblyFormat = [{
    `` $predicate $lhs `,` $rhs `` custom<Notes>(attr-dict) `:` custom<CompareTypes>(type($lhs), type($rhs),
    type($result))
  }];
  let extraClassDeclaration = "static bool holds(Predicate predicate, double a, double b);";
}

def Tsr_SelectOp
    : Tsr_ElementwiseOp<"select",
      [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>, Tsr_PassesRoundingErrors],
      ["inferBounds"]> {
  let summary = "`yes` where the condition holds, else `no`; the side not selected gets zero gradient, "
                "even if it or a derivative of what it is computed from is NaN";
  let description = "C3: `yes`, `no` and the result have one element type.";
  let arguments = (ins Tsr_BoolTensor:$condition, Tsr_Tensor:$yes, Tsr_Tensor:$no);
  let assemblyFormat = [{
    $condition `,` $yes `,` $no `` custom<Notes>(attr-dict) `:` custom<SelectTypes>(type($condition), type($yes),
    type($no), type($result))
  }];
}

def Tsr_CastOp
    : Tsr_ElementwiseOp<"cast", [Tsr_MayBeInKernel, DeclareOpInterfaceMethods<Tsr_AdjointInterface>, Tsr_Linear,
      Tsr_PassesRoundingErrors, Tsr_HasNoArithmetic]> {
  let summary = "change of element type: floats to integers round toward zero and saturate (NaN: 0), "
                "anything to i1 compares with zero";
  let description = [{
    Floats round to the nearest, ties to even. What is too large for f16 or bf16 becomes infinite; for the fp8 types,
    infinity too becomes the largest finite value, as on GPUs, and NaN stays NaN.
  }];
  let arguments = (ins Tsr_Tensor:$x);
  let assemblyFormat = "$x `` custom<Notes>(attr-dict) `:` type($x) `to` type($result)";
  let hasFolder = 1;
}

def Tsr_StochasticRoundOp : Tsr_ElementwiseOp<"stochastic_round", [Tsr_MayBeInKernel]> {
  let summary = "rounds to bf16, up or down at random";
  let description = [{
    The magnitude of `x` is between two consecutive values of bf16. It is rounded to the upper one with a probability
    that is the distance from the lower one, as a fraction of the distance between the two: where the sum of that
    fraction, in units of 2^-16, and floor(noise * 2^16) is 2^16 or more. `noise` is in [0, 1). So sums of rounded
    values are right on average, where rounding to the nearest would lose what is smaller than half a unit in the last
    place. A value of bf16 does not change.

    C3: `x` and `noise` are floats, none of the fp8 types. C4: the result is bf16.
  }];
  let arguments = (ins Tsr_FloatTensor:$x, Tsr_FloatTensor:$noise);
  let extraClassDefinition = resultNames;
}

#endif // TSR_ELEMENTWISE_TD
