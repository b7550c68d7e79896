// |x - z|_1, or |x - z|_2^2, of every row of x with every row of z. GROUP rows of z are turned on their side, so that a
// register holds one column of several of them; columns are added up in their order.

INLINE Vector<float> magnitude(Vector<float> v) {
  return (Vector<float>)((Vector<int32_t>)v & std::numeric_limits<int32_t>::max());
}
INLINE Vector<double> magnitude(Vector<double> v) {
  return (Vector<double>)((Vector<int64_t>)v & std::numeric_limits<int64_t>::max());
}

// TOGETHER rows of x with a group.
template <size_t TOGETHER, bool SQUARED, class T>
INLINE void distances_of_group(const T* x, size_t d, const T* group, T* out, size_t others, size_t here) {
  constexpr size_t LANES = Lane<T>::count, WIDTH = 4;
  Vector<T> sums[TOGETHER][WIDTH] = {};
  for (size_t k = 0; k < d; k++)
#pragma GCC unroll 4
    for (size_t v = 0; v < WIDTH; v++) {
      const Vector<T> column = load(group + (k * WIDTH + v) * LANES);
#pragma GCC unroll 2
      for (size_t row = 0; row < TOGETHER; row++) {
        const Vector<T> apart = x[row * d + k] - column;
        sums[row][v] += (SQUARED ? apart * apart : magnitude(apart));
      }
    }
  for (size_t row = 0; row < TOGETHER; row++) std::memcpy(out + row * others, sums[row], here * sizeof(T));
}

template <bool SQUARED, class T>
void distances_by_groups(const T* x, size_t rows, size_t d, const T* z, size_t others, T* out) {
  constexpr size_t GROUP = 4 * Lane<T>::count, CACHE = 1 << 17;
  const size_t groups = (others + GROUP - 1) / GROUP, lot = 2 * std::max<size_t>(8, CACHE / (2 * d * sizeof(T) + 1));
  Aligned<T> turned(groups * GROUP * d);
  for (size_t j = 0; j < others; j++)
    for (size_t k = 0; k < d; k++) turned[(j / GROUP * d + k) * GROUP + j % GROUP] = z[j * d + k];
  for (size_t first = 0; first < rows; first += lot)
    for (size_t g = 0; g < groups; g++) {
      const T* group = &turned[g * GROUP * d];
      const size_t here = std::min(GROUP, others - g * GROUP), last = std::min(first + lot, rows);
      size_t row = first;
      for (; row + 2 <= last; row += 2)
        distances_of_group<2, SQUARED>(x + row * d, d, group, out + row * others + g * GROUP, others, here);
      if (row < last)
        distances_of_group<1, SQUARED>(x + row * d, d, group, out + row * others + g * GROUP, others, here);
    }
}

template <class T>
void distances(const T* x, size_t rows, size_t d, const T* z, size_t others, bool squared, T* out) {
  (squared ? distances_by_groups<true, T> : distances_by_groups<false, T>)(x, rows, d, z, others, out);
}
