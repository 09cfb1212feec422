//===- Payload.h - what the compiler appends to the launcher ------------------===//
//
// Writes and reads the file layout of `Abi.h`. Used by the compiler too:
// depends on nothing but the C++ library and throws nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PAYLOAD_H
#define TESSERA_RUNTIME_PAYLOAD_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::runtime {

/// FNV-1a, 64 bit.
uint64_t hashFnv1a(std::string_view bytes);

/// The text of the value of the manifest's top-level key `state`, exactly as
/// written; empty if there is none. Scans brackets and strings only.
std::string_view findStateTable(std::string_view manifest);

/// Appends a shared object and a manifest to a copy of the launcher and makes
/// the result executable. The file is written under a temporary name beside
/// `program` and renamed, so that a crash leaves no half program; links are
/// followed, and what is not a regular file is refused. The trailer's state hash is that of
/// `findStateTable(manifest)`. Returns an empty string, or what went wrong.
[[nodiscard]] std::string writeTrainingProgram(const std::string &launcher, std::string_view object,
                                               std::string_view manifest, const std::string &program);

/// The same into an open file, which is left as it is after an error.
[[nodiscard]] std::string writeTrainingProgram(const std::string &launcher, std::string_view object,
                                               std::string_view manifest, int file);

/// A payload as read from a file.
struct Payload {
  std::string object;
  std::string manifest;
};

enum class PayloadStatus { Found, None, Broken };

/// Reads the payload at the end of `program` and checks magic, ABI version,
/// offsets, sizes and hashes. `message` says what is wrong where the result is Broken.
PayloadStatus readPayload(const std::string &program, Payload &payload, std::string &message);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PAYLOAD_H
