//===- tessera-opt.cpp - MLIR's opt tool with the tsr dialect -------------===//

#include "ir/dialect/Tsr.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tessera::TsrDialect, mlir::func::FuncDialect>();
  tessera::registerTesseraPasses();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "optimizer driver of the tsr dialect\n", registry));
}
