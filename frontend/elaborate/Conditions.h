//===- Conditions.h - what the condition of a `where` proves ------------------===//
//
// `where(i >= 0 and i < n, i, 0)` is an index along an axis of size n: at the points that select `i`, it is in bounds.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_CONDITIONS_H
#define TESSERA_FRONTEND_ELABORATE_CONDITIONS_H

#include "frontend/elaborate/Values.h"

namespace tessera {

// The bounds of a value at the points where the condition holds, or, without `holds`, where it does not: from
// comparisons of the value with numbers, joined by `and`, `or` and `not`.
std::optional<Interval> integerRangeWhere(mlir::Value condition, bool holds, const LanguageValue &value);
FloatRange floatRangeWhere(mlir::Value condition, bool holds, const LanguageValue &value);

/// Whether the value was chosen by a condition that compares neither of the two: `where(int(y) < n, int(y), 0)`
/// compares another value than it chooses.
bool comparesAnotherValue(mlir::Value chosen);

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_CONDITIONS_H
