//===- emulation.h - the device functions of tessera.cuh on a CPU ---------===//
//
// Included by tessera.cuh if the compiler is not a CUDA compiler. The functions are in Emulator.cpp, in the process
// that loads the compiled kernels.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_CODEGEN_CUDA_EMULATION_H
#define TESSERA_TESTS_CODEGEN_CUDA_EMULATION_H

#define __global__
#define __launch_bounds__(...)
#define __grid_constant__

namespace tsr::emulation {

struct Position {
  unsigned x = 0, y = 0, z = 0;
};
extern Position threadIdx, blockIdx; ///< of the current thread

/// Reports an access whose address is not a multiple of its size (at most 16 bytes).
void check_address(const void *address, int bytes);
/// Returns the offset in bytes of the next array in the block's shared memory. All threads declare the same arrays in
/// the same order.
int declare_shared(int bytes);
void read_shared(int offset, void *to, int bytes);
void write_shared(int offset, const void *from, int bytes);
/// The destination is undefined until the thread has waited.
void start_copy(int offset, const void *from, int bytes);
void wait_for_copies();
void sync_block();
/// Reports an error and ends the run.
void fail(const char *what);
inline void check_offset(int i, int count) {
  if (i % count != 0) fail("a vector in shared memory starts at an index that is not a multiple of its size");
}
/// Gathers a value of each lane of the warp, at most 64 bytes each; all lanes get all values.
void collect(const void *own, int bytes, void *all);
/// The value of the lane whose number differs in the bits of `mask`.
unsigned long long shuffle_xor(unsigned long long bits, int mask);

} // namespace tsr::emulation

using tsr::emulation::blockIdx;
using tsr::emulation::threadIdx;

namespace tsr {

template <typename T, int N> struct vec;

template <typename T> class Shared {
public:
  explicit Shared(int count) : offset(emulation::declare_shared(count * static_cast<int>(sizeof(T)))) {}
  T get(int i) const {
    T x;
    emulation::read_shared(offset + i * static_cast<int>(sizeof(T)), &x, sizeof(T));
    return x;
  }
  void set(int i, T x) { emulation::write_shared(offset + i * static_cast<int>(sizeof(T)), &x, sizeof(T)); }
  template <int N> vec<T, N> get_vector(int i) const {
    emulation::check_offset(i, N);
    vec<T, N> x;
    for (int n = 0; n < N; ++n) x[n] = get(i + n);
    return x;
  }
  template <int N> void set_vector(int i, const vec<T, N> &x) {
    emulation::check_offset(i, N);
    for (int n = 0; n < N; ++n) set(i + n, x[n]);
  }
  template <int N> void start_copy(int i, const T *from, bool exists) {
    emulation::check_offset(i, N);
    if (exists) emulation::check_address(from, 16);
    T none[N] = {};
    emulation::start_copy(offset + i * static_cast<int>(sizeof(T)), exists ? from : none, 16);
  }

private:
  int offset;
};
#define TSR_SHARED(T, name, count) tsr::Shared<T> name(count)

template <typename T> T shuffle_xor(T x, int mask) {
  static_assert(sizeof(T) <= 8);
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &x, sizeof(T));
  bits = emulation::shuffle_xor(bits, mask);
  __builtin_memcpy(&x, &bits, sizeof(T));
  return x;
}
template <int N, typename T> void start_copy(Shared<T> to, int i, const T *from, bool exists) {
  static_assert(N * sizeof(T) == 16);
  to.template start_copy<N>(i, from, exists);
}
inline void wait_for_copies() { emulation::wait_for_copies(); }
inline void sync_block() { emulation::sync_block(); }
inline unsigned ballot(bool x) {
  bool all[32];
  emulation::collect(&x, sizeof x, all);
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane) bits |= static_cast<unsigned>(all[lane]) << lane;
  return bits;
}
inline int count_bits(unsigned bits) { return __builtin_popcount(bits); }

} // namespace tsr

#endif // TESSERA_TESTS_CODEGEN_CUDA_EMULATION_H
