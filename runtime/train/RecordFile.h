//===- RecordFile.h - a file of complete records --------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_RECORDFILE_H
#define TESSERA_RUNTIME_TRAIN_RECORDFILE_H

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

/// Appends records to an open file. If the disk is full, an incomplete record is taken back, buffered, and written
/// when there is space: a record never follows a part of another one.
class RecordFile {
public:
  RecordFile() = default;
  ~RecordFile();
  RecordFile(const RecordFile &) = delete;

  /// Takes over the open `file`; messages call it `name`. Records that are still buffered for an earlier file are
  /// written to this one. Standard output stays open.
  void take(int file, std::string name);
  explicit operator bool() const { return fd >= 0; }

  /// Flushed at least once a second, and by flush().
  void append(std::string_view record);
  /// Writes the buffer. Returns whether that succeeded; warns about the first of several failures in a row.
  bool flush();
  /// Like flush(), and makes the file durable.
  void sync();
  /// To be called at the end: like sync(). Returns whether the file has all records; if not, says how many are lost. A
  /// reader that closed a pipe wanted no more.
  bool finish();

private:
  bool writeKept();
  void drop(size_t bytes);
  void warnOnce(int code);
  void giveBack();
  bool takesMore() const;

  int fd = -1;
  std::string name;
  bool regular = false;     ///< neither a device nor a pipe: can be truncated and synced
  bool interrupted = false; ///< by a signal, while it waited for a reader: from now on writes do not block
  bool warned = false, unread = false;
  std::string kept;
  std::vector<size_t> ends; ///< of the records in it
  int64_t lost = 0;         ///< records that did not fit into the buffer, since the last write that succeeded
  bool hasGaps = false;     ///< records were lost before others that are written
  std::chrono::steady_clock::time_point flushed;
};

/// Opens `path` for appending; `exclusive`: only if it does not exist. A pipe without a reader is an error. Returns
/// -1 and sets errno on failure.
int openToAppend(const std::string &path, bool exclusive = false);

/// Why openToAppend() failed, by errno.
std::string whyNotOpened(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_RECORDFILE_H
