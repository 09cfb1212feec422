//===- Payload.h - the payload of a training program ----------------------===//
//
// Writes and reads the file layout of `Abi.h`. The compiler uses this too: it depends on the C++ library only and
// throws nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_PAYLOAD_H
#define TESSERA_RUNTIME_PROGRAM_PAYLOAD_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::runtime {

/// FNV-1a, 64 bit.
uint64_t hashFnv1a(std::string_view bytes);

/// The text of the value of the manifest's top-level key `state`, as written; empty if there is none. Scans brackets
/// and strings only.
std::string_view findStateTable(std::string_view manifest);

/// Writes a copy of the launcher with a shared object and a manifest appended, and makes it executable. The file is
/// written under a temporary name beside `program` and renamed, so that a crash leaves no partial program. Links are
/// followed; what is not a regular file is refused. The trailer's state hash is that of `findStateTable(manifest)`.
/// Returns an error message, or an empty string.
[[nodiscard]] std::string writeTrainingProgram(const std::string &launcher, std::string_view object,
                                               std::string_view manifest, const std::string &program);

/// Like that, into an open file. After an error the file has undefined contents.
[[nodiscard]] std::string writeTrainingProgram(const std::string &launcher, std::string_view object,
                                               std::string_view manifest, int file);

/// A payload as read from a file.
struct Payload {
  std::string object;
  std::string manifest;
};

enum class PayloadStatus { Found, None, Broken };

/// Reads the payload at the end of `program` and checks magic, ABI version, offsets, sizes and hashes. If the result
/// is Broken, `message` says why.
PayloadStatus readPayload(const std::string &program, Payload &payload, std::string &message);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_PAYLOAD_H
