//===- Schedule.cpp ---===//

#include "ir/GraphBuilder.h"
#include "passes/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct SchedulePass : tessera::impl::SchedulePassBase<SchedulePass> {
  void runOnOperation() override {}
};
} // namespace
