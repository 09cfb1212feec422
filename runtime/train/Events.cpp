//===- Events.cpp - writes a run for TensorBoard --------------------------===//

#include "runtime/train/Events.h"

#include "runtime/base/Error.h"

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <unistd.h>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Protocol buffers, TFRecords
//===----------------------------------------------------------------------===//

template <typename Number> static void putBytes(std::string &out, Number number) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

static void putVarint(std::string &out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

namespace {
enum WireType { Varint = 0, EightBytes = 1, Bytes = 2, FourBytes = 5 };
} // namespace

static void putTag(std::string &out, unsigned field, WireType type) { putVarint(out, field << 3 | type); }

static void putBytesField(std::string &out, unsigned field, const std::string &bytes) {
  putTag(out, field, Bytes);
  putVarint(out, bytes.size());
  out += bytes;
}

/// CRC-32C (RFC 3720, B.4: polynomial 0x1EDC6F41, here bit-reversed).
static uint32_t crc32c(const std::string &bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> result{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
      result[i] = value;
    }
    return result;
  }();
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes) crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF];
  return ~crc;
}

/// CRC of data that may contain CRCs is masked (tensorflow/core/lib/hash/crc32c.h).
static uint32_t maskedCrc(const std::string &bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

/// Length, its CRC, the bytes, their CRC.
static std::string tfRecord(const std::string &bytes) {
  std::string length, result;
  putBytes(length, static_cast<uint64_t>(bytes.size()));
  result = length;
  putBytes(result, maskedCrc(length));
  result += bytes;
  putBytes(result, maskedCrc(bytes));
  return result;
}

/// An `Event` with the current time.
static std::string newEvent(int64_t step) {
  std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  putTag(event, 1, EightBytes); // wall_time
  putBytes(event, now.count());
  putTag(event, 2, Varint); // step
  putVarint(event, static_cast<uint64_t>(step));
  return event;
}

/// One `Summary.Value`. Values that are null in a record (not finite) become NaN.
static void putScalar(std::string &summary, const std::string &tag, const Json &number) {
  std::string value;
  putBytesField(value, 1, tag);
  putTag(value, 2, FourBytes); // simple_value
  putBytes(value, number.is_null() ? std::numeric_limits<float>::quiet_NaN() : number.get<float>());
  putBytesField(summary, 1, value);
}

/// Losses and metrics of a record by name, and the other scalars.
static std::string summaryOf(const Json &record) {
  std::string summary, split = record["split"].get<std::string>() + "/";
  for (const char *key : {"losses", "metrics"})
    for (const auto &[name, number] : record[key].items()) putScalar(summary, split + name, number);
  for (const char *key : {"rate", "grad_norm", "loss_scale", "skipped"})
    if (record.contains(key)) putScalar(summary, split + key, record[key]);
  // The total differs from the loss only if there are several.
  if (record["losses"].size() > 1) putScalar(summary, split + "total", record["total"]);
  return summary;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

void EventWriter::open(const std::string &wanted, int64_t atStep, bool isEvaluated) {
  folder = wanted, step = atStep, evaluated = isEvaluated;
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail("cannot make the folder {} for --tensorboard: {}", folder, error.message());
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    fail("cannot write to the folder {} of --tensorboard: {}", folder, strerror(errno));
}

/// Called with the first record.
void EventWriter::begin() {
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  for (char &c : host)
    if (c == '/') c = '-';
  auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  // TensorBoard reads the files of a folder in the order of their names.
  int fd = -1;
  std::string path;
  for (int number = 0; fd < 0 && number < 100; ++number) {
    path = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", folder, now.count(), host, getpid(), number);
    fd = openToAppend(path, /*exclusive=*/true);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) {
    warn("warning: cannot write {}: {}; TensorBoard will not see this run", path, strerror(errno));
    failed = true;
    return;
  }
  file.take(fd, path);
  std::string version = newEvent(step);
  putBytesField(version, 3, "brain.Event:2"); // file_version
  put(version);
  std::string start = newEvent(step == 0 && !evaluated ? 0 : step + 1), log;
  putTag(log, 1, Varint); // SessionLog.status
  putVarint(log, 1);      // START: discards events of earlier files from this step on
  putBytesField(start, 7, log);
  put(start);
}

void EventWriter::put(const std::string &event) { file.append(tfRecord(event)); }

void EventWriter::write(const Json &record) {
  if (folder.empty() || failed || !record.contains("losses")) return;
  if (!file) begin();
  if (!file) return;
  std::string event = newEvent(record["step"]);
  putBytesField(event, 5, summaryOf(record));
  put(event);
}

void EventWriter::sync() { file.sync(); }

} // namespace tessera::runtime
