//===- RandomMain.cpp - the command line of tests over random programs ----===//

#include "tests/differential/RandomMain.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace tessera;

static test::RandomOptions parsed;
static unsigned currentSeed = 0;

const test::RandomOptions &test::options() { return parsed; }

void test::forEachSeed(llvm::function_ref<void(unsigned)> visit) {
  for (int i = 0; i < parsed.graphs; ++i) visit(currentSeed = static_cast<unsigned>(parsed.firstSeed + i));
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    auto number = [&](llvm::StringRef option, int &value) {
      llvm::StringRef rest = argument;
      return rest.consume_front(option) && !rest.getAsInteger(10, value) && value >= 0;
    };
    if (number("--graphs=", parsed.graphs) || number("--first-seed=", parsed.firstSeed) ||
        number("--threads=", parsed.threads))
      continue;
    if (argument.consume_front("--until="))
      parsed.until = argument.str();
    else if (argument.consume_front("--compute="))
      parsed.compute = argument.str();
    else if (argument == "--mlps")
      parsed.extra = test::Extra::Mlps;
    else if (argument == "--guards")
      parsed.extra = test::Extra::Guards;
    else if (argument == "--states")
      parsed.extra = test::Extra::States;
    else if (argument == "--stacks")
      parsed.extra = test::Extra::Stacks;
    else if (argument == "--micro-batches")
      parsed.extra = test::Extra::MicroBatches;
    else if (argument == "--print")
      parsed.prints = true;
    else
      return llvm::errs() << "unknown argument " << argument << "\n", 2;
  }
  llvm::sys::AddSignalHandler([](void *) { llvm::errs() << "seed " << currentSeed << "\n"; }, nullptr);
  return RUN_ALL_TESTS();
}
