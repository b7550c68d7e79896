// All kernels, compiled once per instruction set: BOCHNER_INSTRUCTION_SET names the set and the namespace.
// Vectors are the compiler's own (vector_size), as wide as the set's registers. ops/reference.py says what each means.
#include "kernels.hpp"

#include <cstring>
#include <vector>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define INLINE inline __attribute__((always_inline))

namespace bochner {
namespace BOCHNER_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)
constexpr size_t BYTES = 64;
#elif defined(__AVX2__)
constexpr size_t BYTES = 32;
#else
constexpr size_t BYTES = 16;
#endif

template <class T>
struct Lane {
  static constexpr size_t count = BYTES / sizeof(T);
  typedef T Vector __attribute__((vector_size(BYTES)));
};
template <class T>
using Vector = typename Lane<T>::Vector;

template <class T>
INLINE Vector<T> load(const T* p) {
  Vector<T> v;
  std::memcpy(&v, p, BYTES);
  return v;
}
template <class T>
INLINE void store(T* p, Vector<T> v) {
  std::memcpy(p, &v, BYTES);
}

// ---- Walsh-Hadamard -------------------------------------------------------------------------------------------------
// Levels run from stride 1 upwards, so each output is the same tree of additions however the levels are grouped, and
// floats come out with the same bits as the textbook loop.

constexpr int LEAF = 12;  // 4096 numbers stay in the first-level cache

template <class T>
void radix2(T* x, size_t size, size_t stride) {
  for (size_t i = 0; i < size; i += 2 * stride)
    for (size_t j = i; j < i + stride; j++) {
      T a = x[j], b = x[j + stride];
      x[j] = a + b;
      x[j + stride] = a - b;
    }
}

template <class T>
INLINE Vector<T> butterfly_within(Vector<T> v, size_t stride) {
  using Index = typename std::conditional<sizeof(T) == 4, int32_t, int64_t>::type;
  Vector<Index> partner;
  Vector<T> sign;
  for (size_t lane = 0; lane < Lane<T>::count; lane++) {
    partner[lane] = static_cast<Index>(lane ^ stride);
    sign[lane] = (lane & stride) ? T(-1) : T(1);
  }
#if defined(__clang__)
  Vector<T> swapped;
  for (size_t lane = 0; lane < Lane<T>::count; lane++) swapped[lane] = v[lane ^ stride];
#else
  Vector<T> swapped = __builtin_shuffle(v, partner);
#endif
  return swapped + v * sign;
}

// All levels below the vector's width, in registers.
template <class T>
INLINE Vector<T> within(Vector<T> v) {
#pragma GCC unroll 4
  for (size_t stride = 1; stride < Lane<T>::count; stride *= 2) v = butterfly_within<T>(v, stride);
  return v;
}

template <class T, bool FIRST>
INLINE void radix8_at(T* p, size_t h) {
  using V = Vector<T>;
  V a[8], b[8];
#pragma GCC unroll 8
  for (int k = 0; k < 8; k++) a[k] = FIRST ? within<T>(load(p + k * h)) : load(p + k * h);
#pragma GCC unroll 4
  for (int k = 0; k < 8; k += 2) b[k] = a[k] + a[k + 1], b[k + 1] = a[k] - a[k + 1];
#pragma GCC unroll 4
  for (int k : {0, 1, 4, 5}) a[k] = b[k] + b[k + 2], a[k + 2] = b[k] - b[k + 2];
#pragma GCC unroll 4
  for (int k = 0; k < 4; k++) store(p + k * h, a[k] + a[k + 4]), store(p + (k + 4) * h, a[k] - a[k + 4]);
}

template <class T>
void radix8(T* x, size_t size, size_t stride) {
  for (size_t i = 0; i < size; i += 8 * stride)
    for (size_t j = 0; j < stride; j += Lane<T>::count) radix8_at<T, false>(x + i + j, stride);
}

template <class T>
void radix4(T* x, size_t size, size_t h) {
  for (size_t i = 0; i < size; i += 4 * h)
    for (size_t j = i; j < i + h; j += Lane<T>::count) {
      T* p = x + j;
      auto a = load(p), b = load(p + h), c = load(p + 2 * h), d = load(p + 3 * h);
      auto e = a + b, f = a - b, g = c + d, k = c - d;
      store(p, e + g), store(p + h, f + k), store(p + 2 * h, e - g), store(p + 3 * h, f - k);
    }
}

// The levels from `stride` up to `size`, three at a time while three are left.
template <class T>
void levels(T* x, size_t size, size_t stride) {
  for (; stride * 8 <= size; stride *= 8) radix8(x, size, stride);
  if (stride * 4 <= size)
    radix4(x, size, stride);
  else if (stride * 2 <= size)
    radix2(x, size, stride);
}

template <class T>
void fwht_vector(T* x, int log2_size) {
  const size_t size = size_t(1) << log2_size;
  constexpr size_t lanes = Lane<T>::count;
  if (size < 8 * lanes) {
    for (size_t stride = 1; stride < size; stride *= 2) radix2(x, size, stride);
  } else if (log2_size <= LEAF) {
    for (size_t i = 0; i < size; i += 8 * lanes) radix8_at<T, true>(x + i, lanes);
    levels(x, size, 8 * lanes);
  } else {
    const int above = log2_size - LEAF < 3 ? log2_size - LEAF : 3;
    const size_t part = size >> above;
    for (size_t i = 0; i < size; i += part) fwht_vector(x + i, log2_size - above);
    levels(x, size, part);
  }
}

