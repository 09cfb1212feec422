//===- NcclFixture.h - ranks as threads, on the fake libraries ------------===//

#ifndef TESSERA_TESTS_RUNTIME_CUDA_NCCLFIXTURE_H
#define TESSERA_TESTS_RUNTIME_CUDA_NCCLFIXTURE_H

#include "runtime/base/Error.h"
#include "runtime/cuda/Nccl.h"
#include "tests/codegen/cuda/FakeDevice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tessera::tests {

using namespace runtime;
using namespace runtime::cuda;
using test::fromBf16, test::toBf16;

using Values = std::vector<double>;
using Texts = std::vector<std::string>;

inline bool isInteger(ElementType type) { return type == ElementType::I32 || type == ElementType::U8; }

template <typename T> std::string bytesAs(const Values &values) {
  std::vector<T> typed(values.begin(), values.end());
  return {reinterpret_cast<const char *>(typed.data()), typed.size() * sizeof(T)};
}
template <typename T> Values valuesAs(const std::string &bytes) {
  std::vector<T> typed(bytes.size() / sizeof(T));
  memcpy(typed.data(), bytes.data(), bytes.size());
  return {typed.begin(), typed.end()};
}

inline std::string encode(ElementType type, const Values &values) {
  switch (type) {
  case ElementType::F32:
    return bytesAs<float>(values);
  case ElementType::BF16: {
    Values bits;
    for (double value : values) bits.push_back(toBf16(static_cast<float>(value)));
    return bytesAs<uint16_t>(bits);
  }
  case ElementType::F16:
    return bytesAs<_Float16>(values);
  case ElementType::I32:
    return bytesAs<int32_t>(values);
  case ElementType::U8:
    return bytesAs<uint8_t>(values);
  default:
    ADD_FAILURE() << "no test exchanges " << elementTypeName(type);
    return "";
  }
}

inline Values decode(ElementType type, const std::string &bytes) {
  switch (type) {
  case ElementType::F32:
    return valuesAs<float>(bytes);
  case ElementType::BF16: {
    Values values = valuesAs<uint16_t>(bytes);
    for (double &value : values) value = fromBf16(static_cast<uint16_t>(value));
    return values;
  }
  case ElementType::F16:
    return valuesAs<_Float16>(bytes);
  case ElementType::I32:
    return valuesAs<int32_t>(bytes);
  case ElementType::U8:
    return valuesAs<uint8_t>(bytes);
  default:
    ADD_FAILURE() << "no test exchanges " << elementTypeName(type);
    return {};
  }
}

/// Element i of the operand of a rank. Exact in every type, as are sums and averages over four ranks.
inline double valueOf(ElementType type, int rank, int64_t i) {
  if (type == ElementType::U8) return static_cast<double>((4 - rank) * i);
  return static_cast<double>((4 - rank) * (i - 3)) * (isInteger(type) ? 1 : 0.25);
}

inline Values valuesOf(ElementType type, int rank, int64_t count, int64_t first = 0) {
  Values values;
  for (int64_t i = first; i < first + count; ++i) values.push_back(valueOf(type, rank, i));
  return values;
}

/// A communicator with a stream and memory of its own.
struct Rank {
  static constexpr size_t bytes = 4096; ///< each of `from` and `to`

  Rank(int rank, int ranks, const UniqueId &id) : communicator(rank, ranks, id) {
    driver.check(driver.streamCreate(&stream, streamNonBlocking), "a stream");
    driver.check(driver.memAlloc(&from, 2 * bytes), "memory");
    to = from + bytes;
  }
  ~Rank() {
    driver.memFree(from);
    driver.streamDestroy(stream);
  }
  Rank(const Rank &) = delete;

  int rank() const { return communicator.rank(); }
  void put(DevicePointer at, ElementType type, const Values &values) {
    std::string text = encode(type, values);
    driver.check(driver.memcpyHtoDAsync(at, text.data(), text.size(), stream), "put");
    driver.check(driver.streamSynchronize(stream), "put");
  }
  Values get(DevicePointer at, ElementType type, int64_t count) {
    std::string text(encode(type, {0}).size() * count, 0);
    driver.check(driver.memcpyDtoHAsync(text.data(), at, text.size(), stream), "get");
    driver.check(driver.streamSynchronize(stream), "get");
    return decode(type, text);
  }
  /// The address of element `count` at `at`.
  static DevicePointer offset(DevicePointer at, ElementType type, int64_t count) {
    return at + encode(type, {0}).size() * count;
  }

  const Driver &driver = Driver::get();
  Communicator communicator;
  Stream stream = nullptr;
  DevicePointer from = 0, to = 0;
};

/// Runs `body` on each of `ranks` threads. Returns the error of each rank, or "".
inline Texts onRanks(int ranks, const std::function<void(Rank &)> &body) {
  UniqueId id = Communicator::makeId();
  Texts errors(ranks);
  std::vector<std::thread> threads;
  for (int number = 0; number < ranks; ++number)
    threads.emplace_back([&, number] {
      try {
        Rank rank(number, ranks, id);
        body(rank);
      } catch (const Error &error) {
        errors[number] = error.what();
      }
    });
  for (std::thread &thread : threads) thread.join();
  return errors;
}

/// The work that `work` enqueues on the rank's stream, as a graph.
inline GraphExec record(Rank &rank, const std::function<void()> &work) {
  const Driver &driver = rank.driver;
  Graph graph = nullptr;
  GraphExec executable = nullptr;
  driver.check(driver.streamBeginCapture(rank.stream, captureThreadLocal), "a graph");
  work();
  driver.check(driver.streamEndCapture(rank.stream, &graph), "a graph");
  driver.check(driver.graphInstantiate(&executable, graph, 0), "a graph");
  driver.graphDestroy(graph);
  return executable;
}

/// The message of the error that `body` throws.
inline std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

/// A variable of the environment, until the end of the block.
struct Variable {
  Variable(const char *name, const std::string &value) : name(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name); }
  const char *name;
};

/// Opens the fake libraries for tests of collectives.
class NcclFixture : public testing::Test {
protected:
  Variable driver{"TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA}, library{"TESSERA_NCCL", TESSERA_FAKE_CUDA};
};

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_CUDA_NCCLFIXTURE_H
