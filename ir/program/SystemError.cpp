//===- SystemError.cpp - errors of the system, for a message --------------===//

#include "ir/program/SystemError.h"
#include <sys/resource.h>

using namespace tessera;

namespace {
/// A limit that a process has, as `ulimit` names and counts it.
struct Limit {
  std::errc error; ///< of a call that would exceed it
  __rlimit_resource_t resource;
  const char *option;
  rlim_t unit; ///< in bytes, or 1
};
} // namespace

static constexpr Limit limits[] = {
    {std::errc::too_many_files_open, RLIMIT_NOFILE, "-n", 1},
    {std::errc::file_too_large, RLIMIT_FSIZE, "-f", 1024},
    {std::errc::resource_unavailable_try_again, RLIMIT_NPROC, "-u", 1},
    {std::errc::not_enough_memory, RLIMIT_AS, "-v", 1024},
};

std::string tessera::describeSystemError(std::error_code error) {
  for (const Limit &limit : limits) {
    rlimit now;
    if (error == limit.error && getrlimit(limit.resource, &now) == 0 && now.rlim_cur != RLIM_INFINITY)
      return error.message() + " (`ulimit " + limit.option + "` is " + std::to_string(now.rlim_cur / limit.unit) + ")";
  }
  return error.message();
}
