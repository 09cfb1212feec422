//===- matrices.cuh - matrix products of a warp ---------------------------===//

#ifndef TESSERA_DEVICE_MATRICES_CUH
#define TESSERA_DEVICE_MATRICES_CUH

#include "threads.cuh"

namespace tsr {

//===----------------------------------------------------------------------===//
// Matrix products of a warp (PTX: mma.sync m16n8k16 and m16n8k8, ldmatrix). Lane l is member t = l % 4 of group
// g = l / 4.
//===----------------------------------------------------------------------===//

/// The fragment of a lane of an operand a.
///
/// - a [16, 16] of 16-bit elements: word w holds row g + 8 (w % 2), columns 2 t + 8 (w / 2) and the next one; the first
///   is in the lower half.
/// - a [16, 8] of f32: word w holds row g + 8 (w % 2), column 2 t + w / 2. The instruction calls that column
///   t + 4 (w / 2). The summed axis may have any order that both operands share.
struct FragmentA {
  unsigned words[4];
};
/// The fragment of a lane of an operand b.
///
/// - b [16, 8] of 16-bit elements: word w holds rows 2 t + 8 w and the next one of column g.
/// - b [8, 8] of f32: word w holds row 2 t + w of column g.
struct FragmentB {
  unsigned words[2];
};
/// The fragment of a lane of the accumulators c [16, 8]: value v is in row g + 8 (v / 2), column 2 t + v % 2.
struct FragmentC {
  float values[4];
};

/// Two 16-bit elements as a word.
template <typename T> TSR_DEVICE unsigned packed(T low, T high) {
  return static_cast<unsigned>(low.bits) | static_cast<unsigned>(high.bits) << 16;
}
template <typename T> TSR_DEVICE T half_of(unsigned word, int half) {
  T x;
  x.bits = static_cast<unsigned short>(word >> (16 * half));
  return x;
}

/// c += a b for 16-bit elements, accumulated in f32.
template <typename T> TSR_DEVICE void multiply_add(FragmentC &c, const FragmentA &a, const FragmentB &b);
#ifdef __CUDACC__
#define TSR_MMA(T, type)                                                                                               \
  template <> TSR_DEVICE void multiply_add<T>(FragmentC & c, const FragmentA &a, const FragmentB &b) {                 \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                                        \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                     \
                 : "+f"(c.values[0]), "+f"(c.values[1]), "+f"(c.values[2]), "+f"(c.values[3])                          \
                 : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]),                \
                   "r"(b.words[1]));                                                                                   \
  }
TSR_MMA(bf16, "bf16")
TSR_MMA(f16, "f16")
#undef TSR_MMA
#else
template <typename T> void multiply_add(FragmentC &c, const FragmentA &a, const FragmentB &b) {
  struct Both {
    FragmentA a;
    FragmentB b;
  } own{a, b}, all[32];
  emulation::collect(&own, sizeof own, all);
  const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
  for (int v = 0; v < 4; ++v) {
    const int row = group + 8 * (v / 2), column = 2 * member + v % 2;
    float sum = c.values[v];
    for (int k = 0; k < 16; ++k) {
      const Both &left = all[row % 8 * 4 + k % 8 / 2], &right = all[column * 4 + k % 8 / 2];
      sum += float(half_of<T>(left.a.words[row / 8 + 2 * (k / 8)], k % 2)) *
             float(half_of<T>(right.b.words[k / 8], k % 2));
    }
    c.values[v] = sum;
  }
}
#endif

/// The nearest value with ten mantissa bits; ties round away from zero.
TSR_DEVICE unsigned to_tf32(float x) {
#ifdef __CUDACC__
  unsigned bits;
  // Volatile, so that the compiler does not hoist it: loop-invariant operands would be in registers twice, and there
  // are not enough registers.
  asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
#else
  unsigned bits = bits_of(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
#endif
}

/// c += a b for tf32 elements (m16n8k8).
TSR_DEVICE void multiply_add_tf32(FragmentC &c, const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef __CUDACC__
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c.values[0]), "+f"(c.values[1]), "+f"(c.values[2]), "+f"(c.values[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  struct Both {
    unsigned a[4], b[2];
  } own{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, all[32];
  emulation::collect(&own, sizeof own, all);
  const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
  for (int v = 0; v < 4; ++v) {
    const int row = group + 8 * (v / 2), column = 2 * member + v % 2;
    for (int k = 0; k < 8; ++k)
      c.values[v] +=
          float_of(all[row % 8 * 4 + k % 4].a[row / 8 + 2 * (k / 4)]) * float_of(all[column * 4 + k % 4].b[k / 4]);
  }
#endif
}

/// x = high + low, both in tf32. If x is infinite, or rounds to infinity in tf32 (from 3.4026e38 on), the sum is NaN.
TSR_DEVICE void split_tf32(float x, unsigned &high, unsigned &low) {
  high = to_tf32(x);
  low = to_tf32(x - float_of(high));
}

/// c += a b for f32 elements. Each element is the sum of two tf32 values, and the product of the low ones is left out:
/// the relative error of a product is about 2^-21 (NVIDIA CUTLASS, "3xTF32"). Matrix units truncate when they
/// accumulate.
template <> TSR_DEVICE void multiply_add<float>(FragmentC &c, const FragmentA &a, const FragmentB &b) {
  unsigned high_a[4], low_a[4], high_b[2], low_b[2];
#pragma unroll
  for (int w = 0; w < 4; ++w) split_tf32(float_of(a.words[w]), high_a[w], low_a[w]);
#pragma unroll
  for (int w = 0; w < 2; ++w) split_tf32(float_of(b.words[w]), high_b[w], low_b[w]);
  multiply_add_tf32(c, low_a, high_b);
  multiply_add_tf32(c, high_a, low_b);
  multiply_add_tf32(c, high_a, high_b);
}

/// Loads four matrices [8, 8] of 16-bit elements from shared memory. Lane l passes where row l % 8 of matrix l / 8
/// starts, a multiple of 8 elements. Word m holds elements 2 t and 2 t + 1 of row g of matrix m; of column g with
/// `Transposed`.
template <bool Transposed, typename T> TSR_DEVICE void load_matrices(unsigned (&words)[4], Shared<T> from, int row) {
#ifdef __CUDACC__
  if (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(from.address(row)));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(from.address(row)));
#else
  int rows[32];
  emulation::collect(&row, sizeof row, rows);
  const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
  if (row % 8 != 0) emulation::fail("a row of a matrix starts at an index that is not a multiple of 8");
  for (int m = 0; m < 4; ++m) {
    auto element = [&](int half) {
      return Transposed ? from.get(rows[8 * m + 2 * member + half] + group)
                        : from.get(rows[8 * m + group] + 2 * member + half);
    };
    words[m] = packed(element(0), element(1));
  }
#endif
}

} // namespace tsr

#endif // TESSERA_DEVICE_MATRICES_CUH
