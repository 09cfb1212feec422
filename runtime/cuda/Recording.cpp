//===- Recording.cpp - an entry function as a graph -----------------------===//

#include "runtime/cuda/Recording.h"

#include "runtime/base/Error.h"

namespace tessera::runtime::cuda {

Recording::Recording(Stream stream, std::string name, bool inOrder)
    : stream(stream), name(std::move(name)), inOrder(inOrder) {
  driver.check(driver.streamBeginCapture(stream, captureThreadLocal), "cannot record entry function " + this->name);
}

Recording::~Recording() {
  if (!isOpen) return;
  Graph graph = nullptr;
  driver.streamEndCapture(stream, &graph);
  if (graph) driver.graphDestroy(graph);
}

std::vector<GraphNode> Recording::current() const {
  int state = 0;
  const GraphNode *nodes = nullptr;
  size_t count = 0;
  driver.check(driver.streamGetCaptureInfo(stream, &state, nullptr, nullptr, &nodes, &count),
               "cannot record entry function " + name);
  return {nodes, nodes + count};
}

void Recording::add(const std::vector<MemoryAccess> &accesses, const std::function<void()> &work) {
  if (inOrder) return work();
  std::vector<GraphNode> nodes;
  for (uint32_t item : dependencies.add(accesses)) nodes.insert(nodes.end(), ends[item].begin(), ends[item].end());
  driver.check(driver.streamUpdateCaptureDependencies(stream, nodes.data(), nodes.size(), captureSetDependencies),
               "cannot record entry function " + name);
  work();
  ends.push_back(current());
}

GraphExec Recording::finish() {
  Graph graph = nullptr;
  isOpen = false;
  driver.check(driver.streamEndCapture(stream, &graph), "cannot record entry function " + name);
  GraphExec executable = nullptr;
  int status = driver.graphInstantiate(&executable, graph, 0);
  driver.graphDestroy(graph);
  driver.check(status, "cannot instantiate the graph of entry function " + name);
  return executable;
}

} // namespace tessera::runtime::cuda
