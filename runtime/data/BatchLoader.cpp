//===- BatchLoader.cpp - loads batches in the background ------------------===//

#include "runtime/data/BatchLoader.h"

#include "runtime/base/MappedFile.h"
#include "runtime/data/Permutation.h"
#include "runtime/machine/ThreadPool.h"
#include "runtime/machine/Threads.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <system_error>

namespace tessera::runtime {

/// The key of a source's permutations. Sources with equally many rows are read in the same order, so that features and
/// labels may be in two of them; others get another order, so that their rows do not meet the same ones in each epoch.
static uint64_t shuffleKey(const DataSet &set, size_t source, uint64_t seed) {
  if (set.order == RowOrder::Separate) return seed + 0x51ed27 * source;
  int64_t rows = set.readers[source]->rows();
  return rows == set.readers[0]->rows() ? seed : seed + mix64(static_cast<uint64_t>(rows));
}

/// Rows that this rank has of a source's inputs, at most.
static int64_t mostRows(const DataSet &set, size_t source) {
  int64_t most = 0;
  for (const BatchInput &input : set.inputs)
    if (input.source == source) most = std::max(most, input.rows.size);
  return most;
}

void fillTrainingBatch(const DataSet &set, uint64_t seed, int64_t number, char *const *targets) {
  for (size_t source = 0; source < set.readers.size(); ++source) {
    int64_t rows = set.readers[source]->rows();
    uint64_t key = shuffleKey(set, source, seed);
    int64_t known = -1, row = 0; // a position, and its row: inputs of one source mostly have the same ones
    auto rowAt = [&](int64_t position) {
      if (position == known) return row;
      known = position;
      row = position % rows;
      if (set.shuffle[source]) row = Permutation(rows, key, position / rows)(row); // constructing one is cheap
      return row;
    };
    for (int64_t i = 0, most = mostRows(set, source); i < most; ++i)
      for (size_t k = 0; k < set.inputs.size(); ++k) {
        const BatchInput &input = set.inputs[k];
        if (input.source == source && i < input.rows.size)
          set.readRow(input, rowAt(number * set.batch + input.rows.padded(i)), targets[k] + i * input.rowBytes);
      }
  }
  set.checkFilesRead(); // after the last row, so that no batch with rows of a changed file is used
}

static int64_t orderedRows(const DataSet &set) {
  int64_t rows = INT64_MAX;
  for (const auto &reader : set.readers) rows = std::min(rows, reader->rows());
  return set.readers.empty() ? 0 : rows;
}

int64_t orderedBatches(const DataSet &set) {
  return (orderedRows(set) + set.batch - 1) / std::max<int64_t>(set.batch, 1);
}

int64_t fillOrderedBatch(const DataSet &set, int64_t number, char *const *targets) {
  int64_t real = std::clamp<int64_t>(orderedRows(set) - number * set.batch, 0, set.batch);
  for (size_t k = 0; k < set.inputs.size(); ++k) {
    const BatchInput &input = set.inputs[k];
    // The last row pads the batch: computing on a real row yields finite values, so that a weight of 0 removes it,
    // and it does not change a maximum.
    for (int64_t i = 0; real > 0 && i < input.rows.size; ++i) {
      int64_t row = number * set.batch + std::min(input.rows(i), real - 1);
      set.readRow(input, row, targets[k] + i * input.rowBytes);
    }
  }
  set.checkFilesRead();
  return real;
}

BatchLoader::BatchLoader(const DataSet &set, uint64_t seed, int64_t first, bool repeatFirst)
    : set(set), seed(seed), nextNumber(first), repeatFirst(repeatFirst) {
  for (const BatchInput &input : set.inputs) batchBytes += input.value->bytes;
  for (Buffer &buffer : buffers) {
    buffer.memory.resize(batchBytes);
    int64_t at = 0;
    for (const BatchInput &input : set.inputs) {
      buffer.targets.push_back(buffer.memory.data() + at);
      at += input.value->bytes;
    }
  }
  // The main thread handles signals.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS); // raised by this thread's own reads
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::error_code refused;
  try {
    thread = std::thread([this] {
      unbindThisThread();
      fillForEver();
    });
  } catch (const std::system_error &e) {
    refused = e.code();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (refused) fail("cannot start the thread that reads the data: {}; {}", refused.message(), threadsAdvice);
}

BatchLoader::~BatchLoader() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

void BatchLoader::fillForEver() {
  for (int filling = 0;; filling ^= 1) {
    Buffer &buffer = buffers[filling];
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stopping || !buffer.full; });
      if (stopping) return;
    }
    try {
      // Reading allocates nothing, so the longjmp out of a read leaks nothing.
      withMappedFiles([&] { fillTrainingBatch(set, seed, nextNumber, buffer.targets.data()); });
    } catch (...) {
      std::lock_guard lock(mutex);
      failure = std::current_exception();
      changed.notify_all();
      return;
    }
    if (!repeatFirst) ++nextNumber;
    {
      std::lock_guard lock(mutex);
      buffer.full = true;
    }
    changed.notify_all();
  }
}

void BatchLoader::takeInto(char *arena) {
  Buffer &buffer = buffers[taking];
  {
    std::unique_lock lock(mutex);
    // Batches that were filled before the failure are still returned.
    changed.wait(lock, [&] { return buffer.full || failure; });
    if (!buffer.full) std::rethrow_exception(failure);
  }
  for (size_t k = 0; k < set.inputs.size(); ++k)
    memcpy(arena + set.inputs[k].value->offset, buffer.targets[k], set.inputs[k].value->bytes);
  {
    std::lock_guard lock(mutex);
    buffer.full = false;
  }
  changed.notify_all();
  taking ^= 1;
}

} // namespace tessera::runtime
