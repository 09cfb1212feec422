//===- FatalErrors.h - errors that no function can return -----------------===//

#ifndef TESSERA_TOOLS_FATALERRORS_H
#define TESSERA_TOOLS_FATALERRORS_H

namespace tessera {

/// From now on the process ends with a message and exit status ExitInput + `shift` where the machine has no memory or
/// no thread left; LLVM would abort.
void handleFatalErrors(int shift);

} // namespace tessera

#endif // TESSERA_TOOLS_FATALERRORS_H
