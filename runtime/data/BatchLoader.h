//===- BatchLoader.h - loads batches in the background --------------------===//
//
// A thread fills one buffer while the step reads the other. The rows of a batch depend on its number, the seed and
// the data only: batch n takes rows n·B to n·B + B - 1 of an endless sequence of epochs, each shuffled by its own
// permutation. So the data position is one number, and resuming is exact.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_BATCHLOADER_H
#define TESSERA_RUNTIME_DATA_BATCHLOADER_H

#include "runtime/data/DataSource.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace tessera::runtime {

/// Fills this rank's part of batch `number` of the endless shuffled sequence. `targets` are the addresses of the set's
/// inputs.
void fillTrainingBatch(const DataSet &set, uint64_t seed, int64_t number, char *const *targets);

/// Fills this rank's part of batch `number` of one pass in order. The last row is repeated as padding. Returns the
/// number of rows without padding, of all ranks together.
int64_t fillOrderedBatch(const DataSet &set, int64_t number, char *const *targets);

/// Batches of one ordered pass: all rows, the last batch partial. A pass over several sources ends with the shortest.
int64_t orderedBatches(const DataSet &set);

class BatchLoader {
public:
  /// Starts the thread at batch `first`; with `repeatFirst` every batch is that one.
  BatchLoader(const DataSet &set, uint64_t seed, int64_t first, bool repeatFirst = false);
  ~BatchLoader();

  /// Waits for the next batch and copies it into the arena at `arena`. Rethrows an error of the thread.
  void takeInto(char *arena);

private:
  struct Buffer {
    std::vector<char> memory;
    std::vector<char *> targets;
    bool full = false;
  };
  void fillForEver();

  const DataSet &set;
  uint64_t seed;
  int64_t nextNumber;
  bool repeatFirst;
  int64_t batchBytes = 0;
  Buffer buffers[2];
  std::mutex mutex;
  std::condition_variable changed;
  std::exception_ptr failure;
  bool stopping = false;
  int taking = 0;
  std::thread thread;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_BATCHLOADER_H
