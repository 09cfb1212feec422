//===- scalars.cuh - element types, vectors, functions, random draws ------===//

#ifndef TESSERA_DEVICE_SCALARS_CUH
#define TESSERA_DEVICE_SCALARS_CUH

#ifdef __CUDACC__
#define TSR_DEVICE __device__ __forceinline__
#else
#include "emulation.h"
#define TSR_DEVICE inline
#endif

namespace tsr {

using i64 = long long;

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

TSR_DEVICE unsigned bits_of(float x) {
#ifdef __CUDACC__
  return __float_as_uint(x);
#else
  return __builtin_bit_cast(unsigned, x);
#endif
}
TSR_DEVICE float float_of(unsigned bits) {
#ifdef __CUDACC__
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}
TSR_DEVICE float infinity() { return float_of(0x7f800000u); }
TSR_DEVICE float not_a_number() { return float_of(0x7fc00000u); }

//===----------------------------------------------------------------------===//
// Low-precision types. Conversions round to nearest, ties to even; arithmetic is done in f32.
//===----------------------------------------------------------------------===//

struct bf16 {
  unsigned short bits;
  bf16() = default;
  explicit TSR_DEVICE bf16(float x) {
#ifdef __CUDACC__
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    unsigned wide = bits_of(x);
    bits = x != x ? 0x7fff : (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
#endif
  }
  explicit TSR_DEVICE operator float() const { return float_of(static_cast<unsigned>(bits) << 16); }
};

struct f16 {
  unsigned short bits;
  f16() = default;
  explicit TSR_DEVICE f16(float x) {
#ifdef __CUDACC__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
    bits = __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
#endif
  }
  explicit TSR_DEVICE operator float() const {
#ifdef __CUDACC__
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
#endif
  }
};

/// The nearest value of a 16-bit type, as f32.
template <typename T> TSR_DEVICE float rounded(float x) { return float(T(x)); }
#ifdef __CUDACC__
template <> TSR_DEVICE float rounded<bf16>(float x) { // the upper half of a pair is an f32 already
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x), "f"(0.0f));
  return float_of(bits);
}
#endif

/// 8-bit floats with `Mantissa` mantissa bits and an exponent bias of `Bias` (OCP 8-bit floating point). Conversions
/// saturate: large values and infinity become the largest finite value. NaN stays NaN.
template <int Mantissa, int Bias, unsigned Largest> struct fp8 {
  unsigned char bits;
  fp8() = default;
  explicit TSR_DEVICE fp8(float x) {
    unsigned wide = bits_of(x), sign = wide >> 24 & 0x80, magnitude = wide & 0x7fffffff;
    constexpr int shift = 23 - Mantissa;
    constexpr unsigned smallest = static_cast<unsigned>(128 - Bias) << 23; // normal, as f32
    unsigned rounded;
    if (magnitude > 0x7f800000) {
      rounded = 0x7f;
    } else if (magnitude >= smallest) {
      rounded = magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1);
      rounded = (rounded >> shift) - (static_cast<unsigned>(127 - Bias) << Mantissa);
      rounded = rounded > Largest ? Largest : rounded;
    } else { // subnormal: adding a value whose last bit is one unit of the result rounds to that unit
      float anchor = float_of(static_cast<unsigned>(128 - Bias + 23 - Mantissa) << 23);
      rounded = bits_of(float_of(magnitude) + anchor) - bits_of(anchor);
    }
    bits = static_cast<unsigned char>(sign | rounded);
  }
  explicit TSR_DEVICE operator float() const {
    unsigned sign = static_cast<unsigned>(bits & 0x80) << 24, magnitude = bits & 0x7f;
    if (isNaN(magnitude)) return not_a_number();
    float scale = float_of(static_cast<unsigned>(127 + 127 - Bias) << 23); // exponents of f32 are biased by 127
    float x = float_of(magnitude << (23 - Mantissa)) * scale;
    return float_of(bits_of(x) | sign);
  }

private:
  static TSR_DEVICE bool isNaN(unsigned magnitude) { return Mantissa == 3 ? magnitude == 0x7f : magnitude > 0x7c; }
};
using e4m3 = fp8<3, 7, 0x7e>;
using e5m2 = fp8<2, 15, 0x7b>;

