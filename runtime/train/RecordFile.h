//===- RecordFile.h - a file of whole records ---------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_RECORDFILE_H
#define TESSERA_RUNTIME_TRAIN_RECORDFILE_H

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

/// Appends records to an open file. A record that the disk has no room for is taken back whole, kept, and written when
/// there is room: what follows is never glued to a part of it.
class RecordFile {
public:
  RecordFile() = default;
  ~RecordFile();
  RecordFile(const RecordFile &) = delete;

  /// Takes over the open `file`, of which messages speak as `name`. What is kept for a file it had before is written to
  /// this one. Standard output stays open behind it.
  void take(int file, std::string name);
  explicit operator bool() const { return fd >= 0; }

  /// Others can read the record within about a second, or as soon as flush() returns.
  void append(std::string_view record);
  /// Writes what is kept; warns the first time that it cannot, and returns whether it could.
  bool flush();
  /// The same, and makes it durable; warns every time.
  void sync();

private:
  bool writeKept();
  void drop(size_t bytes);
  void giveBack();
  bool takesMore() const;

  int fd = -1;
  std::string name;
  bool regular = false;     ///< neither a device nor a pipe: what was written can be taken back, and made durable
  bool interrupted = false; ///< a signal came while a reader was waited for: now only what it takes at once is written
  bool warned = false, unread = false;
  std::string kept;
  std::vector<size_t> ends; ///< of the records in it
  int64_t lost = 0;         ///< records that there was no room to keep
  std::chrono::steady_clock::time_point flushed;
};

/// Opens `path` to append to it, `exclusive`: only if nothing is there. A pipe that nobody reads is an error and not
/// waited for. Returns -1 and sets errno if that cannot be.
int openToAppend(const std::string &path, bool exclusive = false);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RECORDFILE_H
