//===- Recording.h - an entry function as a graph -------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_RECORDING_H
#define TESSERA_RUNTIME_CUDA_RECORDING_H

#include "runtime/cuda/Dependencies.h"

#include <functional>

namespace tessera::runtime::cuda {

/// Captures the work of a stream into a graph. The graph orders two nodes only if one writes what the other reads or
/// writes; the device may run all others concurrently.
class Recording {
public:
  /// `inOrder`: all work is ordered as it is added.
  Recording(Stream stream, std::string name, bool inOrder);
  /// Drops what was recorded, unless `finish` was called.
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  /// Adds work to the stream; `accesses` are the bytes it reads and writes. Throws what `work` throws.
  void add(const std::vector<MemoryAccess> &accesses, const std::function<void()> &work);

  /// Ends the recording. The caller owns the graph.
  GraphExec finish();

private:
  /// The nodes that the next node would wait for.
  std::vector<GraphNode> current() const;

  const Driver &driver = Driver::get();
  Stream stream;
  std::string name;
  bool inOrder, isOpen = true;
  Dependencies dependencies;
  std::vector<std::vector<GraphNode>> ends; ///< by work item: its last nodes
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_RECORDING_H
