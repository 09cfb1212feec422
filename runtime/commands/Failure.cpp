//===- Failure.cpp - what ends a command ----------------------------------===//

#include "runtime/commands/Failure.h"

#include <new>

namespace tessera::runtime {

Failure currentFailure() {
  try {
    throw;
  } catch (const Error &e) {
    return {e.what(), e.exitStatus()};
  } catch (const std::bad_alloc &) {
    return {"not enough memory: the system refused this process more, beside its arena; free memory, or lift the "
            "limits on it (ulimit -v, ulimit -d, a cgroup); `info` lists what the program needs"};
  } catch (const std::exception &e) {
    return {e.what()};
  }
}

} // namespace tessera::runtime
