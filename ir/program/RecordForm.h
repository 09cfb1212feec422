//===- RecordForm.h - what a dictionary that is recorded in a module has --===//

#ifndef TESSERA_IR_PROGRAM_RECORDFORM_H
#define TESSERA_IR_PROGRAM_RECORDFORM_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"

namespace tessera {

/// More bytes than any machine has, and few enough that sums of some sizes do not overflow.
inline constexpr int64_t mostBytes = int64_t(1) << 56;

/// A number of bytes from 0 to `mostBytes`, in 64 bits.
bool isSize(mlir::Attribute attribute);
/// A number of bytes that may be negative.
bool isDifference(mlir::Attribute attribute);
/// A finite number of the type f64.
bool isFinite(mlir::Attribute attribute);

/// An entry of a dictionary.
struct RecordField {
  llvm::StringRef name;
  bool (*holds)(mlir::Attribute);
  bool isOptional = false;
};

/// Whether an attribute is a dictionary of these entries. With `others` it may have more.
bool isRecord(mlir::Attribute attribute, llvm::ArrayRef<RecordField> fields, bool others = false);
/// Whether it is a list of such dictionaries.
bool isListOfRecords(mlir::Attribute attribute, llvm::ArrayRef<RecordField> fields);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_RECORDFORM_H
