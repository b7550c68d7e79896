// Stumps: whether coordinate k of a row is above a threshold, for m pairs of both.

// First all comparisons' numbers side by side, then all comparisons at once: neither loop has a branch to guess.
template <class T, class Out>
void stumps_by_rows(const T* x, size_t rows, size_t d, const int32_t* coordinates, const T* thresholds, size_t m,
                    Out height, Out* out) {
  constexpr size_t LOT = 1024;
  T taken[LOT];
  for (size_t first = 0; first < m; first += LOT) {
    const size_t here = m - first < LOT ? m - first : LOT;
    const int32_t* from = coordinates + first;
    const T* limit = thresholds + first;
    for (size_t row = 0; row < rows; row++) {
      const T* numbers = x + row * d;
      Out* to = out + row * m + first;
      for (size_t k = 0; k < here; k++) taken[k] = numbers[from[k]];
      for (size_t k = 0; k < here; k++) to[k] = taken[k] > limit[k] ? height : Out(-height);
    }
  }
}

#if defined(__AVX512BW__)
// Sixty-four rows at a time, turned on their side: a column of them is compared with a threshold at once, which gives 64
// bits; and 64 stumps' bits, turned back, choose the signs of 64 neighbouring outputs of each row.

using Bits = Vector<uint64_t>;
constexpr size_t SIDE = 64;

template <size_t STRIDE>  // the bits whose number has no STRIDE in it
constexpr uint64_t LOW = ~uint64_t(0) / ((uint64_t(1) << STRIDE) + 1);

// Bit j of number i and bit i of number j change places, for i and j that differ by STRIDE; numbers of two registers.
template <size_t STRIDE>
INLINE void turn_across(Bits& a, Bits& b) {
  const Bits moved = ((a >> STRIDE) ^ b) & LOW<STRIDE>;
  b ^= moved;
  a ^= moved << STRIDE;
}
// The same for numbers of one register.
template <size_t STRIDE, size_t... L>
INLINE Bits turn_within(Bits v, std::index_sequence<L...> lanes) {
  const Bits up = {((L & STRIDE) ? 0 : ~LOW<STRIDE>)...}, down = {((L & STRIDE) ? LOW<STRIDE> : 0)...};
  const Bits other = exchanged<uint64_t, STRIDE>(v, lanes);
  return (v & ~(up | down)) | ((other << STRIDE) & up) | ((other >> STRIDE) & down);
}

void turn_bits(uint64_t* numbers) {
  constexpr auto lanes = std::make_index_sequence<8>();
  Bits a[8];
#pragma GCC unroll 8
  for (size_t r = 0; r < 8; r++) {
    const Bits v = turn_within<1>(load(numbers + 8 * r), lanes);
    a[r] = turn_within<4>(turn_within<2>(v, lanes), lanes);
  }
#pragma GCC unroll 4
  for (size_t r = 0; r < 8; r += 2) turn_across<8>(a[r], a[r + 1]);
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; r++) turn_across<16>(a[r + (r & 2)], a[r + (r & 2) + 2]);
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; r++) turn_across<32>(a[r], a[r + 4]);
#pragma GCC unroll 8
  for (size_t r = 0; r < 8; r++) store(numbers + 8 * r, a[r]);
}

// Squares of as many rows as a register has lanes, in log2 steps: each exchanges the numbers of two registers.
template <size_t STRIDE, class T, class Whole, size_t... L>
INLINE void turn_square(Vector<T>* v, std::index_sequence<L...> lanes) {
  constexpr size_t count = Lane<T>::count;
  if constexpr (STRIDE < count) {
    const Vector<Whole> first = {Whole((L & STRIDE) ? count + (L ^ STRIDE) : L)...};
    const Vector<Whole> second = {Whole((L & STRIDE) ? count + L : L ^ STRIDE)...};
#pragma GCC unroll 16
    for (size_t i = 0; i < count; i++)
      if (!(i & STRIDE)) {
        const Vector<T> a = v[i], b = v[i + STRIDE];
        v[i] = shuffled(a, b, first);
        v[i + STRIDE] = shuffled(a, b, second);
      }
    turn_square<2 * STRIDE, T, Whole>(v, lanes);
  }
}

