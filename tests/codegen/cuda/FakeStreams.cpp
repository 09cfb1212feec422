//===- FakeStreams.cpp - streams, events and graphs of the fake device --------===//
//
// All work runs as late as possible: a stream runs its work when the host or another stream waits for it. With
// FAKE_CUDA_SOON=N, stream N (from 1) runs its work at once. So a program that reads or writes too early fails in every
// run, not in some. The nodes of a graph run in a different order at each launch, as far as their dependencies allow.
//
// With FAKE_CUDA_GRAPHS=PREFIX each graph is written to PREFIX.PROCESS.NUMBER when it is instantiated: for each node,
// in the order in which they were recorded, a line with its name, a tab, and the numbers of the nodes it waits for.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/cuda/FakeDevice.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <random>
#include <unistd.h>
#include <vector>

using namespace tessera::test;

namespace {
using Work = std::function<int()>;

struct FakeNode {
  Work work;
  std::string name;
  std::vector<size_t> dependencies; ///< numbers of nodes
};
using FakeGraph = std::vector<FakeNode>;

struct FakeStream {
  std::deque<Work> queue;
  uint64_t enqueued = 0, done = 0; ///< counts of work items
  int failure = 0;                 ///< the first one
  bool isSoon = false;             ///< runs its work at once
  std::unique_ptr<FakeGraph> recorded;
  /// The dependencies of the next recorded node: numbers of nodes, from 1, as handles.
  std::vector<void *> current;

  void runUntil(uint64_t position) {
    while (done < position) {
      Work work = std::move(queue.front());
      queue.pop_front();
      if (int status = failure ? 0 : work()) failure = status;
      ++done;
    }
  }
};

/// A position in the work of a stream.
struct FakeEvent {
  FakeStream *stream = nullptr; ///< null: never recorded
  uint64_t position = 0;
  int wait() const { return stream ? (stream->runUntil(position), stream->failure) : 0; }
};

struct FakeGraphExec {
  FakeGraph graph;
  unsigned launches = 0;

