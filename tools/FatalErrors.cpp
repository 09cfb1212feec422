//===- FatalErrors.cpp - errors that no function can return ---------------===//

#include "tools/FatalErrors.h"
#include "ir/program/SystemError.h"
#include "tools/Input.h"
#include "tools/Messages.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdio>
#include <sys/resource.h>
#include <unistd.h>

using namespace tessera;

static int statusShift = 0;

/// Allocates nothing.
static void endWithoutMemory(void *, const char *, bool) {
  char text[200];
  rlimit limit;
  int size;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    size = snprintf(text, sizeof(text), "error: out of memory (`ulimit -v` is %llu)\n",
                    static_cast<unsigned long long>(limit.rlim_cur / 1024));
  else
    size = snprintf(text, sizeof(text), "error: out of memory\n");
  (void)!write(STDERR_FILENO, text, size);
  _exit(ExitInput + statusShift);
}

/// Returns if the reason is another one: then LLVM shows where it was and aborts.
static void endWithoutThread(void *, const char *reason, bool) {
  if (!llvm::StringRef(reason).starts_with("pthread_create")) {
    messages() << "error: internal: LLVM: " << reason << "\n";
    return;
  }
  std::error_code error = std::make_error_code(std::errc::resource_unavailable_try_again);
  messages() << "error: cannot start a thread: " << describeSystemError(error) << "\n";
  _exit(ExitInput + statusShift);
}

void tessera::handleFatalErrors(int shift) {
  statusShift = shift;
  llvm::install_bad_alloc_error_handler(endWithoutMemory);
  llvm::install_fatal_error_handler(endWithoutThread);
}
