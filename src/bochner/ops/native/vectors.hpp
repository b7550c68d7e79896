// Vectors as wide as the registers of the instruction set, by the compiler's own extension (vector_size).

#define INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define KEEP(vector) asm volatile("" : "+v"(vector))  // the compiler must think that it changes
#else
#define KEEP(vector) asm volatile("" : "+w"(vector))
#endif

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

// Has the cache lines of numbers first..last-1 fetched as far as the L2 cache.
template <class T>
INLINE void ask(const T* numbers, size_t first, size_t last) {
  constexpr size_t LINE = 64 / sizeof(T);
  for (size_t k = first / LINE * LINE; k < last; k += LINE) __builtin_prefetch(numbers + k, 0, 2);
}

INLINE constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// sum + a * b, rounded once where the instruction set can.
INLINE Vector<float> multiply_add(Vector<float> sum, Vector<float> a, Vector<float> b) {
#if defined(__AVX512F__)
  return (Vector<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
#elif defined(__FMA__)
  return (Vector<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
#else
  return sum + a * b;
#endif
}
INLINE Vector<double> multiply_add(Vector<double> sum, Vector<double> a, Vector<double> b) {
#if defined(__AVX512F__)
  return (Vector<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)sum);
#elif defined(__FMA__)
  return (Vector<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)sum);
#else
  return sum + a * b;
#endif
}

INLINE Vector<double> floors(Vector<double> v) {
#if defined(__AVX512F__)
  return (Vector<double>)_mm512_roundscale_pd((__m512d)v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
  return (Vector<double>)_mm256_floor_pd((__m256d)v);
#else
  for (size_t k = 0; k < Lane<double>::count; k++) v[k] = __builtin_floor(v[k]);
  return v;
#endif
}

// Element k is that of a and b, one behind the other, which mask[k] says.
template <class V, class Mask>
INLINE V shuffled(V a, V b, Mask mask) {
#if defined(__clang__)
  constexpr size_t count = sizeof(V) / sizeof(a[0]);
  V out = a;
#pragma clang loop unroll(full)
  for (size_t k = 0; k < count; k++) out[k] = size_t(mask[k]) < count ? a[mask[k]] : b[size_t(mask[k]) - count];
  return out;
#else
  return __builtin_shuffle(a, b, mask);
#endif
}

// A vector of numbers that starts on a cache line: what crosses two lines costs two loads.
template <class T>
struct OnLines {
  using value_type = T;
  OnLines() = default;
  template <class Other>
  OnLines(const OnLines<Other>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64))); }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(64)); }
  bool operator==(const OnLines&) const { return true; }
  bool operator!=(const OnLines&) const { return false; }
};
template <class T>
using Aligned = std::vector<T, OnLines<T>>;
