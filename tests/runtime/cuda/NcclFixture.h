//===- NcclFixture.h - ranks as threads or processes, on the fake libraries -===//

#ifndef TESSERA_TESTS_RUNTIME_CUDA_NCCLFIXTURE_H
#define TESSERA_TESTS_RUNTIME_CUDA_NCCLFIXTURE_H

#include "runtime/base/Error.h"
#include "runtime/cuda/Nccl.h"
#include "tests/codegen/cuda/FakeDevice.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
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

/// The driver, with a GPU that is current on this thread.
inline const Driver &driverOnGpu(int number) {
  const Driver &driver = Driver::get();
  DeviceNumber device = 0;
  Context context = nullptr;
  driver.check(driver.deviceGet(&device, number), "a GPU");
  driver.check(driver.devicePrimaryCtxRetain(&context, device), "a GPU");
  driver.check(driver.ctxSetCurrent(context), "a GPU");
  return driver;
}

/// A communicator on a GPU with a stream and memory of its own.
struct Rank {
  static constexpr size_t bytes = 4096; ///< each of `from` and `to`

  Rank(int rank, int ranks, const UniqueId &id) : driver(driverOnGpu(rank)), communicator(rank, ranks, id) {
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

  const Driver &driver;
  Communicator communicator;
  Stream stream = nullptr;
  DevicePointer from = 0, to = 0;
};

using RankBody = std::function<void(Rank &)>;

/// Runs `body` as one rank. Returns its error, or "".
inline std::string runRank(int number, int ranks, const UniqueId &id, const RankBody &body) {
  try {
    Rank rank(number, ranks, id);
    body(rank);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// Ranks as processes, which are forked: no other thread may run.
class RankProcesses {
public:
  RankProcesses(int ranks, const RankBody &body) {
    UniqueId id = Communicator::makeId();
    fflush(nullptr);
    for (int number = 0; number < ranks; ++number) {
      pid_t process = fork();
      if (process == 0) runChild(number, [&] { return runRank(number, ranks, id, body); });
      processes.push_back(process);
    }
  }
  ~RankProcesses() {
    for (pid_t process : processes)
      if (process > 0) ::kill(process, SIGKILL), waitpid(process, nullptr, 0);
  }
  RankProcesses(const RankProcesses &) = delete;

  void kill(int rank, int signal) const { ::kill(processes[rank], signal); }

  /// Waits until the process has stopped.
  void awaitStop(int rank) const { waitpid(processes[rank], nullptr, WUNTRACED); }

  /// Waits for the end. Returns the rank's error, or "", or which signal has ended it.
  std::string wait(int rank) {
    int status = 0;
    waitpid(processes[rank], &status, 0);
    processes[rank] = 0;
    return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : readFile(file(rank));
  }

private:
  std::string file(int rank) const { return folder / fmt::format("rank-{}", rank); }
  [[noreturn]] void runChild(int rank, const std::function<std::string()> &body) const {
    std::string error = body();
    if (testing::Test::HasFailure()) error += "an expectation has failed";
    folder.write(fmt::format("rank-{}", rank), error);
    fflush(nullptr);
    _exit(0);
  }

  TemporaryFolder folder;
  std::vector<pid_t> processes; ///< 0: has ended
};

enum class RanksAre { Threads, Processes };
inline void PrintTo(RanksAre kind, std::ostream *to) { *to << (kind == RanksAre::Threads ? "threads" : "processes"); }

/// Runs `body` on each of `ranks` ranks. Returns the error of each rank, or "".
inline Texts onRanks(int ranks, const RankBody &body, RanksAre kind = RanksAre::Threads) {
  Texts errors(ranks);
  if (kind == RanksAre::Processes) {
    RankProcesses processes(ranks, body);
    for (int number = 0; number < ranks; ++number) errors[number] = processes.wait(number);
    return errors;
  }
  UniqueId id = Communicator::makeId();
  std::vector<std::thread> threads;
  for (int number = 0; number < ranks; ++number)
    threads.emplace_back([&, number] { errors[number] = runRank(number, ranks, id, body); });
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
  Variable driver{"TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA}, library{"TESSERA_NCCL", TESSERA_FAKE_CUDA},
      devices{"FAKE_CUDA_DEVICES", "4"};
};

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_CUDA_NCCLFIXTURE_H
