//===- ShardedRunner.cpp - divided programs, as if they were whole --------===//

#include "tests/differential/ShardedRunner.h"
#include "ir/program/Program.h"
#include "passes/sharding/Sharding.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// Visits all elements of a part, with the place of each in the whole; -1: it is padding. `coordinates` has the
/// position along mesh axes that the type of the part lacks. An axis may be divided in several blocks.
static void forEachPlace(NamedTensorType part, NamedTensorType whole, const Sharding &sharding,
                         const llvm::StringMap<int64_t> &coordinates, const Blocks &blocks,
                         llvm::function_ref<void(size_t, int64_t)> visit) {
  SmallVector<int64_t> strides = whole.getStrides();
  SmallVector<int64_t> point(part.getRank(), 0);
  auto position = [&](StringRef axis) {
    return part.hasAxis(axis) ? point[part.findAxis(axis)] : coordinates.lookup(axis);
  };
  for (size_t element = 0; element < static_cast<size_t>(part.getNumElements()); ++element) {
    int64_t place = 0;
    for (auto [axis, stride] : llvm::zip(whole.getAxes(), strides)) {
      int64_t at = position(axis.getName());
      if (StringRef along = sharding.meshAxis(axis.getName()); !along.empty()) {
        int64_t count = axis.getName() == blocks.axis ? blocks.count : 1;
        int64_t ofBlock = part.getSize(axis.getName()) / count, block = at / ofBlock;
        at = block * (axis.getSize() / count) + position(along) * ofBlock + at % ofBlock;
      }
      place = place < 0 || at >= axis.getSize() ? -1 : place + at * stride;
    }
    visit(element, place);
    for (int64_t i = part.getRank(); i-- > 0 && ++point[i] == part.getAxes()[i].getSize();) point[i] = 0;
  }
}

/// The axis of an input that is divided in several blocks, as its tag says.
static Blocks blocksOfInput(DictionaryAttr tag) {
  auto divided = tag ? tag.getAs<DictionaryAttr>("divided") : DictionaryAttr();
  for (NamedAttribute part : divided ? divided.getValue() : ArrayRef<NamedAttribute>())
    if (auto blocks = cast<DictionaryAttr>(part.getValue()).getAs<IntegerAttr>("blocks"))
      return {part.getName().getValue(), blocks.getInt()};
  return {};
}

TensorValue ShardedRunner::argumentFor(func::FuncOp entry, unsigned argument, const Values &values,
                                       const Coordinates &coordinates) {
  std::string name = argumentName(entry, argument);
  TensorValue part(cast<NamedTensorType>(entry.getArgumentTypes()[argument]));
  auto tag = entry.getArgAttrOfType<DictionaryAttr>(argument, attrs::input);
  if (tag && tag.getAs<StringAttr>("role") == "rank") {
    part.data[0] = static_cast<double>(coordinates.lookup(tag.getAs<StringAttr>("name").getValue()));
    return part;
  }
  auto type = cast<NamedTensorType>(whole.lookupSymbol<func::FuncOp>(entry.getName()).getArgumentTypes()[argument]);
  TensorValue from = values.at(name).reordered(type);
  double padding = argumentState(entry, argument).empty() ? 1000 : 0;
  Sharding sharding(entry.getArgAttrOfType<DictionaryAttr>(argument, attrs::sharding));
  forEachPlace(part.type, type, sharding, coordinates, blocksOfInput(tag),
               [&](size_t at, int64_t place) { part.data[at] = place < 0 ? padding : from.data[place]; });
  return part;
}

void ShardedRunner::addPart(func::FuncOp entry, unsigned result, const TensorValue &part,
                            const Coordinates &coordinates, Values &wholes) {
  std::string name = resultName(entry, result);
  auto type = cast<NamedTensorType>(whole.lookupSymbol<func::FuncOp>(entry.getName()).getResultTypes()[result]);
  Sharding sharding(entry.getResultAttrOfType<DictionaryAttr>(result, attrs::sharding));
  auto [to, isFirst] = wholes.try_emplace(name, TensorValue(type));
  std::vector<double> &elements = to->second.data;
  if (isFirst) llvm::fill(elements, std::numeric_limits<double>::quiet_NaN());
  forEachPlace(part.type, type, sharding, coordinates, {}, [&](size_t at, int64_t place) {
    double element = part.data[at];
    if (place < 0) {
      if (element != 0) problem = "the padding of " + name + " is not zero";
      return;
    }
    bool isEqual = elements[place] == element || (std::isnan(elements[place]) && std::isnan(element));
    if (!isFirst && !std::isnan(elements[place]) && !isEqual) problem = name + " differs between ranks";
    elements[place] = element;
  });
}

FailureOr<Values> WideRunner::run(StringRef entry, const Values &values) {
  auto function = divided.lookupSymbol<func::FuncOp>(entry);
  SmallVector<TensorValue> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) arguments.push_back(argumentFor(function, i, values, {}));
  Interpreter interpreter(Rounding::Double);
  auto results = interpreter.run(function, arguments);
  if (failed(results)) return failure();
  Values wholes;
  for (unsigned i = 0; i < function.getNumResults(); ++i) addPart(function, i, (*results)[i], {}, wholes);
  return wholes;
}

FailureOr<Values> RanksRunner::run(StringRef entry, const Values &values) {
  auto function = divided.lookupSymbol<func::FuncOp>(entry);
  ProgramMesh mesh = ProgramMesh::of(divided);
  Lockstep lockstep(mesh);
  SmallVector<Coordinates> coordinates(mesh.ranks());
  SmallVector<SmallVector<TensorValue>> arguments(mesh.ranks());
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    for (auto [axis, at] : llvm::zip(mesh.getAxes(), lockstep.coordinates(rank)))
      coordinates[rank][axis.getName()] = at;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      arguments[rank].push_back(argumentFor(function, i, values, coordinates[rank]));
  }
  auto results = lockstep.run({function}, arguments);
  if (failed(results)) {
    problem = lockstep.getError().str();
    return failure();
  }
  Values wholes;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      addPart(function, i, (*results)[rank][i], coordinates[rank], wholes);
  return wholes;
}
