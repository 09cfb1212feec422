//===- CallCosts.h - the costs of the calls of an entry function ----------===//

#ifndef TESSERA_PASSES_COST_CALLCOSTS_H
#define TESSERA_PASSES_COST_CALLCOSTS_H

#include "passes/cost/CallSequence.h"
#include "passes/cost/CostModel.h"

namespace tessera {

/// The cost of a call at one place of an entry function.
struct CallCost {
  const ProgramCall *call = nullptr;
  double runs = 0;    ///< in one run of the function
  CallWork work;      ///< of one run of the call; its traffic is the mean over all runs
  double seconds = 0; ///< of one run of the call
};

/// In the order of the sequence, which must outlive them. A loop is gone through twice, for its first iteration and for
/// all others, so the time that this takes does not depend on their number.
std::vector<CallCost> costsOf(const CallSequence &calls, const CostModel &model);

} // namespace tessera

#endif // TESSERA_PASSES_COST_CALLCOSTS_H