//===----------------------------------------------------------------------===//
// Vectors: consecutive elements, moved at once
//===----------------------------------------------------------------------===//

template <typename T, int N> struct vec {
  T values[N];
  TSR_DEVICE T &operator[](int i) { return values[i]; }
  TSR_DEVICE const T &operator[](int i) const { return values[i]; }
};

#ifdef __CUDACC__
template <int Bytes> struct Word;
template <> struct Word<1> {
  using type = unsigned char;
};
template <> struct Word<2> {
  using type = unsigned short;
};
template <> struct Word<4> {
  using type = unsigned int;
};
template <> struct Word<8> {
  using type = uint2;
};
template <> struct Word<16> {
  using type = uint4;
};
#endif

/// `N` elements from an address that is a multiple of their size, at most 16 bytes per access.
template <int N, typename T> TSR_DEVICE vec<T, N> load(const T *from) {
  vec<T, N> result;
#ifdef __CUDACC__
  constexpr int bytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16;
  using W = typename Word<bytes>::type;
#pragma unroll
  for (int i = 0; i < static_cast<int>(N * sizeof(T)) / bytes; ++i) {
    W word = reinterpret_cast<const W *>(from)[i];
    memcpy(reinterpret_cast<char *>(result.values) + i * bytes, &word, bytes);
  }
#else
  emulation::check_address(from, N * sizeof(T));
  for (int i = 0; i < N; ++i) result[i] = from[i];
#endif
  return result;
}

/// The same for data that is accessed once: it is evicted from the cache first. At least 16 bytes (PTX: ld.global.cs).
template <int N, typename T> TSR_DEVICE vec<T, N> load_streaming(const T *from) {
#ifdef __CUDACC__
  static_assert(N * sizeof(T) % 16 == 0);
  vec<T, N> result;
#pragma unroll
  for (int i = 0; i < static_cast<int>(N * sizeof(T)) / 16; ++i) {
    uint4 word;
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(__cvta_generic_to_global(reinterpret_cast<const uint4 *>(from) + i))
                 : "memory");
    memcpy(reinterpret_cast<char *>(result.values) + i * 16, &word, 16);
  }
  return result;
#else
  return load<N>(from);
#endif
}

template <int N, typename T> TSR_DEVICE void store(T *to, const vec<T, N> &x) {
#ifdef __CUDACC__
  constexpr int bytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16;
  using W = typename Word<bytes>::type;
#pragma unroll
  for (int i = 0; i < static_cast<int>(N * sizeof(T)) / bytes; ++i) {
    W word;
    memcpy(&word, reinterpret_cast<const char *>(x.values) + i * bytes, bytes);
    reinterpret_cast<W *>(to)[i] = word;
  }
#else
  emulation::check_address(to, N * sizeof(T));
  for (int i = 0; i < N; ++i) to[i] = x[i];
#endif
}

/// The counterpart of `load_streaming` (PTX: st.global.cs).
template <int N, typename T> TSR_DEVICE void store_streaming(T *to, const vec<T, N> &x) {
#ifdef __CUDACC__
  static_assert(N * sizeof(T) % 16 == 0);
#pragma unroll
  for (int i = 0; i < static_cast<int>(N * sizeof(T)) / 16; ++i) {
    uint4 word;
    memcpy(&word, reinterpret_cast<const char *>(x.values) + i * 16, 16);
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(reinterpret_cast<uint4 *>(to) + i)), "r"(word.x), "r"(word.y),
                   "r"(word.z), "r"(word.w)
                 : "memory");
  }
#else
  store(to, x);
#endif
}

/// The same from any address, and to any.
template <int N, typename T> TSR_DEVICE vec<T, N> load_unaligned(const T *from) {
  vec<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result[i] = from[i];
  return result;
}
template <int N, typename T> TSR_DEVICE void store_unaligned(T *to, const vec<T, N> &x) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = x[i];
}

