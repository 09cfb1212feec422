//===- BatchLoader.h - batches, ready when a step wants them ------------------===//
//
// A thread fills one buffer while the step reads the other. Which rows a batch
// holds depends on its number, the seed and the data only: batch n takes rows
// n·B to n·B + B - 1 of an endless sequence of epochs, each shuffled by its
// own permutation. So a position is one number, and resuming is exact.
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

/// Fills batch `number` of the endless shuffled sequence. `targets` are the addresses of the set's inputs.
void fillTrainingBatch(const DataSet &set, uint64_t seed, int64_t number, char *const *targets);

/// Fills batch `number` of one pass in order. Rows behind the last repeat it. Returns the number of real rows.
int64_t fillOrderedBatch(const DataSet &set, int64_t number, char *const *targets);

/// Batches of one ordered pass: all rows, the last batch partial. A pass over several sources ends with the shortest.
int64_t orderedBatches(const DataSet &set);

class BatchLoader {
public:
  /// Starts the thread at batch `first`; `repeatFirst` hands out that batch for ever.
  BatchLoader(const DataSet &set, uint64_t seed, int64_t first, bool repeatFirst = false);
  ~BatchLoader();

  /// Waits for the next batch and copies it into the arena that starts at `arena`. Throws what the thread met.
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
