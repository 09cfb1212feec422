//===- Link.h - objects to a shared object, with LLD as a library ---------===//

#ifndef TESSERA_CODEGEN_CPU_OBJECT_LINK_H
#define TESSERA_CODEGEN_CPU_OBJECT_LINK_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace tessera {

/// Links relocatable objects into a shared object that depends on no library, and returns its bytes. Fails with LLD's
/// messages on `errors`, also where a symbol is undefined. What the machine lacks for it (open files, say) is a message
/// in `lack` instead, if that is given. Not safe for concurrent calls: LLD has global state.
llvm::FailureOr<std::string> linkSharedObject(llvm::ArrayRef<std::string> objects, llvm::raw_ostream &errors,
                                              std::string *lack = nullptr);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_OBJECT_LINK_H
