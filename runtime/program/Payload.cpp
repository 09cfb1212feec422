//===- Payload.cpp - the payload of a training program --------------------===//

#include "runtime/program/Payload.h"

#include "runtime/Abi.h"
#include "runtime/base/Hash.h"
#include "runtime/base/OutputPath.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

uint64_t hashFnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3ull;
  return hash;
}

/// The position after the JSON string that begins at `at`, or npos.
static size_t skipString(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return std::string_view::npos;
}

static size_t skipSpace(std::string_view text, size_t at) {
  while (at < text.size() && strchr(" \t\r\n", text[at])) ++at;
  return at;
}

/// The position after the array that begins at `at`, or npos.
static size_t skipArray(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '"') {
      at = skipString(text, at);
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return at + 1;
    ++at;
  }
  return std::string_view::npos;
}

std::string_view findStateTable(std::string_view manifest) {
  int depth = 0;
  for (size_t at = 0; at < manifest.size();) {
    char c = manifest[at];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') {
      ++at;
      continue;
    }
    size_t end = skipString(manifest, at);
    if (end == std::string_view::npos) return {};
    std::string_view key = manifest.substr(at, end - at);
    at = end;
    size_t colon = skipSpace(manifest, end);
    if (depth != 1 || key != "\"state\"" || colon >= manifest.size() || manifest[colon] != ':') continue;
    size_t begin = skipSpace(manifest, colon + 1);
    if (begin >= manifest.size() || manifest[begin] != '[') return {};
    size_t close = skipArray(manifest, begin);
    return close == std::string_view::npos ? std::string_view() : manifest.substr(begin, close - begin);
  }
  return {};
}

namespace {
/// Closes its descriptor.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd(fd) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor &) = delete;
  operator int() const { return fd; }

private:
  int fd;
};
} // namespace

static std::string describeErrno(const std::string &what, const std::string &path) {
  return what + " " + path + ": " + strerror(errno);
}

static bool writeAll(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= written;
  }
  return true;
}

static bool readAll(int fd, char *bytes, size_t size, uint64_t offset) {
  while (size > 0) {
    ssize_t got = pread(fd, bytes, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= got;
    offset += got;
  }
  return true;
}

/// Half of a fast hash; never 0.
static uint32_t hashPayload(std::string_view object, std::string_view manifest) {
  uint64_t both[] = {hashXxh64(object.data(), object.size()), hashXxh64(manifest.data(), manifest.size())};
  return std::max<uint32_t>(1, static_cast<uint32_t>(hashXxh64(both, sizeof(both))));
}

static bool writeProgram(int fd, std::string_view launcher, std::string_view object, std::string_view manifest) {
  // Page-aligned, so that tools see an aligned ELF file.
  std::string gap((4096 - launcher.size() % 4096) % 4096, '\0');
  TsrTrailer trailer = {};
  memcpy(trailer.magic, TSR_TRAILER_MAGIC, sizeof(trailer.magic));
  trailer.abiVersion = TSR_ABI_VERSION;
  trailer.objectOffset = launcher.size() + gap.size();
  trailer.objectSize = object.size();
  trailer.manifestOffset = trailer.objectOffset + object.size();
  trailer.manifestSize = manifest.size();
  trailer.stateHash = hashFnv1a(findStateTable(manifest));
  trailer.payloadHash = hashPayload(object, manifest);
  return writeAll(fd, launcher.data(), launcher.size()) && writeAll(fd, gap.data(), gap.size()) &&
         writeAll(fd, object.data(), object.size()) && writeAll(fd, manifest.data(), manifest.size()) &&
         writeAll(fd, reinterpret_cast<const char *>(&trailer), sizeof(trailer));
}

/// Reads the launcher into `bytes` and checks the manifest. Returns an error message, or an empty string.
static std::string readParts(const std::string &launcher, std::string_view manifest, std::string &bytes) {
  Descriptor source(open(launcher.c_str(), O_RDONLY | O_CLOEXEC));
  if (source < 0) return describeErrno("cannot open the launcher", launcher);
  struct stat info;
  if (fstat(source, &info) != 0) return describeErrno("cannot read the launcher", launcher);
  bytes.resize(info.st_size);
  if (!readAll(source, bytes.data(), bytes.size(), 0)) return describeErrno("cannot read the launcher", launcher);
  return findStateTable(manifest).empty() ? "the manifest has no state table" : "";
}

std::string writeTrainingProgram(const std::string &launcher, std::string_view object, std::string_view manifest,
                                 int file) {
  std::string bytes;
  if (std::string problem = readParts(launcher, manifest, bytes); !problem.empty()) return problem;
  return writeProgram(file, bytes, object, manifest) ? "" : std::string("cannot write the program: ") + strerror(errno);
}

std::string writeTrainingProgram(const std::string &launcher, std::string_view object, std::string_view manifest,
                                 const std::string &program) {
  std::string bytes;
  if (std::string problem = readParts(launcher, manifest, bytes); !problem.empty()) return problem;
  OutputPath output = findOutput(program);
  if (!output.canBeReplaced()) return "cannot write the program to " + program + ": not a regular file";
  std::string temporary = output.path + ".tmp-" + std::to_string(getpid());
  {
    Descriptor target(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0777));
    if (target < 0) return describeErrno("cannot create", temporary);
    if (!writeProgram(target, bytes, object, manifest)) {
      std::string message = describeErrno("cannot write", temporary);
      unlink(temporary.c_str());
      return message;
    }
  }
  if (rename(temporary.c_str(), output.path.c_str()) != 0) {
    std::string message = describeErrno("cannot create", program);
    unlink(temporary.c_str());
    return message;
  }
  return "";
}

