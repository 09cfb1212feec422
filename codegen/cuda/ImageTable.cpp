//===- ImageTable.cpp - machine code for GPUs in a program ----------------===//

#include "codegen/cuda/ImageTable.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "runtime/Abi.h"

using namespace mlir;
using namespace tessera;

/// A constant global of bytes.
static void emitBytes(OpBuilder &builder, ModuleOp code, StringRef name, StringRef bytes) {
  Location loc = builder.getUnknownLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(code.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                         builder.getStringAttr(bytes), /*alignment=*/16);
}

void tessera::emitImageTable(ModuleOp code, ArrayRef<DeviceImage> images) {
  OpBuilder builder(code.getBodyRegion());
  Location loc = builder.getUnknownLoc();
  for (auto [i, image] : llvm::enumerate(images)) {
    emitBytes(builder, code, "tsr_image_" + std::to_string(i), image.code);
    emitBytes(builder, code, "tsr_image_for_" + std::to_string(i), image.architecture + std::string(1, '\0'));
  }
  builder.setInsertionPointToEnd(code.getBody());
  Type pointer = LLVM::LLVMPointerType::get(code.getContext()), i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto entry = LLVM::LLVMStructType::getLiteral(code.getContext(), {pointer, i32, i32, i64, pointer});
  auto type = LLVM::LLVMArrayType::get(entry, images.size() + 1);
  auto table = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::External,
                                      TSR_SYMBOL_IMAGES, Attribute());
  builder.createBlock(&table.getInitializerRegion());
  Value list = LLVM::ZeroOp::create(builder, loc, type);
  auto set = [&](Value value, size_t image, int64_t field) {
    list =
        LLVM::InsertValueOp::create(builder, loc, list, value, ArrayRef<int64_t>{static_cast<int64_t>(image), field});
  };
  for (auto [i, image] : llvm::enumerate(images)) {
    set(LLVM::AddressOfOp::create(builder, loc, pointer, "tsr_image_for_" + std::to_string(i)), i, 0);
    set(LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(image.firstKernel)), i, 1);
    set(LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(image.kernels)), i, 2);
    set(LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(image.code.size())), i, 3);
    set(LLVM::AddressOfOp::create(builder, loc, pointer, "tsr_image_" + std::to_string(i)), i, 4);
  }
  LLVM::ReturnOp::create(builder, loc, list);
}
