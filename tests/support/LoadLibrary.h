//===- LoadLibrary.h - shared objects out of memory -------------------------===//

#ifndef TESSERA_TESTS_SUPPORT_LOADLIBRARY_H
#define TESSERA_TESTS_SUPPORT_LOADLIBRARY_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tessera::test {

/// Loads a shared object from memory. Null with a message in `error` if that fails.
void *loadLibrary(llvm::StringRef bytes, std::string &error);

} // namespace tessera::test

#endif // TESSERA_TESTS_SUPPORT_LOADLIBRARY_H