/// Checks the trailer of a file of `size` bytes. Returns an error message, or an empty string.
static std::string checkTrailer(const TsrTrailer &trailer, uint64_t size) {
  if (trailer.abiVersion != TSR_ABI_VERSION)
    return "the program was compiled for ABI version " + std::to_string(trailer.abiVersion) + ", expected " +
           std::to_string(TSR_ABI_VERSION) + "; compile it again";
  uint64_t room = size - sizeof(TsrTrailer);
  bool objectFits = trailer.objectOffset <= room && trailer.objectSize <= room - trailer.objectOffset;
  bool manifestFits = trailer.manifestOffset <= room && trailer.manifestSize <= room - trailer.manifestOffset;
  bool inOrder = objectFits && trailer.objectOffset + trailer.objectSize <= trailer.manifestOffset;
  if (!manifestFits || !inOrder || trailer.manifestOffset + trailer.manifestSize != room)
    return "the program file is damaged (its trailer points outside of it); compile or copy it again";
  return "";
}

/// Whether a file continues after its ELF part, which ends with the section table: a launcher with a truncated
/// payload.
static bool hasMoreThanElf(int fd, uint64_t size) {
  Elf64_Ehdr header;
  if (!readAll(fd, reinterpret_cast<char *>(&header), sizeof(header), 0) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  return size > header.e_shoff + static_cast<uint64_t>(header.e_shnum) * header.e_shentsize;
}

PayloadStatus readPayload(const std::string &program, Payload &payload, std::string &message) {
  Descriptor fd(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) {
    message = describeErrno("cannot read", program);
    return PayloadStatus::Broken;
  }
  uint64_t size = info.st_size;
  TsrTrailer trailer;
  if (size < sizeof(trailer) ||
      !readAll(fd, reinterpret_cast<char *>(&trailer), sizeof(trailer), size - sizeof(trailer)) ||
      memcmp(trailer.magic, TSR_TRAILER_MAGIC, sizeof(trailer.magic)) != 0) {
    if (!hasMoreThanElf(fd, size)) return PayloadStatus::None;
    message = "the program file is truncated; compile or copy it again";
    return PayloadStatus::Broken;
  }
  message = checkTrailer(trailer, size);
  if (!message.empty()) return PayloadStatus::Broken;

  payload.object.resize(trailer.objectSize);
  payload.manifest.resize(trailer.manifestSize);
  if (!readAll(fd, payload.object.data(), trailer.objectSize, trailer.objectOffset) ||
      !readAll(fd, payload.manifest.data(), trailer.manifestSize, trailer.manifestOffset)) {
    message = describeErrno("cannot read", program);
    return PayloadStatus::Broken;
  }
  if (trailer.payloadHash != 0 && hashPayload(payload.object, payload.manifest) != trailer.payloadHash) {
    message = "the program file is damaged (its code or manifest does not match its hash); compile or copy it again";
    return PayloadStatus::Broken;
  }
  if (hashFnv1a(findStateTable(payload.manifest)) != trailer.stateHash) {
    message = "the program file is damaged (its state table does not match its hash); compile or copy it again";
    return PayloadStatus::Broken;
  }
  return PayloadStatus::Found;
}

} // namespace tessera::runtime
