//===- ProfileFile.cpp - the file of --profile ----------------------------===//

#include "runtime/train/ProfileFile.h"

#include "runtime/base/ReplacementFile.h"
#include "runtime/train/RecordFile.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

void ProfileFile::open(const std::string &path) {
  if (path == "-") failUsage("--profile -: name a file; --profile-table prints a table");
  output = findOutput(path);
  if (output.kind == OutputPath::Folder) fail("cannot write --profile {}: this is a folder, name a file in it", path);
  if (output.kind == OutputPath::Special) {
    special = openToAppend(output.path);
    if (special < 0) fail("cannot write --profile {}: {}", path, whyNotOpened(output.path));
    return;
  }
  struct stat info;
  if (stat(output.path.c_str(), &info) != 0 && errno != ENOENT) // the name is too long, links go round in circles
    fail("cannot write --profile {}: {}", path, strerror(errno));
  // It is written under a temporary name and renamed: the folder must be writable, not an old file.
  size_t slash = output.path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : output.path.substr(0, slash + 1);
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    fail("cannot write --profile {} in the folder {}: {}", path, folder, strerror(errno));
}

ProfileFile::~ProfileFile() {
  if (special >= 0) close(special);
}

/// A second signal ends the process if the pipe has no reader.
static void writeAll(int fd, const std::string &text, const std::string &path) {
  for (size_t done = 0; done < text.size();) {
    ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failSystem("write", path);
    done += written;
  }
}

bool ProfileFile::write(const std::string &text) {
  try {
    if (special >= 0) return writeAll(special, text, output.path), true;
    replaceFile(output.path, [&](DurableFile &file) {
      file.append(text.data(), text.size());
      file.commit();
    });
    return true;
  } catch (const std::exception &e) {
    warn("warning: {}; the profile is lost", e.what());
    return false;
  }
}

} // namespace tessera::runtime
