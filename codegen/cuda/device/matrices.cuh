//===- matrices.cuh - products of small matrices by a warp --------------===//

#ifndef TESSERA_DEVICE_MATRICES_CUH
#define TESSERA_DEVICE_MATRICES_CUH

#include "threads.cuh"

namespace tsr {

//===----------------------------------------------------------------------===//
// Products of small matrices by a warp (PTX: mma.sync m16n8k16, ldmatrix). Lane l is member t = l % 4 of group g = l / 4.
//===----------------------------------------------------------------------===//

/// Of a [16, 16]: word w holds row g + 8 (w % 2), columns 2 t + 8 (w / 2) and the next; the first in the lower half.
struct FragmentA {
  unsigned words[4];
};
/// Of b [16, 8]: word w holds rows 2 t + 8 w and the next of column g.
struct FragmentB {
  unsigned words[2];
};
/// Of c [16, 8]: value v is row g + 8 (v / 2), column 2 t + v % 2.
struct FragmentC {
  float values[4];
};

/// Two low floats as a word.
template <typename T> TSR_DEVICE unsigned packed(T low, T high) {
  return static_cast<unsigned>(low.bits) | static_cast<unsigned>(high.bits) << 16;
}
template <typename T> TSR_DEVICE T half_of(unsigned word, int half) {
  T x;
  x.bits = static_cast<unsigned short>(word >> (16 * half));
  return x;
}

/// c += a b, of low floats, added up in f32.
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

/// Four matrices [8, 8] of 16-bit numbers out of shared memory: lane l says where row l % 8 of matrix l / 8 starts, at a multiple of 8
/// numbers. Word m holds numbers 2 t and 2 t + 1 of row g of matrix m; of column g with `Transposed`.
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
  if (row % 8 != 0) emulation::fail("a row of a matrix starts at no multiple of 8 numbers");
  for (int m = 0; m < 4; ++m) {
    auto number = [&](int half) {
      return Transposed ? from.get(rows[8 * m + 2 * member + half] + group)
                        : from.get(rows[8 * m + group] + 2 * member + half);
    };
    words[m] = packed(number(0), number(1));
  }
#endif
}

} // namespace tsr

#endif // TESSERA_DEVICE_MATRICES_CUH
