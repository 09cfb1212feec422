//===- RandomMain.h - the command line of tests over random programs ------===//
//
//   [--graphs=300] [--first-seed=0] [--threads=2] [--until=schedule] [--compute=bf16|fp16|fp8] [--mlps] [--guards]
//   [--states] [--stacks] [--micro-batches] [--print]
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_RANDOMMAIN_H
#define TESSERA_TESTS_DIFFERENTIAL_RANDOMMAIN_H

#include "tests/differential/RandomGraph.h"
#include <string>

namespace tessera::test {

struct RandomOptions {
  int graphs = 300, firstSeed = 0;
  int threads = 2;                ///< of the code under test
  std::string until = "schedule"; ///< the last phase to check
  std::string compute;            ///< what `compute(…)` says; empty: nothing
  Extra extra = Extra::None;
  bool prints = false; ///< write each program before it is checked
};

/// As the command line says; RandomMain.cpp has the `main` that reads it.
const RandomOptions &options();

/// Visits the seeds that the command line asks for. A crash says which seed it was at.
void forEachSeed(llvm::function_ref<void(unsigned)> visit);

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_RANDOMMAIN_H
