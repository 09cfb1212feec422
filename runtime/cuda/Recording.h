//===- Recording.h - an entry function as a graph -----------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_RECORDING_H
#define TESSERA_RUNTIME_CUDA_RECORDING_H

#include "runtime/cuda/Dependencies.h"

#include <functional>

namespace tessera::runtime::cuda {

/// While it lives, a stream records what it is asked for. The graph that comes of it orders two pieces of work only where one writes
/// what the other reads or writes; the device may run the rest side by side.
class Recording {
public:
  /// `inOrder`: everything waits for what was asked for before it.
  Recording(Stream stream, std::string name, bool inOrder);
  /// Drops what was recorded, unless `finish` was called.
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  /// Asks the stream for a piece of work, which touches those bytes. Throws what `work` throws.
  void add(const std::vector<Access> &accesses, const std::function<void()> &work);

  /// Ends the recording. The caller owns the graph.
  GraphExec finish();

private:
  /// What recorded work would wait for now.
  std::vector<GraphNode> current() const;

  const Driver &driver = Driver::get();
  Stream stream;
  std::string name;
  bool inOrder, isOpen = true;
  Dependencies dependencies;
  std::vector<std::vector<GraphNode>> ends; ///< of each piece: the nodes that are done when it is
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_RECORDING_H
