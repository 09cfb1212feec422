//===- RandomCudaTest.cpp - random programs as CUDA code --------------------===//
//
// Each program goes through the whole pipeline as one for a GPU; entry functions and kernels run in this process, and `judge`
// compares the results with the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "tests/random/CudaCheck.h"
#include "tests/random/RandomGraph.h"
#include "tests/random/RandomMain.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

TEST(RandomCuda, CodeComputesWhatTheProgramSays) {
  forEachSeed([](unsigned seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, Float32Type::get(&context));
    setCompute(*program, options().compute);
    std::string wrong = checkOnCuda(*program, nullptr, seed % 2 == 0 ? cuda::Device() : smallDevice());
    if (wrong.empty()) return;
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
    if (options().prints) program->print(llvm::errs());
  });
}
