//===- TensorFile.h - small safetensors files, byte by byte ---------------===//

#ifndef TESSERA_TESTS_RUNTIME_WEIGHTS_TENSORFILE_H
#define TESSERA_TESTS_RUNTIME_WEIGHTS_TENSORFILE_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::tests {

struct TestTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> elements;
  std::string type = "F32";
  std::string bytes = {}; ///< instead of `elements`
};

/// The bytes of a file; the tensors in the order given.
inline std::string tensorFile(const std::vector<TestTensor> &tensors,
                              const std::vector<std::pair<std::string, std::string>> &metadata = {}) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto &[key, value] : metadata) header["__metadata__"][key] = value;
  std::string numbers;
  for (const TestTensor &tensor : tensors) {
    size_t begin = numbers.size();
    numbers += tensor.bytes;
    numbers.append(reinterpret_cast<const char *>(tensor.elements.data()), tensor.elements.size() * 4);
    header[tensor.name] = {{"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {begin, numbers.size()}}};
  }
  std::string text = header.dump();
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + text + numbers;
}

/// begin, begin + 1, …
inline std::vector<float> counting(size_t count, float begin = 0) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = begin + static_cast<float>(i);
  return numbers;
}

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_WEIGHTS_TENSORFILE_H
