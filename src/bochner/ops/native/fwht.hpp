// The fast Walsh-Hadamard transform.
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

// v with lanes L and L ^ STRIDE exchanged; the indices are constants, so that the cheapest instruction can be found.
template <class T, size_t STRIDE, size_t... L>
INLINE Vector<T> exchanged(Vector<T> v, std::index_sequence<L...>) {
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(v, v, (L ^ STRIDE)...);
#else
  return Vector<T>{v[L ^ STRIDE]...};
#endif
}
template <class T, size_t STRIDE, size_t... L>
INLINE constexpr Vector<T> signs(std::index_sequence<L...>) {
  return Vector<T>{((L & STRIDE) ? T(-1) : T(1))...};
}

// s + v * sign, for signs of +-1: exact, so a fused multiply-add gives the same bits and leaves the adders free.
INLINE Vector<float> signed_sum(Vector<float> s, Vector<float> v, Vector<float> sign) {
#if defined(__AVX512F__)
  return (Vector<float>)_mm512_fmadd_ps((__m512)v, (__m512)sign, (__m512)s);
#elif defined(__FMA__)
  return (Vector<float>)_mm256_fmadd_ps((__m256)v, (__m256)sign, (__m256)s);
#else
  return s + v * sign;
#endif
}
INLINE Vector<double> signed_sum(Vector<double> s, Vector<double> v, Vector<double> sign) {
#if defined(__AVX512F__)
  return (Vector<double>)_mm512_fmadd_pd((__m512d)v, (__m512d)sign, (__m512d)s);
#elif defined(__FMA__)
  return (Vector<double>)_mm256_fmadd_pd((__m256d)v, (__m256d)sign, (__m256d)s);
#else
  return s + v * sign;
#endif
}
INLINE Vector<int32_t> signed_sum(Vector<int32_t> s, Vector<int32_t> v, Vector<int32_t> sign) {
  const Vector<int32_t> minus = sign >> 31;  // (v ^ -1) - (-1) = -v
  return s + ((v ^ minus) - minus);
}

template <class T, size_t STRIDE>
INLINE Vector<T> butterfly_within(Vector<T> v) {
  if constexpr (STRIDE < Lane<T>::count) {
    constexpr auto lanes = std::make_index_sequence<Lane<T>::count>();
    return signed_sum(exchanged<T, STRIDE>(v, lanes), v, signs<T, STRIDE>(lanes));
  }
  return v;
}

// All levels below the vector's width, in registers.
template <class T>
INLINE Vector<T> within(Vector<T> v) {
  v = butterfly_within<T, 1>(v);
  v = butterfly_within<T, 2>(v);
  v = butterfly_within<T, 4>(v);
  return butterfly_within<T, 8>(v);
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
