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