template <int N, typename T> TSR_DEVICE vec<T, N> filled(T x) {
  vec<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result[i] = x;
  return result;
}

//===----------------------------------------------------------------------===//
// Elementwise functions. Conventions (NaN, ties, rounding of quotients) are those of docs/ir.md.
//===----------------------------------------------------------------------===//

#ifdef __CUDACC__
#define TSR_FUNCTION(name)                                                                                             \
  TSR_DEVICE float name(float x) { return ::name##f(x); }                                                              \
  TSR_DEVICE double name(double x) { return ::name(x); }
#else
#define TSR_FUNCTION(name)                                                                                             \
  TSR_DEVICE float name(float x) { return __builtin_##name##f(x); }                                                    \
  TSR_DEVICE double name(double x) { return __builtin_##name(x); }
#endif
TSR_FUNCTION(exp)
TSR_FUNCTION(expm1)
TSR_FUNCTION(log)
TSR_FUNCTION(log1p)
TSR_FUNCTION(sqrt)
TSR_FUNCTION(tanh)
TSR_FUNCTION(erf)
TSR_FUNCTION(sin)
TSR_FUNCTION(cos)
TSR_FUNCTION(floor)
TSR_FUNCTION(ceil)
TSR_FUNCTION(rint)
#undef TSR_FUNCTION

/// Halves to the even integer, unlike C's `round`.
TSR_DEVICE float round(float x) { return rint(x); }
TSR_DEVICE double round(double x) { return rint(x); }
TSR_DEVICE float rsqrt(float x) { return 1.0f / sqrt(x); }
TSR_DEVICE double rsqrt(double x) { return 1.0 / sqrt(x); }
/// Accurate in both tails: exp is computed of arguments that are not positive.
template <typename T> TSR_DEVICE T sigmoid(T x) {
  T e = exp(x < T(0) ? x : -x);
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
template <typename T> TSR_DEVICE T abs(T x) { return x < T(0) ? -x : x == T(0) ? T(0) : x; }
template <typename T> TSR_DEVICE T sign(T x) { return x != x ? x : static_cast<T>((x > T(0)) - (x < T(0))); }
/// The larger operand; ignores NaN in `b`. `a` must not be NaN.
#ifdef __CUDACC__
TSR_DEVICE float max_number(float a, float b) { return ::fmaxf(a, b); } // one instruction
#endif
template <typename T> TSR_DEVICE T max_number(T a, T b) { return b > a ? b : a; }
/// NaN if either operand is.
template <typename T> TSR_DEVICE T max(T a, T b) { return a != a || a > b ? a : b; }
template <typename T> TSR_DEVICE T min(T a, T b) { return a != a || a < b ? a : b; }

#ifdef __CUDACC__
#define TSR_FUNCTION(name, function)                                                                                   \
  TSR_DEVICE float name(float x, float y) { return ::function##f(x, y); }                                              \
  TSR_DEVICE double name(double x, double y) { return ::function(x, y); }
#else
#define TSR_FUNCTION(name, function)                                                                                   \
  TSR_DEVICE float name(float x, float y) { return __builtin_##function##f(x, y); }                                    \
  TSR_DEVICE double name(double x, double y) { return __builtin_##function(x, y); }
#endif
TSR_FUNCTION(pow, pow)
TSR_FUNCTION(remainder_of, fmod)
#undef TSR_FUNCTION

TSR_DEVICE float floordiv(float a, float b) { return floor(a / b); }
TSR_DEVICE double floordiv(double a, double b) { return floor(a / b); }
/// The remainder with the divisor's sign.
TSR_DEVICE float mod(float a, float b) {
  float r = remainder_of(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
TSR_DEVICE double mod(double a, double b) {
  double r = remainder_of(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
/// Quotients of integers round down. A divisor of 0 counts as 1; the lowest value divided by -1 wraps around.
template <typename T, typename Unsigned> TSR_DEVICE T floor_quotient(T a, T b) {
  if (b == 0) b = 1;
  if (b == -1) return static_cast<T>(0 - static_cast<Unsigned>(a));
  T quotient = a / b, rest = a % b;
  return quotient - (rest != 0 && (rest ^ b) < 0);
}
TSR_DEVICE int floordiv(int a, int b) { return floor_quotient<int, unsigned>(a, b); }
TSR_DEVICE i64 floordiv(i64 a, i64 b) { return floor_quotient<i64, unsigned long long>(a, b); }
template <typename T, typename Unsigned> TSR_DEVICE T integer_mod(T a, T b) {
  Unsigned whole = static_cast<Unsigned>(floor_quotient<T, Unsigned>(a, b)) * static_cast<Unsigned>(b == 0 ? 1 : b);
  return static_cast<T>(static_cast<Unsigned>(a) - whole);
}
TSR_DEVICE int mod(int a, int b) { return integer_mod<int, unsigned>(a, b); }
TSR_DEVICE i64 mod(i64 a, i64 b) { return integer_mod<i64, unsigned long long>(a, b); }

/// Floats to integers round toward zero and saturate; NaN gives 0.
template <typename Float> TSR_DEVICE int to_int(Float x) {
  if (x != x) return 0;
  if (x >= Float(2147483648.0)) return 2147483647;
  if (x <= Float(-2147483648.0)) return -2147483647 - 1;
  return static_cast<int>(x);
}
template <typename Float> TSR_DEVICE i64 to_long(Float x) {
  if (x != x) return 0;
  if (x >= Float(9223372036854775808.0)) return 9223372036854775807ll;
  if (x <= Float(-9223372036854775808.0)) return -9223372036854775807ll - 1;
  return static_cast<i64>(x);
}

/// Rounds to bf16, up or down at random: adds 16 random bits to those that are cut off.
TSR_DEVICE bf16 stochastic_round(float x, float noise) {
  unsigned bits = bits_of(x);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits += static_cast<unsigned>(static_cast<int>(noise * 65536.0f));
  bf16 result;
  result.bits = static_cast<unsigned short>(bits >> 16);
  return result;
}

/// The index nearest to `index` in [0, extent).
template <typename T> TSR_DEVICE T clamp(T index, int extent) {
  return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}
template <typename T> TSR_DEVICE bool is_inside(T index, int extent) { return index >= 0 && index < extent; }

//===----------------------------------------------------------------------===//
// Random numbers: Philox 4x32-10, as the description of `tsr.random` says
//===----------------------------------------------------------------------===//

struct Draw {
  unsigned first, second;
};

TSR_DEVICE unsigned high_product(unsigned a, unsigned b) {
#ifdef __CUDACC__
  return __umulhi(a, b);
#else
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
#endif
}

/// The number of a random site, mixed with one more salt.
TSR_DEVICE unsigned salted(unsigned mixed, unsigned salt) { return (mixed ^ salt) * 0x9E3779B1u + 0x7F4A7C15u; }

TSR_DEVICE Draw philox(unsigned long long index, unsigned long long seed, unsigned step, unsigned mixed) {
  unsigned x = static_cast<unsigned>(index), y = static_cast<unsigned>(index >> 32), z = step, w = mixed;
  unsigned key0 = static_cast<unsigned>(seed), key1 = static_cast<unsigned>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    unsigned high0 = high_product(0xD2511F53u, x), low0 = 0xD2511F53u * x;
    unsigned high1 = high_product(0xCD9E8D57u, z), low1 = 0xCD9E8D57u * z;
    x = high1 ^ y ^ key0, y = low1, z = high0 ^ w ^ key1, w = low0;
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  return {x, y};
}
TSR_DEVICE float uniform(Draw draw) { return static_cast<float>(draw.first >> 8) * 0x1p-24f; }
TSR_DEVICE float normal(Draw draw) {
  float radius = sqrt(-2.0f * log(static_cast<float>((draw.first >> 8) + 1) * 0x1p-24f));
  float turns = static_cast<float>(draw.second >> 8) * 0x1p-24f;
#ifdef __CUDACC__
  return radius * ::cospif(2.0f * turns);
#else
  return radius * static_cast<float>(__builtin_cos(6.283185307179586 * turns));
#endif
}

} // namespace tsr

#endif // TESSERA_DEVICE_SCALARS_CUH
