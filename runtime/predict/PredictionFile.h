//===- PredictionFile.h - files of predictions --------------------------------===//

#ifndef TESSERA_RUNTIME_PREDICT_PREDICTIONFILE_H
#define TESSERA_RUNTIME_PREDICT_PREDICTIONFILE_H

#include "runtime/program/Manifest.h"

#include <memory>

namespace tessera::runtime {

enum class PredictionFormat { Csv, Npy, Safetensors };

/// The format that the end of a path names: .csv, .npy or .safetensors. Throws an Error for any other.
PredictionFormat predictionFormat(const std::string &path);

/// A tensor of the file: an output of the model, or a field of the data.
struct PredictedTensor {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<AxisSpec> axes;  ///< rows outermost; their size is that of a batch
  const char *batch = nullptr; ///< the rows of one batch
  /// In text: the names of the positions on each axis, and of the values if they are integers. Empty: their numbers.
  std::vector<std::vector<std::string>> positionNames = {};
  std::vector<std::string> valueNames = {};

  int64_t elements() const; ///< of a row
  int64_t rowBytes() const { return elements() * bytesOf(type); }
};

/// Writes rows in order. The file appears when all are written; without `finish` there is none.
class PredictionFile {
public:
  virtual ~PredictionFile() = default;
  /// Writes the first `count` rows of the batch that the tensors hold.
  virtual void write(int64_t count) = 0;
  virtual void finish() = 0;
  /// Whether more rows cannot be written: standard output is closed. The error is reported at the end of the program.
  virtual bool isClosed() const { return false; }
};

/// Opens a file for `rows` rows of these tensors, which must outlive it; an empty path is standard output. Throws an
/// Error if the format cannot hold them or the path cannot be written.
std::unique_ptr<PredictionFile> openPredictionFile(PredictionFormat format, const std::string &path,
                                                   const std::vector<PredictedTensor> &tensors, int64_t rows);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PREDICT_PREDICTIONFILE_H