template <class T>
void turn_rows(const T* x, size_t rows, size_t d, T* side) {
  constexpr size_t count = Lane<T>::count;
  using Whole = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  const size_t squares = rows == SIDE ? d / count * count : 0;
  for (size_t column = 0; column < squares; column += count)
    for (size_t row = 0; row < SIDE; row += count) {
      Vector<T> v[count];
#pragma GCC unroll 16
      for (size_t i = 0; i < count; i++) v[i] = load(x + (row + i) * d + column);
      turn_square<1, T, Whole>(v, std::make_index_sequence<count>());
#pragma GCC unroll 16
      for (size_t i = 0; i < count; i++) store(side + (column + i) * SIDE + row, v[i]);
    }
  for (size_t row = 0; row < rows; row++)
    for (size_t column = squares; column < d; column++) side[column * SIDE + row] = x[row * d + column];
}

INLINE uint16_t above(const float* p, float limit) {
  return _mm512_cmp_ps_mask(_mm512_loadu_ps(p), _mm512_set1_ps(limit), _CMP_GT_OQ);
}
INLINE uint8_t above(const double* p, double limit) {
  return _mm512_cmp_pd_mask(_mm512_loadu_pd(p), _mm512_set1_pd(limit), _CMP_GT_OQ);
}
INLINE void choose(uint64_t bits, int8_t height, int8_t* out) {
  const __m512i plus = _mm512_set1_epi8(height), minus = _mm512_set1_epi8(int8_t(-height));
  _mm512_storeu_si512(out, _mm512_mask_blend_epi8(bits, minus, plus));
}
INLINE void choose(uint64_t bits, float height, float* out) {
  const __m512 plus = _mm512_set1_ps(height), minus = _mm512_set1_ps(-height);
#pragma GCC unroll 4
  for (size_t v = 0; v < 4; v++)
    _mm512_storeu_ps(out + 16 * v, _mm512_mask_blend_ps(__mmask16(bits >> 16 * v), minus, plus));
}
INLINE void choose(uint64_t bits, double height, double* out) {
  const __m512d plus = _mm512_set1_pd(height), minus = _mm512_set1_pd(-height);
#pragma GCC unroll 8
  for (size_t v = 0; v < 8; v++)
    _mm512_storeu_pd(out + 8 * v, _mm512_mask_blend_pd(__mmask8(bits >> 8 * v), minus, plus));
}

// 64 neighbouring outputs of each row; fewer at the end.
template <class T, class Out>
void stumps_of_side(const T* side, size_t rows, const int32_t* coordinates, const T* thresholds, size_t here, size_t m,
                    Out height, Out* out) {
  alignas(64) uint64_t bits[SIDE] = {};
  for (size_t k = 0; k < here; k++) {
    constexpr size_t count = Lane<T>::count;
    decltype(above(side, T())) parts[SIDE / count];
    const T* column = side + size_t(coordinates[k]) * SIDE;
#pragma GCC unroll 8
    for (size_t v = 0; v < SIDE / count; v++) parts[v] = above(column + v * count, thresholds[k]);
    std::memcpy(bits + k, parts, sizeof parts);
  }
  turn_bits(bits);
  for (size_t row = 0; row < rows; row++) {
    if (here == SIDE) {
      choose(bits[row], height, out + row * m);
    } else {
      Out last[SIDE];
      choose(bits[row], height, last);
      std::memcpy(out + row * m, last, here * sizeof(Out));
    }
  }
}

template <class T, class Out>
void stumps(const T* x, size_t rows, size_t d, const int32_t* coordinates, const T* thresholds, size_t m, Out height,
            Out* out) {
  constexpr size_t LARGEST = 1 << 19;  // bytes on their side: they must stay in the L2 cache
  if (d > 4 * m || d * SIDE * sizeof(T) > LARGEST)
    return stumps_by_rows(x, rows, d, coordinates, thresholds, m, height, out);
  Aligned<T> side(d * SIDE);
  for (size_t row = 0; row < rows; row += SIDE) {
    const size_t some = std::min(SIDE, rows - row);
    turn_rows(x + row * d, some, d, side.data());
    for (size_t first = 0; first < m; first += SIDE)
      stumps_of_side(side.data(), some, coordinates + first, thresholds + first, std::min(SIDE, m - first), m, height,
                     out + row * m + first);
  }
}
#else
template <class T, class Out>
void stumps(const T* x, size_t rows, size_t d, const int32_t* coordinates, const T* thresholds, size_t m, Out height,
            Out* out) {
  stumps_by_rows(x, rows, d, coordinates, thresholds, m, height, out);
}
#endif
