//===- Indexing.cpp - `as`, and reading at positions -----------------------===//
//
// `x[axis = e else v]` becomes the cheapest of
//   a slice           where e is `pos[b] + c` (with a pad where it leaves x),
//   a slice and a sum where e is a number,
//   a gather          everywhere else, as for windows (`pos[b] + pos[k]`) and strides (`2 * pos[b]`).
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Indexing.h"
#include "frontend/elaborate/Conditions.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// as
//===----------------------------------------------------------------------===//

/// Plain renamings, all at once so that names may be swapped.
bool Indexing::renameAxes(const ast::AsExpr &expr, Tensor &x) {
  llvm::SmallVector<std::string> from, to;
  for (const ast::Renaming &renaming : expr.renamings) {
    if (renaming.from.size() != 1 || renaming.to.size() != 1) continue;
    std::optional<AxisRef> old = resolver.resolveAxis(renaming.from[0]), fresh = resolver.resolveAxis(renaming.to[0]);
    if (!old || !fresh) return false;
    if (!x.type().hasAxis(old->name)) {
      error(DiagnosticCode::E0211, renaming.from[0].span,
            "the value has no axis `" + renaming.from[0].text + "`: it is " + describe(LanguageValue(x)));
      return false;
    }
    if (x.type().getSize(old->name) != fresh->size) {
      error(DiagnosticCode::E0213, renaming.span,
            "`" + renaming.from[0].text + "` has size " + Twine(x.type().getSize(old->name)) + ", `" +
                renaming.to[0].text + "` has size " + Twine(fresh->size));
      return false;
    }
    from.push_back(old->name);
    to.push_back(fresh->name);
  }
  for (unsigned i = 0; i < to.size(); ++i) {
    bool stays = x.type().hasAxis(to[i]) && !llvm::is_contained(from, to[i]);
    bool twice = llvm::count(to, to[i]) > 1 || llvm::count(from, from[i]) > 1;
    if (!stays && !twice) continue;
    error(DiagnosticCode::E0213, expr.span,
          "the result would have the axis `" + to[i] + "` twice: the value is " + describe(LanguageValue(x)));
    return false;
  }
  if (from != to)
    x.value = builder.rename(x.value, llvm::to_vector_of<StringRef>(from), llvm::to_vector_of<StringRef>(to));
  return true;
}

LanguageValue Indexing::evalAs(const ast::AsExpr &expr) {
  LanguageValue value = evaluator.eval(*expr.base);
  if (value.isError()) return value;
  if (!value.isTensor())
    return failed(DiagnosticCode::E0205, expr.base->span,
                  "only a tensor has axes to rename; this is " + describe(value));
  Tensor x = value.tensor;
  if (!renameAxes(expr, x)) return LanguageValue();
  for (const ast::Renaming &renaming : expr.renamings)
    if (renaming.from.size() != 1 || renaming.to.size() != 1) {
      x = splitOrMerge(x, renaming);
      if (!x.value) return LanguageValue();
    }
  x.forgetOrigin();
  return x;
}

/// The axes on the left of `->`, which the value has.
std::optional<llvm::SmallVector<AxisRef>> Indexing::axesFrom(const Tensor &x, const ast::Renaming &renaming) {
  llvm::SmallVector<AxisRef> from;
  for (const ast::Name &name : renaming.from) {
    std::optional<AxisRef> axis = resolver.resolveAxis(name);
    if (!axis) return std::nullopt;
    if (!x.type().hasAxis(axis->name)) {
      error(DiagnosticCode::E0211, name.span,
            "the value has no axis `" + name.text + "`: it is " + describe(LanguageValue(x)));
      return std::nullopt;
    }
    from.push_back(*axis);
  }
  return from;
}