template <class T>
void fwht(T* x, size_t rows, int log2_size) {
  for (size_t row = 0; row < rows; row++) fwht_vector(x + (row << log2_size), log2_size);
}

// ---- Fastfood -------------------------------------------------------------------------------------------------------

template <class T>
void sign_and_mix(const T* x, size_t d, const int8_t* signs, T* buffer, int log2_size) {
  const size_t size = size_t(1) << log2_size;
  for (size_t k = 0; k < d; k++) buffer[k] = x[k] * T(signs[k]);
  std::memset(buffer + d, 0, (size - d) * sizeof(T));
  fwht_vector(buffer, log2_size);
}

template <class T>
void fastfood(const T* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation, const T* gaussian,
              const T* calibration, size_t expansions, int log2_size, T* out) {
  const size_t size = size_t(1) << log2_size;
  std::vector<T> buffer(size);
  for (size_t row = 0; row < rows; row++)
    for (size_t e = 0; e < expansions; e++) {
      const size_t at = e * size;
      T* y = out + (row * expansions + e) * size;
      sign_and_mix(x + row * d, d, signs + at, buffer.data(), log2_size);
      for (size_t k = 0; k < size; k++) y[k] = buffer[permutation[at + k]] * gaussian[at + k];
      fwht_vector(y, log2_size);
      for (size_t k = 0; k < size; k++) y[k] *= calibration[at + k];
    }
}

void fastfood_integer(const int32_t* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                      const int8_t* gaussian, int shift, size_t expansions, int log2_size, int32_t* out) {
  const size_t size = size_t(1) << log2_size;
  const int32_t half = (int32_t(1) << shift) >> 1;
  std::vector<int32_t> buffer(size);
  for (size_t row = 0; row < rows; row++)
    for (size_t e = 0; e < expansions; e++) {
      const size_t at = e * size;
      int32_t* y = out + (row * expansions + e) * size;
      sign_and_mix(x + row * d, d, signs + at, buffer.data(), log2_size);
      for (size_t k = 0; k < size; k++)
        y[k] = (buffer[permutation[at + k]] * int32_t(gaussian[at + k]) + half) >> shift;
      fwht_vector(y, log2_size);
    }
}

// ---- Maxout, winners, stumps ----------------------------------------------------------------------------------------

template <class T, size_t POOL>
void maxout_of(const T* x, size_t units, size_t pool, T* out) {
  if (POOL) pool = POOL;
  for (size_t u = 0; u < units; u++, x += pool) {
    T best = x[0];
    for (size_t j = 1; j < pool; j++) best = x[j] > best ? x[j] : best;
    out[u] = best;
  }
}

template <class T, size_t POOL>
void winners_of(const T* x, size_t units, size_t pool, int32_t* out) {
  if (POOL) pool = POOL;
  for (size_t u = 0; u < units; u++, x += pool) {
    T best = x[0];
    int32_t winner = 0;
    for (size_t j = 1; j < pool; j++)
      if (x[j] > best) best = x[j], winner = int32_t(j);
    out[u] = winner;
  }
}

// The usual pool sizes are compiled with a known trip count, so that the loops unroll and vectorise.
#define BY_POOL(function)                                                       \
  switch (pool) {                                                               \
    case 2: return function<T, 2>(x, units, pool, out);                         \
    case 4: return function<T, 4>(x, units, pool, out);                         \
    case 8: return function<T, 8>(x, units, pool, out);                         \
    case 16: return function<T, 16>(x, units, pool, out);                       \
    default: return function<T, 0>(x, units, pool, out);                        \
  }

template <class T>
void maxout(const T* x, size_t units, size_t pool, T* out) {
  BY_POOL(maxout_of)
}
template <class T>
void winners(const T* x, size_t units, size_t pool, int32_t* out) {
  BY_POOL(winners_of)
}

template <class T, class Out>
void stumps(const T* x, size_t rows, size_t d, const int32_t* coordinates, const T* thresholds, size_t m, Out height,
            Out* out) {
  for (size_t row = 0; row < rows; row++, x += d, out += m)
    for (size_t k = 0; k < m; k++) out[k] = x[coordinates[k]] > thresholds[k] ? height : Out(-height);
}

template <class T>
constexpr FloatKernels<T> float_kernels() {
  return {fwht<T>, fastfood<T>, maxout<T>, winners<T>, stumps<T, T>, stumps<T, int8_t>};
}

}  // namespace
}  // namespace BOCHNER_INSTRUCTION_SET

const Kernels& JOIN(BOCHNER_INSTRUCTION_SET, _kernels)() {
  using namespace BOCHNER_INSTRUCTION_SET;
  static const Kernels kernels = {
      float_kernels<float>(), float_kernels<double>(), {fwht<int32_t>, fastfood_integer, maxout<int32_t>, winners<int32_t>}};
  return kernels;
}

}  // namespace bochner