  /// An order that satisfies the dependencies: at the first launch the latest nodes first, later a random one.
  std::vector<size_t> order() {
    std::mt19937 random(launches++);
    std::vector<size_t> waitsFor(graph.size()), ready, order;
    std::vector<std::vector<size_t>> users(graph.size());
    for (size_t i = 0; i < graph.size(); ++i) {
      waitsFor[i] = graph[i].dependencies.size();
      for (size_t other : graph[i].dependencies) users[other].push_back(i);
      if (waitsFor[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      auto next =
          launches == 1 ? std::max_element(ready.begin(), ready.end()) : ready.begin() + random() % ready.size();
      size_t node = *next;
      ready.erase(next);
      order.push_back(node);
      for (size_t user : users[node])
        if (--waitsFor[user] == 0) ready.push_back(user);
    }
    return order;
  }
};

/// Streams that record, by the thread that began it.
thread_local int capturing = 0;
} // namespace

bool tessera::test::isCapturing() { return capturing > 0; }

bool tessera::test::isRecording(void *stream) { return static_cast<FakeStream *>(stream)->recorded != nullptr; }

int tessera::test::enqueue(void *handle, Work work, const std::string &name) {
  auto &stream = *static_cast<FakeStream *>(handle);
  if (!stream.recorded) {
    stream.queue.push_back(std::move(work));
    ++stream.enqueued;
    if (stream.isSoon) stream.runUntil(stream.enqueued);
    return stream.failure;
  }
  FakeNode node{std::move(work), name, {}};
  for (void *other : stream.current) node.dependencies.push_back(reinterpret_cast<uintptr_t>(other) - 1);
  stream.recorded->push_back(std::move(node));
  stream.current = {reinterpret_cast<void *>(stream.recorded->size())};
  return 0;
}

int tessera::test::runNow(void *handle) {
  auto &stream = *static_cast<FakeStream *>(handle);
  if (!stream.recorded) stream.runUntil(stream.enqueued);
  return stream.failure;
}

EXPORT int cuStreamCreate(void **handle, unsigned) {
  static std::atomic<int> made = 0;
  const char *soon = getenv("FAKE_CUDA_SOON");
  auto *stream = new FakeStream;
  stream->isSoon = ++made == (soon ? atoi(soon) : 0);
  return *handle = stream, 0;
}
EXPORT int cuStreamDestroy_v2(void *stream) { return delete static_cast<FakeStream *>(stream), 0; }
EXPORT int cuStreamSynchronize(void *handle) {
  return static_cast<FakeStream *>(handle)->recorded ? invalidValue : runNow(handle);
}
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  FakeEvent moment = *static_cast<FakeEvent *>(event); // as it is now
  return enqueue(stream, [=] { return moment.wait(); });
}

EXPORT int cuStreamBeginCapture_v2(void *handle, int) {
  auto &stream = *static_cast<FakeStream *>(handle);
  if (stream.recorded) return invalidValue;
  stream.current.clear();
  ++capturing;
  return stream.recorded = std::make_unique<FakeGraph>(), 0;
}
EXPORT int cuStreamGetCaptureInfo_v2(void *handle, int *state, uint64_t *, void **, void *const **nodes,
                                     size_t *count) {
  auto &stream = *static_cast<FakeStream *>(handle);
  *state = stream.recorded ? 1 : 0, *nodes = stream.current.data(), *count = stream.current.size();
  return 0;
}
EXPORT int cuStreamUpdateCaptureDependencies(void *handle, void **nodes, size_t count, unsigned flags) {
  auto &stream = *static_cast<FakeStream *>(handle);
  if (!stream.recorded || flags > 1) return invalidValue;
  if (flags == 1) stream.current.clear();
  stream.current.insert(stream.current.end(), nodes, nodes + count);
  return 0;
}
EXPORT int cuStreamEndCapture(void *handle, void **graph) {
  auto &stream = *static_cast<FakeStream *>(handle);
  *graph = stream.recorded.release();
  if (!*graph) return invalidValue;
  return --capturing, 0;
}

static void writeGraph(const FakeGraph &graph) {
  static std::atomic<int> made = 0;
  const char *prefix = getenv("FAKE_CUDA_GRAPHS");
  if (!prefix) return;
  std::ofstream file(std::string(prefix) + "." + std::to_string(getpid()) + "." + std::to_string(++made));
  for (const FakeNode &node : graph) {
    file << node.name << '\t';
    for (size_t other : node.dependencies) file << other << ' ';
    file << '\n';
  }
}

EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  writeGraph(*static_cast<FakeGraph *>(graph));
  return *executable = new FakeGraphExec{*static_cast<FakeGraph *>(graph)}, 0;
}
EXPORT int cuGraphLaunch(void *handle, void *stream) {
  if (static_cast<FakeStream *>(stream)->recorded) return invalidValue;
  auto &executable = *static_cast<FakeGraphExec *>(handle);
  for (size_t node : executable.order())
    if (int status = enqueue(stream, executable.graph[node].work)) return status;
  return 0;
}
EXPORT int cuGraphDestroy(void *graph) { return delete static_cast<FakeGraph *>(graph), 0; }
EXPORT int cuGraphExecDestroy(void *graph) { return delete static_cast<FakeGraphExec *>(graph), 0; }

EXPORT int cuEventCreate(void **event, unsigned) { return *event = new FakeEvent, 0; }
EXPORT int cuEventDestroy_v2(void *event) { return delete static_cast<FakeEvent *>(event), 0; }
EXPORT int cuEventRecord(void *event, void *handle) {
  auto &stream = *static_cast<FakeStream *>(handle);
  if (stream.recorded) return invalidValue;
  return *static_cast<FakeEvent *>(event) = {&stream, stream.enqueued}, 0;
}
EXPORT int cuEventSynchronize(void *event) { return static_cast<FakeEvent *>(event)->wait(); }

/// The time between any two events, which the real driver measures.
static float elapsed = 1;
EXPORT void fakeSetElapsed(float milliseconds) { elapsed = milliseconds; }
EXPORT int cuEventElapsedTime(float *milliseconds, void *, void *) { return *milliseconds = elapsed, 0; }