/// The axes on the right of `->`, which the value does not have.
std::optional<llvm::SmallVector<AxisRef>> Indexing::axesTo(const Tensor &x, const ast::Renaming &renaming,
                                                           llvm::ArrayRef<AxisRef> from) {
  llvm::SmallVector<AxisRef> to;
  for (const ast::Name &name : renaming.to) {
    std::optional<AxisRef> axis = resolver.resolveAxis(name);
    if (!axis) return std::nullopt;
    if ((x.type().hasAxis(axis->name) && !llvm::is_contained(from, *axis)) || llvm::is_contained(to, *axis)) {
      error(DiagnosticCode::E0213, name.span,
            "the result would have the axis `" + name.text + "` twice: the value is " + describe(LanguageValue(x)));
      return std::nullopt;
    }
    to.push_back(*axis);
  }
  return to;
}

/// A tensor without a value after a message.
Tensor Indexing::splitOrMerge(Tensor x, const ast::Renaming &renaming) {
  auto from = axesFrom(x, renaming);
  auto to = from ? axesTo(x, renaming, *from) : std::nullopt;
  if (!to) return Tensor();
  int64_t size = 1, wanted = 1;
  for (const AxisRef &axis : *to)
    if (__builtin_mul_overflow(wanted, axis.size, &wanted)) wanted = -1;
  for (unsigned i = 0; i < from->size(); ++i) {
    if (llvm::is_contained(llvm::ArrayRef(*from).take_front(i), (*from)[i]))
      return error(DiagnosticCode::E0212, renaming.from[i].span, "the axis `" + (*from)[i].name + "` is listed twice"),
             Tensor();
    size *= x.type().getSize((*from)[i].name);
  }
  if (size != wanted)
    return error(DiagnosticCode::E0214, renaming.span,
                 "sizes do not fit: " + Twine(size) + " on the left of `->`, " + Twine(wanted) + " on the right"),
           Tensor();
  if (from->size() == 1) {
    llvm::SmallVector<AxisAttr> into;
    for (const AxisRef &part : *to) into.push_back(axis(&context, part.name, part.size));
    x.value = builder.split(x.value, from->front().name, into);
  } else {
    llvm::SmallVector<StringRef> names;
    for (const AxisRef &part : *from) names.push_back(part.name);
    x.value = builder.merge(x.value, names, to->front().name);
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Reading at positions
//===----------------------------------------------------------------------===//

static std::optional<Interval> rangeOf(const LanguageValue &value) {
  if (value.isTensor()) return value.tensor.range;
  return Interval{value.number.asInteger(), value.number.asInteger()};
}

/// `pos[a]`; inside `repeat[a]` it is the number of the layer.
LanguageValue Indexing::position(llvm::ArrayRef<AxisRef> axes, const ast::RefExpr &expr) {
  if (axes.size() != 1) return failed(DiagnosticCode::E0207, expr.axes->span, "`pos` takes one axis");
  if (!entry.isActive()) return failed(DiagnosticCode::E0219, expr.span, "positions are not known at compile time");
  batches.noteSamplePositions(axes[0].name, expr.span);
  Tensor result;
  result.level = regions.level();
  result.isPositional = true;
  result.range = Interval{0, axes[0].size - 1};
  for (unsigned l = 0; l < regions.level(); ++l)
    if (regions.region(l).axis == axes[0]) {
      result.value = regions.import(regions.region(l).induction(), l + 1);
      return result;
    }
  result.value = builder.index(axis(&context, axes[0].name, axes[0].size));
  result.affine = Affine{axes[0].name, 0};
  return result;
}

/// Whether the value of `axis = e` is an integer.
bool Indexing::checkPosition(const ast::Bind &bind, const LanguageValue &value) {
  bool isInteger = value.isNumber() ? !value.number.isFloat() : value.isTensor() && value.tensor.element().isInteger();
  if (isInteger) return true;
  auto message =
      error(DiagnosticCode::E0217, bind.value->span, "a position must be an integer, got " + describe(value));
  for (auto &[param, isInteger] : modelIntegers)
    if (isInteger && entry.isGenerate() && param->within.text.empty())
      message.label(param->span, "integers, when training")
          .help("declare their bound: `" + diagnostics.sources().text(param->span) + " in " + bind.name.text + "`");
  return false;
}

void Indexing::reportOutOfRange(const ast::Bind &bind, const LanguageValue &value, int64_t size) {
  std::optional<Interval> range = rangeOf(value);
  auto message = error(DiagnosticCode::E0216, bind.value->span,
                       "the position may be out of range: `" + bind.name.text + "` has size " + Twine(size));
  message.label(bind.value->span, range ? "is in " + std::to_string(range->low) + " … " + std::to_string(range->high)
                                        : std::string("no bounds are known"));
  message.help("say what is read outside: `[" + bind.name.text + " = " + diagnostics.sources().text(bind.value->span) +
               " else 0]`");
  if (value.isTensor() && comparesAnotherValue(value.tensor.value))
    message.help("or name the value with `let`: the condition of `where` bounds what it compares, by its name");
  else if (value.isTensor() && !range)
    message.help("or declare bounds where it comes from: `in " + bind.name.text +
                 "` after a parameter, `below = …` in the data");
}

bool Indexing::evalPositions(const ast::IndexExpr &expr, const Tensor &x, std::vector<Position> &positions) {
  for (const ast::Bind &bind : expr.positions) {
    std::optional<AxisRef> axis = resolver.resolveAxis(bind.name);
    LanguageValue value = evaluator.eval(*bind.value);
    if (!axis || value.isError()) return false;
    if (!x.type().hasAxis(axis->name)) {
      error(DiagnosticCode::E0211, bind.name.span, "the value has no axis `" + bind.name.text + "`")
          .label(expr.base->span, "this is " + describe(LanguageValue(x)));
      return false;
    }
    if (llvm::any_of(positions, [&](const Position &p) { return p.axis == *axis; })) {
      error(DiagnosticCode::E0212, bind.name.span, "the axis `" + bind.name.text + "` is read at two positions");
      return false;
    }
    if (!checkPosition(bind, value)) return false;
    if (value.isTensor() && value.tensor.input >= 0) training.notePositions(value.tensor.input, axis->name);
    if (value.isTensor() && value.tensor.element().isInteger(1))
      value.tensor.value = builder.cast(value.tensor.value, i32);
    batches.noteSamplePositions(axis->name, bind.name.span);
    axis->size = x.type().getSize(axis->name);
    std::optional<Interval> range = rangeOf(value);
    bool proven = range && range->low >= 0 && range->high < axis->size;
    if (!proven && !expr.otherwise) return reportOutOfRange(bind, value, axis->size), false;
    positions.push_back({*axis, std::move(value), bind.value->span, proven});
  }
  return true;
}

LanguageValue Indexing::evalIndex(const ast::IndexExpr &expr) {
  LanguageValue base = evaluator.eval(*expr.base);
  if (base.isError()) return base;
  if (!base.isTensor())
    return failed(DiagnosticCode::E0205, expr.base->span,
                  "only a tensor is read at positions; this is " + describe(base));
  std::vector<Position> positions;
  if (!evalPositions(expr, base.tensor, positions)) return LanguageValue();
  LanguageValue otherwise = Number::ofInt(0);
  if (expr.otherwise) {
    otherwise = evaluator.eval(*expr.otherwise);
    if (otherwise.isError()) return otherwise;
    if (!otherwise.isArithmetic())
      return failed(DiagnosticCode::E0205, expr.otherwise->span,
                    "expected a value after `else`, got " + describe(otherwise));
    if (otherwise.isTensor() && !otherwise.tensor.type().isScalar())
      return failed(DiagnosticCode::E0210, expr.otherwise->span,
                    "the value after `else` must be a scalar, got " + describe(otherwise));
  }
  if (positions.size() == 1)
    if (std::optional<LanguageValue> shifted = readShifted(base.tensor, positions[0], otherwise)) return *shifted;
  return readAt(base.tensor, positions, otherwise);
}

/// A read at `n` or at `pos[b] + c`, as a slice; nothing if it is another kind.
std::optional<LanguageValue> Indexing::readShifted(const Tensor &x, const Position &position,
                                                   const LanguageValue &otherwise) {
  Tensor result = x;
  result.forgetOrigin();
  StringRef from = position.axis.name;
  if (position.value.isNumber() && position.proven && x.element().isIntOrFloat() && !x.element().isInteger(1)) {
    int64_t at = position.value.number.asInteger();
    result.value = builder.sum(builder.slice(x.value, from, at, 1), {from});
    return result;
  }
  if (!position.value.isTensor() || !position.value.tensor.affine) return std::nullopt;
  const Affine &affine = *position.value.tensor.affine;
  StringRef to = affine.axis;
  if (!position.value.tensor.type().hasAxis(to) || (to != from && x.type().hasAxis(to))) return std::nullopt;
  int64_t size = position.axis.size, reads = position.value.tensor.type().getSize(to);
  int64_t low = std::max<int64_t>(0, -affine.offset), high = std::min(reads, size - affine.offset);
  if (high <= low) return std::nullopt;
  if (high - low < size) result.value = builder.slice(result.value, from, low + affine.offset, high - low);
  if (to != from) result.value = builder.rename(result.value, {from}, {to});
  if (high - low == reads) return result;
  if (x.element().isInteger(1)) return std::nullopt;
  result.forgetBounds();
  result.value = builder.pad(result.value, to, low, reads);
  if (otherwise.isNumber() && otherwise.number.asDouble() == 0) return result;
  mlir::Value index = builder.index(axis(&context, to, reads));
  mlir::Value inside = builder.logicalAnd(builder.compare(Predicate::GE, index, builder.scalar(low, i32)),
                                          builder.compare(Predicate::LT, index, builder.scalar(high, i32)));
  result.value = builder.select(inside, result.value, ops.materialize(otherwise, result.element()));
  return result;
}

LanguageValue Indexing::readAt(const Tensor &x, llvm::ArrayRef<Position> positions, const LanguageValue &otherwise) {
  llvm::SmallVector<StringRef> axes;
  llvm::SmallVector<mlir::Value> indices;
  mlir::Value inside;
  auto require = [&](mlir::Value condition) { inside = inside ? builder.logicalAnd(inside, condition) : condition; };
  for (const Position &position : positions) axes.push_back(position.axis.name);
  for (const Position &position : positions) {
    if (position.value.isTensor()) {
      for (AxisAttr axis : position.value.tensor.type().getAxes())
        if (x.type().hasAxis(axis.getName()) && x.type().getSize(axis.getName()) != axis.getSize() &&
            !llvm::is_contained(axes, axis.getName()))
          return failed(DiagnosticCode::E0208, position.span, "the axis `" + axis.getName() + "` differs in size");
    }
    mlir::Value index = ops.materialize(position.value, i32);
    indices.push_back(index);
    std::optional<Interval> range = rangeOf(position.value);
    if (!range || range->low < 0) require(builder.compare(Predicate::GE, index, builder.scalar(0, i32)));
    if (!range || range->high >= position.axis.size)
      require(builder.compare(Predicate::LT, index, builder.scalar(position.axis.size, i32)));
  }
  Tensor result;
  result.level = regions.level();
  result.isPositional = x.isPositional && llvm::all_of(positions, [](const Position &p) {
                          return p.value.isNumber() || p.value.tensor.isPositional;
                        });
  result.value = builder.gather(x.value, axes, indices);
  if (!inside) {
    result.range = x.range;
    result.floatRange = x.floatRange;
    return result;
  }
  mlir::Type element = ops.commonType({&otherwise}, false) == f32 && x.element() != f32 ? f32 : x.element();
  result.value = builder.select(inside, builder.cast(result.value, element), ops.materialize(otherwise, element));
  return result;
}
