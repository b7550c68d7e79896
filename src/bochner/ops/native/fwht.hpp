// The fast Walsh-Hadamard transform.
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

// a - b by a multiply-add, exact too: with registers of 32 bytes, additions alone leave other pipes of the processor idle.
template <class T>
INLINE Vector<T> difference(Vector<T> a, Vector<T> b, Vector<T> minus_one) {
  if constexpr (BYTES == 32 && std::is_floating_point_v<T>) return multiply_add(a, b, minus_one);
  return a - b;
}
template <class T>
INLINE Vector<T> minus_ones() {
  Vector<T> v = Vector<T>{} - T(1);
  KEEP(v);  // or the compiler would make a subtraction of it
  return v;
}

// LEVELS levels at once on 2^LEVELS vectors that are h numbers apart; FIRST does the levels within vectors before.
template <class T, int LEVELS, bool FIRST = false>
INLINE void butterflies_at(T* p, size_t h, Vector<T> minus_one) {
  constexpr int COUNT = 1 << LEVELS;
  Vector<T> a[COUNT];
#pragma GCC unroll 16
  for (int k = 0; k < COUNT; k++) a[k] = FIRST ? within<T>(load(p + k * h)) : load(p + k * h);
#pragma GCC unroll 4
  for (int stride = 1; stride < COUNT; stride *= 2)
#pragma GCC unroll 16
    for (int k = 0; k < COUNT; k++)
      if (!(k & stride)) {
        const Vector<T> low = a[k], high = a[k + stride];
        a[k] = low + high;
        a[k + stride] = difference<T>(low, high, minus_one);
      }
#pragma GCC unroll 16
  for (int k = 0; k < COUNT; k++) store(p + k * h, a[k]);
}

template <class T, int LEVELS>
void pass(T* x, size_t size, size_t stride) {
  const Vector<T> minus_one = minus_ones<T>();
  for (size_t i = 0; i < size; i += stride << LEVELS)
    for (size_t j = 0; j < stride; j += Lane<T>::count) butterflies_at<T, LEVELS>(x + i + j, stride, minus_one);
}

// The levels from `stride` up to `size`, three at a time while three are left.
template <class T>
void levels(T* x, size_t size, size_t stride) {
  for (; stride * 8 <= size; stride *= 8) pass<T, 3>(x, size, stride);
  if (stride * 4 <= size)
    pass<T, 2>(x, size, stride);
  else if (stride * 2 <= size)
    pass<T, 1>(x, size, stride);
}

// A vector of more numbers than a register has.
template <class T>
void fwht_vector(T* x, int log2_size) {
  const size_t size = size_t(1) << log2_size;
  constexpr size_t lanes = Lane<T>::count;
  const Vector<T> minus_one = minus_ones<T>();
  if (size == 2 * lanes) {
    butterflies_at<T, 1, true>(x, lanes, minus_one);
  } else if (size == 4 * lanes) {
    butterflies_at<T, 2, true>(x, lanes, minus_one);
  } else if (log2_size <= LEAF<T>) {
    for (size_t i = 0; i < size; i += 8 * lanes) butterflies_at<T, 3, true>(x + i, lanes, minus_one);
    levels(x, size, 8 * lanes);
  } else {
    // As few passes over what no longer fits in the cache as eight streams at a time allow, all of them alike; more
    // streams would fall on the same few places of the caches, since their distances are powers of two.
    const int above = log2_size - LEAF<T>, passes = (above + 2) / 3, here = (above + passes - 1) / passes;
    const size_t part = size >> here;
    for (size_t i = 0; i < size; i += part) fwht_vector(x + i, log2_size - here);
    if (here == 3)
      pass<T, 3>(x, size, part);
    else if (here == 2)
      pass<T, 2>(x, size, part);
    else
      pass<T, 1>(x, size, part);
  }
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
  if (size <= Lane<T>::count) {
    fwht_short(x, rows * size, size);
    return;
  }
  for (size_t row = 0; row < rows; row++) fwht_vector(x + row * size, log2_size);
}

// One vector of any size.
template <class T>
INLINE void fwht_one(T* x, int log2_size) {
  fwht(x, 1, log2_size);
}
