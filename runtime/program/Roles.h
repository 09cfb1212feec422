//===- Roles.h - what inputs, outputs and states are for ------------------===//
//
// The one list of the roles of values and the kinds of states; docs/manifest.md says what each means.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_ROLES_H
#define TESSERA_RUNTIME_PROGRAM_ROLES_H

#include "runtime/program/Manifest.h"

namespace tessera::runtime {

/// Throws an Error that starts with `where` for an input that nothing would write, or an output that would not be read
/// as what it is: its role is unknown, is none of its entry function, or is one of another type. All entry functions
/// but `init` may have outputs of the role `result`: where nothing reads them, they do no harm.
void checkRoles(const EntryFunction &entry, const char *where);

/// Throws an Error that starts with `where` for a state of an unknown kind.
void checkKind(const StateEntry &state, const char *where);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_ROLES_H
