//===- threads.cuh - shared memory and reductions over threads ------------===//

#ifndef TESSERA_DEVICE_THREADS_CUH
#define TESSERA_DEVICE_THREADS_CUH

#include "scalars.cuh"

namespace tsr {

/// The arguments of a horizontally fused launch: the addresses of the operands and results of the first kernel, then of
/// the second one, and so on.
template <int N> struct pointers {
  struct pointer {
    void *address;
    template <typename T> TSR_DEVICE operator T *() const { return static_cast<T *>(address); }
  };
  void *addresses[N];
  TSR_DEVICE pointer operator[](int i) const { return {addresses[i]}; }
};

//===----------------------------------------------------------------------===//
// Reductions over threads. Their order depends on the number of threads only.
//===----------------------------------------------------------------------===//

struct Sum {
  template <typename T> static TSR_DEVICE T combine(T a, T b) { return a + b; }
};
struct Max {
  template <typename T> static TSR_DEVICE T combine(T a, T b) { return max(a, b); }
};
struct Min {
  template <typename T> static TSR_DEVICE T combine(T a, T b) { return min(a, b); }
};
struct MaxNum { ///< ignores NaN; `a` must not be NaN
  template <typename T> static TSR_DEVICE T combine(T a, T b) { return max_number(a, b); }
};

/// exp(scale x - down), as a power of two. Its relative error is about 2^-22 (PTX: ex2.approx.ftz), and that of the
/// exponent's rounding: 2^-18 near exp(-80). The product and
/// the difference are rounded one after the other: the result is exactly 1 where `down` is the product, however large
/// that is. A fused multiply-add would leave the rounding error of `down`, which for large values is any exponent.
TSR_DEVICE float exp_of_difference(float x, float scale, float down) {
  const float to_base_2 = 1.44269504f;
#ifdef __CUDACC__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(::__fsub_rn(::__fmul_rn(x, scale), down) * to_base_2));
  return result;
#else
  const float product = x * scale;
  const float result = __builtin_exp2f((product - down) * to_base_2);
  return result < 0x1p-126f ? 0.0f : result;
#endif
}

/// An online softmax: the maximum of the elements so far, and the sum of exp(x - max); of exp(x) while the maximum is
/// -infinity. `none` has no elements yet.
template <typename T> struct Softmax {
  T max, sum;
  static TSR_DEVICE Softmax none() { return {T(-infinity()), T(0)}; }
  static TSR_DEVICE T shift(T max) { return max == T(-infinity()) ? T(0) : max; }
  template <int N> TSR_DEVICE void add(const vec<T, N> &x) {
    T largest = max;
#pragma unroll
    for (int i = 0; i < N; ++i) largest = max_number(largest, x[i]);
    sum *= largest > max ? exp(max - largest) : T(1);
    max = largest;
    const T down = shift(max);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += exp(x[i] - down);
  }
  TSR_DEVICE void add(T x) { add(filled<1>(x)); }
};
struct JoinSoftmax {
  template <typename T> static TSR_DEVICE Softmax<T> combine(Softmax<T> a, Softmax<T> b) {
    if (b.max > a.max) return {b.max, a.sum * exp(a.max - b.max) + b.sum};
    return {a.max, a.sum + b.sum * exp(b.max - Softmax<T>::shift(a.max))};
  }
};

#ifdef __CUDACC__
/// Shared memory of a block.
template <typename T> class Shared {
public:
  explicit TSR_DEVICE Shared(T *memory) : memory(memory) {}
  TSR_DEVICE T get(int i) const { return memory[i]; }
  TSR_DEVICE void set(int i, T x) { memory[i] = x; }
  /// `N` consecutive elements, from a multiple of their size.
  template <int N> TSR_DEVICE vec<T, N> get_vector(int i) const { return load<N>(memory + i); }
  template <int N> TSR_DEVICE void set_vector(int i, const vec<T, N> &x) { store(memory + i, x); }
  /// For instructions that read shared memory.
  TSR_DEVICE unsigned address(int i) const { return static_cast<unsigned>(__cvta_generic_to_shared(memory + i)); }

private:
  T *memory;
};
/// Starts to copy 16 bytes to shared memory; zeros if nothing `exists` there. Both addresses are multiples of 16 bytes.
/// The thread sees the copy after `wait_for_copies`, the block after a barrier that follows (PTX: cp.async).
template <int N, typename T> TSR_DEVICE void start_copy(Shared<T> to, int i, const T *from, bool exists) {
  static_assert(N * sizeof(T) == 16);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to.address(i)), "l"(__cvta_generic_to_global(from)), "r"(exists ? 16 : 0)
               : "memory");
}
TSR_DEVICE void wait_for_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }
#define TSR_SHARED(T, name, count)                                                                                     \
  __shared__ __align__(16) T name##_memory[count];                                                                     \
  tsr::Shared<T> name(name##_memory)

template <typename T> TSR_DEVICE T shuffle_xor(T x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
TSR_DEVICE void sync_block() { __syncthreads(); }
/// Bit l is the argument of lane l.
TSR_DEVICE unsigned ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
TSR_DEVICE int count_bits(unsigned bits) { return __popc(bits); }
#endif

template <typename T> TSR_DEVICE Softmax<T> shuffle_xor(Softmax<T> x, int mask) {
  return {shuffle_xor(x.max, mask), shuffle_xor(x.sum, mask)};
}

/// Combines the values of `Group` adjacent lanes (a power of two, at most 32). All of them get the result.
template <typename Op, int Group, typename T> TSR_DEVICE T warp_reduce(T x) {
#pragma unroll
  for (int mask = Group / 2; mask > 0; mask /= 2) x = Op::combine(x, shuffle_xor(x, mask));
  return x;
}

/// Raises the maximum of a softmax of `factor` x whose elements `Group` lanes share to that of `x` in all of them; the
/// factor is positive, and is left out of the maximum. The sum of a lane covers the elements that the lane itself has
/// added. Returns the factor by which other accumulators with such exponentials must be multiplied.
template <int Group, int N> TSR_DEVICE float advance(Softmax<float> &softmax, const vec<float, N> &x, float factor) {
  float largest = softmax.max;
#pragma unroll
  for (int i = 0; i < N; ++i) largest = max_number(largest, x[i]);
  largest = warp_reduce<MaxNum, Group>(largest);
  const float scale = largest > softmax.max ? exp_of_difference(softmax.max, factor, factor * largest) : 1.0f;
  softmax.max = largest;
  softmax.sum *= scale;
  return scale;
}

/// Combines the values of `Group` adjacent threads (a multiple of 32). All of them get the result. `scratch` has an
/// element for each warp of the block.
template <typename Op, int Group, typename T> TSR_DEVICE T block_reduce(T x, Shared<T> scratch) {
  x = warp_reduce<Op, 32>(x);
  if (threadIdx.x % 32 == 0) scratch.set(threadIdx.x / 32, x);
  sync_block();
  const int first = threadIdx.x / Group * (Group / 32);
  x = scratch.get(first);
  for (int i = 1; i < Group / 32; ++i) x = Op::combine(x, scratch.get(first + i));
  return x;
}

/// Combines the values of `Group` threads that are `Stride` apart. All of them get the result. `scratch` has `N`
/// elements for each thread.
template <typename Op, int Group, int Stride, int N, typename T>
TSR_DEVICE vec<T, N> strided_reduce(vec<T, N> x, Shared<T> scratch) {
#pragma unroll
  for (int j = 0; j < N; ++j) scratch.set(j * (Group * Stride) + threadIdx.x, x[j]);
  sync_block();
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int own = j * (Group * Stride) + threadIdx.x % Stride;
    x[j] = scratch.get(own);
    for (int i = 1; i < Group; ++i) x[j] = Op::combine(x[j], scratch.get(own + i * Stride));
  }
  return x;
}

template <typename Op, int Group, int Stride, typename T> TSR_DEVICE T strided_reduce(T x, Shared<T> scratch) {
  return strided_reduce<Op, Group, Stride>(filled<1>(x), scratch)[0];
}

/// Returns how many candidates a block of `Warps` warps has chosen, where each thread has `N` of them. Those of a warp
/// precede those of the next one; within it, the first of all lanes precede the second ones. `places` become the
/// numbers of chosen candidates before each. `counts` has an element for each warp.
template <int Warps, int N>
TSR_DEVICE int count_chosen(const vec<bool, N> &chosen, Shared<int> counts, vec<int, N> &places) {
  int sum = 0;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const unsigned lanes = ballot(chosen[j]);
    places[j] = sum + count_bits(lanes & ((1u << threadIdx.x % 32) - 1));
    sum += count_bits(lanes);
  }
  if (threadIdx.x % 32 == 0) counts.set(threadIdx.x / 32, sum);
  sync_block();
  sum = 0;
  for (int warp = 0; warp < Warps; ++warp) {
    for (int j = 0; j < N; ++j) places[j] += warp == static_cast<int>(threadIdx.x / 32) ? sum : 0;
    sum += counts.get(warp);
  }
  return sum;
}

/// Sorts `many` values by their keys, where equal keys keep the order of their values. If entry i is the first with
/// its key, `lengths[i]` is how many have it and `begins[i]` where the first of them is in `sorted`; else `lengths[i]`
/// is 0.
template <int Block, typename T>
TSR_DEVICE void sort_by_key(int many, Shared<T> values, Shared<T> keys, Shared<T> sorted, Shared<int> begins,
                            Shared<int> lengths) {
  for (int i = threadIdx.x; i < many; i += Block) {
    const T key = keys.get(i);
    int smaller = 0, equal = 0, before = 0;
#pragma unroll 4
    for (int j = 0; j < many; ++j) {
      const T other = keys.get(j);
      smaller += other < key;
      equal += other == key;
      before += other == key && j < i;
    }
    sorted.set(smaller + before, values.get(i));
    begins.set(i, smaller);
    lengths.set(i, before == 0 ? equal : 0);
  }
  sync_block();
}

} // namespace tsr

#endif // TESSERA_DEVICE_THREADS_CUH
