//===- RandomCudaTest.cpp - random programs as CUDA code --------------------===//
//
// Each program goes through the whole pipeline as one for a GPU; entry functions and kernels run in this process, and
// `judge` compares the results with the interpreter's.
//
//===----------------------------------------------------------------------===//

#include "tests/differential/CudaCheck.h"
#include "tests/differential/RandomGraph.h"
#include "tests/differential/RandomMain.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

TEST(RandomCuda, CodeComputesWhatTheProgramSays) {
  std::map<Epilogue, int> epilogues;
  int sums = 0; // second results
  forEachSeed([&](unsigned seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, Float32Type::get(&context), options().extra),
                          scheduled;
    setCompute(*program, options().compute);
    std::string wrong = checkOnCuda(*program, &scheduled, seed % 2 == 0 ? *Target::named("h100") : smallDevice());
    if (scheduled)
      scheduled->walk([&](ContractOp contract) {
        if (contract.getEpilogue()) ++epilogues[*contract.getEpilogue()];
        sums += contract.getEpilogue() == Epilogue::GeluGrad && contract.getExtra();
      });
    if (wrong.empty()) return;
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
    if (options().prints) program->print(llvm::errs());
  });
  llvm::outs() << epilogues[Epilogue::Gelu] << " contractions with GELU, " << epilogues[Epilogue::GeluGrad]
               << " with its gradient, " << sums << " with that of a bias\n";
  if (options().extra != Extra::Mlps || options().graphs < 50) return;
  EXPECT_GT(epilogues[Epilogue::Gelu], options().graphs / 2);
  EXPECT_GT(epilogues[Epilogue::GeluGrad], options().graphs / 4);
  if (options().compute.empty()) EXPECT_GT(sums, options().graphs / 8);
}
