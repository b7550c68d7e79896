// The fast Walsh-Hadamard transform, in passes over the numbers that do several levels each. Of 2^20 float32 numbers:
//   levels 0-3    within a register                     \ first pass of a leaf, 2^11 numbers in the L1 cache (AVX-512:
//   levels 4-7    among 16 registers next to each other /  the registers hold 16 vectors)
//   levels 8-10   among 8 registers of the leaf: its second pass
//   levels 11-13, 14-16, 17-19   among 8 places of memory: last_levels
// Levels run from stride 1 upwards, so each output is the same tree of additions however the levels are grouped, and
// floats come out with the same bits as the textbook loop.

template <class T>
constexpr int LEAF = sizeof(T) == 8 ? 11 : 12;  // 16 KB stay in the L1 cache

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
template <class F>
INLINE F signed_sum(F s, F v, F sign) {
  return multiply_add(s, v, sign);
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

// a - b by a multiply-add, exact too: additions alone leave other pipes of a processor idle.
template <class T>
INLINE Vector<T> difference(Vector<T> a, Vector<T> b, Vector<T> minus_one) {
  if constexpr (BYTES > 16 && std::is_floating_point_v<T>) return multiply_add(a, b, minus_one);
  return a - b;
}
template <class T>
INLINE Vector<T> minus_ones() {
  Vector<T> v = Vector<T>{} - T(1);
  KEEP(v);  // or the compiler would make a subtraction of it
  return v;
}

// LEVELS levels at once on 2^LEVELS vectors that are h numbers apart. FIRST does the levels within vectors before. Those
// are multiply-adds, so that AVX-512's differences after them had better be subtractions: both kinds of units are busy.
template <class T, int LEVELS, bool FIRST = false>
INLINE void butterflies(const T* from, T* to, size_t h, Vector<T> minus_one) {
  constexpr int COUNT = 1 << LEVELS;
  Vector<T> a[COUNT];
#pragma GCC unroll 16
  for (int k = 0; k < COUNT; k++) a[k] = FIRST ? within<T>(load(from + k * h)) : load(from + k * h);
#pragma GCC unroll 4
  for (int stride = 1; stride < COUNT; stride *= 2)
#pragma GCC unroll 16
    for (int k = 0; k < COUNT; k++)
      if (!(k & stride)) {
        const Vector<T> low = a[k], high = a[k + stride];
        a[k] = low + high;
        a[k + stride] = FIRST && BYTES == 64 ? low - high : difference<T>(low, high, minus_one);
      }
#pragma GCC unroll 16
  for (int k = 0; k < COUNT; k++) store(to + k * h, a[k]);
}

// Numbers by which x is past a place where whole registers of numbers lie within cache lines.
template <class T>
INLINE size_t past(const T* x) {
  return reinterpret_cast<uintptr_t>(x) / sizeof(T) % Lane<T>::count;
}

// The fewest passes of at most so many levels, all about alike: how many levels the next one does.
constexpr int at_once(int levels, int most) {
  const int passes = (levels + most - 1) / most;
  return (levels + passes - 1) / passes;
}
constexpr int MOST = BYTES == 64 ? 4 : 3;  // levels that the registers can hold
template <class T>
constexpr int WITHIN = __builtin_ctzll(Lane<T>::count);

// LEVELS levels after DONE levels, in a cache. Between the passes the numbers are at `work`.
template <class T, int LEVELS, int DONE = WITHIN<T>>
INLINE void leaf_levels(const T* from, T* work, T* to) {
  constexpr int here = at_once(LEVELS, MOST);
  constexpr size_t stride = size_t(1) << DONE, size = stride << LEVELS;
  const Vector<T> minus_one = minus_ones<T>();
  T* const next = here == LEVELS ? to : work;
  for (size_t i = 0; i < size; i += stride << here)
    for (size_t j = i; j < i + stride; j += Lane<T>::count)
      butterflies<T, here, DONE == WITHIN<T>>(from + j, next + j, stride, minus_one);
  if constexpr (here < LEVELS) leaf_levels<T, LEVELS - here, DONE + here>(work, work, to);
}

// Vectors of more numbers than a register has that fit in the L1 cache. Those that cross cache lines are kept elsewhere
// while they are worked on.
template <class T, int LOG2 = LEAF<T>>
void leaves(T* x, size_t rows, int log2_size) {
  constexpr int LEVELS = LOG2 - WITHIN<T>;
  if (log2_size == LOG2) {
    alignas(64) T scratch[LEVELS > MOST ? size_t(1) << LOG2 : 1];  // one pass goes straight to its place
    for (const T* const stop = x + (rows << LOG2); x < stop; x += size_t(1) << LOG2)
      leaf_levels<T, LEVELS>(x, past(x) ? scratch : x, x);
  } else if constexpr (LEVELS > 1) {
    leaves<T, LOG2 - 1>(x, rows, log2_size);
  }
}

// The last three levels of a vector that is larger than the cache: whole cache lines at a time. Where the vector does not
// start with one, its two ends are taken before and put back after. There are no more than eight streams, because their
// distances are powers of two, so that more of them would fall on the same few places of the caches.
constexpr int LAST = 3;
template <class T>
void last_levels(T* x, size_t stride) {
  constexpr size_t lanes = Lane<T>::count, COUNT = size_t(1) << LAST, AHEAD = 256 / sizeof(T);
  const Vector<T> minus_one = minus_ones<T>();
  T* const ends[] = {x, x + stride - lanes};
  alignas(64) T kept[2][COUNT * lanes];
  const size_t crossing = past(x) ? 2 : 0;
  for (size_t e = 0; e < crossing; e++) {
    for (size_t k = 0; k < COUNT; k++) store(kept[e] + k * lanes, load(ends[e] + k * stride));
    butterflies<T, LAST>(kept[e], kept[e], lanes, minus_one);
  }
  for (size_t j = (lanes - past(x)) % lanes; j + lanes <= stride; j += lanes) {
    for (size_t k = 0; k < COUNT; k++) __builtin_prefetch(x + j + k * stride + AHEAD, 1);
    butterflies<T, LAST>(x + j, x + j, stride, minus_one);
  }
  for (size_t e = 0; e < crossing; e++)
    for (size_t k = 0; k < COUNT; k++) store(ends[e] + k * stride, load(kept[e] + k * lanes));
}

// A vector of more numbers than a cache of the first level has.
template <class T>
void fwht_vector(T* x, int log2_size) {
  const int log2_part = log2_size - LAST;
  const size_t size = size_t(1) << log2_size, part = size_t(1) << log2_part;
  if (log2_part <= LEAF<T>)
    leaves(x, size_t(1) << LAST, log2_part);
  else
    for (size_t i = 0; i < size; i += part) fwht_vector(x + i, log2_part);
  last_levels(x, part);
}

// Vectors no longer than a register, several in each: the levels below their size, and nothing across.
template <class T>
void fwht_short(T* x, size_t count, size_t size) {
  constexpr size_t lanes = Lane<T>::count;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Vector<T> v = load(x + i);
    if (size > 1) v = butterfly_within<T, 1>(v);
    if (size > 2) v = butterfly_within<T, 2>(v);
    if (size > 4) v = butterfly_within<T, 4>(v);
    if (size > 8) v = butterfly_within<T, 8>(v);
    store(x + i, v);
  }
  for (; i < count; i += size)
    for (size_t stride = 1; stride < size; stride *= 2) radix2(x + i, size, stride);
}

template <class T>
void fwht(T* x, size_t rows, int log2_size) {
  const size_t size = size_t(1) << log2_size;
  if (size <= Lane<T>::count)
    fwht_short(x, rows * size, size);
  else if (log2_size <= LEAF<T>)
    leaves(x, rows, log2_size);
  else
    for (size_t row = 0; row < rows; row++) fwht_vector(x + row * size, log2_size);
}

// One vector of any size.
template <class T>
INLINE void fwht_one(T* x, int log2_size) {
  fwht(x, 1, log2_size);
}
