//===- SystemError.h - errors of the system, for a message ----------------===//

#ifndef TESSERA_IR_PROGRAM_SYSTEMERROR_H
#define TESSERA_IR_PROGRAM_SYSTEMERROR_H

#include <string>
#include <system_error>

namespace tessera {

/// What the system says of an error, and the limit of the shell that caused it, if one may have: "Too many open files
/// (`ulimit -n` is 20)".
std::string describeSystemError(std::error_code error);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_SYSTEMERROR_H
