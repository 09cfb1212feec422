//===- Assembly.h - how ops of the dialect print and parse ----------------===//
//
// The custom directives that the assembly formats of TsrOps.td share, and the aliases of types. Each directive prints
// the short form where nothing is lost by it, and parses the long form too.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_DIALECT_ASSEMBLY_H
#define TESSERA_IR_DIALECT_ASSEMBLY_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Gives the types of a module aliases: `!batch_seq` for `!tsr.tensor<[batch: 8, seq: 64], f32>`, `!i32` for a scalar.
/// Printing with local scope (`--mlir-print-local-scope`) is without aliases.
void addTypeAliases(TsrDialect &dialect);

/// The value of a constant as MLIR's parser reads it, with as few digits as identify it in its type; empty for a value
/// that has no such literal (infinities, NaN, 8-bit floats).
std::string literal(mlir::Attribute value);

/// What SSA values of constants are called: `c0.5`, `c-inf`.
std::string constantName(mlir::Attribute value);

/// Names of axes and others that are identifiers print without quotes: `embed`, `[batch, seq]`. Quotes may be there.
mlir::ParseResult parseName(mlir::OpAsmParser &parser, mlir::StringAttr &name);
void printName(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::StringAttr name);
mlir::ParseResult parseNames(mlir::OpAsmParser &parser, mlir::ArrayAttr &names);
void printNames(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr names);

/// Flags as keywords: `nesterov`. Without flags there is no text.
mlir::ParseResult parseFlags(mlir::OpAsmParser &parser, mlir::ArrayAttr &flags);
void printFlags(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr flags);

/// The names of an optimizer rule's arguments: `arguments [rate, decay]`. Earlier versions have the keyword `hypers`.
mlir::ParseResult parseRuleArguments(mlir::OpAsmParser &parser, mlir::ArrayAttr &names);
void printRuleArguments(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr names);

/// Places without their mnemonic: `<0>, <4096, [8192]>`.
mlir::ParseResult parsePlaces(mlir::OpAsmParser &parser, mlir::ArrayAttr &places);
void printPlaces(mlir::OpAsmPrinter &printer, mlir::ArrayAttr places);
/// Whether the attribute is a list of places that prints so.
bool arePlaces(mlir::Attribute attribute);

/// Notes: `as "h.attn.q" backward at <0>, <4096> {others}` for the attributes `tsr.name`, `tsr.pass`, `tsr.places` and
/// all others that the assembly format does not name. Before a region, `attributes {others}`.
mlir::ParseResult parseNotes(mlir::OpAsmParser &parser, mlir::NamedAttrList &attributes);
void printNotes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DictionaryAttr);
mlir::ParseResult parseNotesBeforeRegion(mlir::OpAsmParser &parser, mlir::NamedAttrList &attributes);
void printNotesBeforeRegion(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                            llvm::ArrayRef<mlir::NamedAttribute> attributes);

/// `T` where both operands and the result have it; `A, B` where the result is as large as one of them; else
/// `A, B -> R`. Or `(A, B) -> R`.
mlir::ParseResult parseBinaryTypes(mlir::OpAsmParser &parser, mlir::Type &lhs, mlir::Type &rhs, mlir::Type &result);
void printBinaryTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, NamedTensorType lhs, NamedTensorType rhs,
                      NamedTensorType result);

/// As for binary ops, with a result of i1.
mlir::ParseResult parseCompareTypes(mlir::OpAsmParser &parser, mlir::Type &lhs, mlir::Type &rhs, mlir::Type &result);
void printCompareTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, NamedTensorType lhs, NamedTensorType rhs,
                       NamedTensorType result);

/// `C, T` where both values have the type T; `C, A, B` where they differ; with `-> R` unless the result is as large as
/// one of these. Or `(C, A, B) -> R`.
mlir::ParseResult parseSelectTypes(mlir::OpAsmParser &parser, mlir::Type &condition, mlir::Type &yes, mlir::Type &no,
                                   mlir::Type &result);
void printSelectTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, NamedTensorType condition, NamedTensorType yes,
                      NamedTensorType no, NamedTensorType result);

/// `X` where the result is X without the axes `over`, in the same order; else `X -> R`.
mlir::ParseResult parseReduceTypes(mlir::OpAsmParser &parser, mlir::ArrayAttr over, mlir::Type &x, mlir::Type &result);
void printReduceTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::ArrayAttr over, NamedTensorType x,
                      NamedTensorType result);

/// `0.5 -> T`, and `0.5` for a scalar of f32, i32 or i1; or `0.5 : f32 -> T`. Notes precede the arrow.
mlir::ParseResult parseSplat(mlir::OpAsmParser &parser, mlir::TypedAttr &value, mlir::NamedAttrList &attributes,
                             mlir::Type &result);
void printSplat(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Attribute value, mlir::DictionaryAttr,
                NamedTensorType result);

} // namespace tessera

#endif // TESSERA_IR_DIALECT_ASSEMBLY_H
