//===- CalibrationModels.h - what `tessera calibrate` measures ------------===//

#ifndef TESSERA_TOOLS_CALIBRATIONMODELS_H
#define TESSERA_TOOLS_CALIBRATIONMODELS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// A model file of tools/calibration/, which is inside of the compiler.
struct CalibrationModel {
  llvm::StringLiteral name, text;
};

llvm::ArrayRef<CalibrationModel> calibrationModels();

/// A program that is measured: a model with other values of its hypers, in one or several types.
struct CalibrationRun {
  llvm::StringLiteral model;
  llvm::SmallVector<llvm::StringRef> settings, types;
};

/// They differ from each other in what bounds their kernels: arithmetic, caches, memory. No workload of `bench/` is
/// among them.
llvm::ArrayRef<CalibrationRun> calibrationRuns();

} // namespace tessera

#endif // TESSERA_TOOLS_CALIBRATIONMODELS_H
