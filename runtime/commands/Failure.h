//===- Failure.h - what ends a command ------------------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_FAILURE_H
#define TESSERA_RUNTIME_COMMANDS_FAILURE_H

#include "runtime/base/Error.h"

#include <string>

namespace tessera::runtime {

struct Failure {
  std::string text; ///< says what to do, if that is known
  ExitStatus status = ExitStatus::Fault;
};

/// Of the exception that is being handled.
Failure currentFailure();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_FAILURE_H
