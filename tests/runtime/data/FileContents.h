//===- FileContents.h - data files as bytes -------------------------------===//

#ifndef TESSERA_TESTS_RUNTIME_DATA_FILECONTENTS_H
#define TESSERA_TESTS_RUNTIME_DATA_FILECONTENTS_H

#include <cstdint>
#include <string>
#include <vector>
#include <zlib.h>

namespace tessera::tests {

template <typename T> std::string bytesOf(const std::vector<T> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(T)};
}

inline std::string tokenFile(int32_t magic, int32_t version, int32_t count, const std::string &numbers) {
  std::vector<int32_t> header(256);
  header[0] = magic, header[1] = version, header[2] = count;
  return bytesOf(header) + numbers;
}

inline std::string npyFile(const std::string &descr, const std::string &shape, const std::string &numbers) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((header.size() + 10) / 64 * 64 + 64 - 10, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size() & 255) + char(header.size() >> 8) + header + numbers;
}

inline std::string idxFile(int type, std::vector<int> shape, const std::string &numbers) {
  std::string text = {0, 0, char(type), char(shape.size())};
  for (int size : shape)
    for (int shift : {24, 16, 8, 0}) text += char(size >> shift);
  return text + numbers;
}

inline std::string gzip(const std::string &bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(bytes.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_DATA_FILECONTENTS_H
