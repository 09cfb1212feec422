// What a compiler would emit for a small linear regression: y = x · w, squared
// error, momentum. `LauncherTest.cpp` describes the same in its manifest.

#include "runtime/Abi.h"

const uint32_t tsr_abi_version = TSR_ABI_VERSION;

enum { // offsets in the arena
  W = 0,
  M = 64,
  STEP = 128,
  SEED = 192,
  SEED_IN = 256,
  X = 320,
  Y = 384,
  PREDICTED = 448,
  LOSS = 512,
  NORM = 576,
  FINITE = 640,
  RATE = 704,
  WEIGHT = 768,
  COUNT = 832,
  TOKENS = 896,
  SCORES = 960,
  RANK = 1088
};
enum { FAILING_RANK = 2 };
enum { BATCH = 4, FEATURES = 3, OUTPUTS = 2, SEQ = 4, VOCAB = 5 };

#define FLOATS(offset) ((float *)(arena + (offset)))

// In a program whose manifest has the input RANK, one rank calls a contraction that there is not. Else RANK is 0.
void tsr_entry_init(TsrRuntime *runtime, char *arena) {
  if (*(int32_t *)(arena + RANK) == FAILING_RANK) runtime->gemm(runtime, 1000, 0, 0, 0, 0, 0);
  int64_t seed = *(int64_t *)(arena + SEED_IN);
  uint64_t random = (uint64_t)seed * 6364136223846793005u + 1442695040888963407u;
  for (int i = 0; i < FEATURES * OUTPUTS; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    FLOATS(W)[i] = (float)(random >> 40) / 16777216.0f - 0.5f;
    FLOATS(M)[i] = 0;
  }
  *(int32_t *)(arena + STEP) = 0;
  *(int64_t *)(arena + SEED) = seed;
}

static float squaredError(char *arena, const float *weight) {
  float sum = 0;
  for (int i = 0; i < BATCH; ++i)
    for (int j = 0; j < OUTPUTS; ++j) {
      float error = FLOATS(PREDICTED)[i * OUTPUTS + j] - FLOATS(Y)[i * OUTPUTS + j];
      sum += (weight ? weight[i] : 1) * error * error;
    }
  return sum;
}

// One iteration: one weight. args: w, m, x, predicted, y.
static void update(void *const *args, int64_t begin, int64_t end, void *scratch) {
  float *w = args[0], *m = args[1], *x = args[2], *predicted = args[3], *y = args[4];
  for (int64_t i = begin; i < end; ++i) {
    int64_t output = i / FEATURES, feature = i % FEATURES; // w is [output, feature] in memory
    float gradient = 0;
    for (int b = 0; b < BATCH; ++b)
      gradient += (predicted[b * OUTPUTS + output] - y[b * OUTPUTS + output]) * x[b * FEATURES + feature];
    m[i] = 0.9f * m[i] + gradient / BATCH;
    w[i] -= 0.05f * m[i];
  }
}

const TsrKernel tsr_kernels[] = {update};

void tsr_entry_step(TsrRuntime *runtime, char *arena) {
  runtime->gemm(runtime, 0, arena + X, arena + W, 0, 0, arena + PREDICTED);
  float loss = squaredError(arena, 0) / (BATCH * OUTPUTS);
  *FLOATS(LOSS) = loss;
  *FLOATS(NORM) = 1;
  *FLOATS(RATE) = 0.05f;
  int32_t finite = loss - loss == 0;
  *(int32_t *)(arena + FINITE) = finite;
  void *args[] = {arena + W, arena + M, arena + X, arena + PREDICTED, arena + Y};
  if (finite) runtime->parallelFor(runtime, update, args, FEATURES * OUTPUTS, 1, 0, 0, 0);
  *(int32_t *)(arena + STEP) += 1;
}

void tsr_entry_evaluate(TsrRuntime *runtime, char *arena) {
  runtime->gemm(runtime, 0, arena + X, arena + W, 0, 0, arena + PREDICTED);
  float count = 0;
  for (int i = 0; i < BATCH; ++i) count += FLOATS(WEIGHT)[i] * OUTPUTS;
  *FLOATS(COUNT) = count;
  *FLOATS(LOSS) = squaredError(arena, FLOATS(WEIGHT)) / count;
}

void tsr_entry_predict(TsrRuntime *runtime, char *arena) {
  runtime->gemm(runtime, 0, arena + X, arena + W, 0, 0, arena + PREDICTED);
}

// Scores that make token + 1 the likeliest.
void tsr_entry_generate(TsrRuntime *runtime, char *arena) {
  runtime->zero(runtime, arena + SCORES, SEQ * VOCAB * 4);
  for (int i = 0; i < SEQ; ++i) FLOATS(SCORES)[i * VOCAB + (((int32_t *)(arena + TOKENS))[i] + 1) % VOCAB] = 100;
}
