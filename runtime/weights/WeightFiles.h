//===- WeightFiles.h - the files that weights come from -------------------===//

#ifndef TESSERA_RUNTIME_WEIGHTS_WEIGHTFILES_H
#define TESSERA_RUNTIME_WEIGHTS_WEIGHTFILES_H

#include "runtime/checkpoint/CheckpointDamage.h"
#include "runtime/checkpoint/Safetensors.h"

#include <deque>

namespace tessera::runtime {

/// The tensors of a safetensors file, of a checkpoint (whose hashes are verified), or of the shards that an index lists
/// (`model.safetensors.index.json`, or the folder with it). Safe for untrusted files: every shard is a file in the
/// index's own folder, and has exactly the tensors that the index says.
class WeightFiles {
public:
  /// Throws CheckpointDamaged for a damaged checkpoint, and an Error for other files that are missing or malformed. Of
  /// a checkpoint, the chunks of `share` are verified.
  explicit WeightFiles(const std::string &path, ChunkShare share = {});

  struct Tensor {
    const SafetensorsFile *file;
    const SafeTensor *tensor;
  };
  /// Where the weights are, for messages.
  const std::string &path() const { return where; }
  const std::map<std::string, Tensor> &tensors() const { return byName; }
  const Tensor *find(const std::string &name) const {
    auto found = byName.find(name);
    return found == byName.end() ? nullptr : &found->second;
  }

private:
  void add(SafetensorsFile file);
  void openShards(const std::string &index);

  std::string where;
  std::deque<SafetensorsFile> files; ///< not moved: `byName` has their addresses
  std::map<std::string, Tensor> byName;
};

/// The paths of the files that contain the weights at `path`, with that of their index. Throws an Error if the index is
/// malformed.
std::vector<std::string> filesOfWeights(const std::string &path);

/// Whether a folder contains weights as Hugging Face's libraries save them: one file, or shards with an index. A
/// checkpoint, even one that lost its manifest, does not count.
bool isFolderOfWeights(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_WEIGHTS_WEIGHTFILES_H
