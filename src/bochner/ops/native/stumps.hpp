// Stumps: whether coordinate k of a row is above a threshold, for m pairs of both. Thresholds of bytes have 16 bits, so
// that they can be below or above all bytes. What is returned is whether all numbers of all rows are finite: a pass of
// its own would cost a third of the time.

// Only of finite numbers is every difference with itself zero.
template <class X>
INLINE bool all_finite(const X* x, size_t count) {
  if constexpr (std::is_integral_v<X>) {
    return true;
  } else {
    constexpr size_t lanes = Lane<X>::count;
    Vector<X> zeros[4] = {};
    X zero = 0;
    size_t k = 0;
    for (; k + 4 * lanes <= count; k += 4 * lanes)
#pragma GCC unroll 4
      for (size_t v = 0; v < 4; v++) zeros[v] += load(x + k + v * lanes) - load(x + k + v * lanes);
    for (; k < count; k++) zero += x[k] - x[k];
    const Vector<X> all = (zeros[0] + zeros[1]) + (zeros[2] + zeros[3]);
    for (size_t v = 0; v < lanes; v++) zero += all[v];
    return zero == 0;
  }
}

// First all comparisons' numbers side by side, then all comparisons at once: neither loop has a branch to guess.
template <class X, class Limit, class Out>
bool stumps_by_rows(const X* x, size_t rows, size_t d, const int32_t* coordinates, const Limit* thresholds, size_t m,
                    Out height, Out* out) {
  constexpr size_t LOT = 1024, FEW = 16;  // rows that are looked through at once, since one may be short
  Limit taken[LOT];
  bool finite = true;
  for (size_t first = 0; first < m; first += LOT) {
    const size_t here = m - first < LOT ? m - first : LOT;
    const int32_t* from = coordinates + first;
    const Limit* limit = thresholds + first;
    for (size_t row = 0; row < rows; row++) {
      const X* numbers = x + row * d;
      if (first == 0 && row % FEW == 0) finite &= all_finite(numbers, std::min(FEW, rows - row) * d);
      Out* to = out + row * m + first;
      for (size_t k = 0; k < here; k++) taken[k] = numbers[from[k]];
      for (size_t k = 0; k < here; k++) to[k] = taken[k] > limit[k] ? height : Out(-height);
    }
  }
  return finite;
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

// Squares of as many rows as a vector has lanes, in log2 steps: each exchanges the numbers of two vectors.
template <class V, class Mask, size_t STRIDE, size_t... L>
INLINE void turn_square(V* v, std::index_sequence<L...> lanes) {
  constexpr size_t count = sizeof...(L);
  if constexpr (STRIDE < count) {
    const Mask first = {((L & STRIDE) ? count + (L ^ STRIDE) : L)...};
    const Mask second = {((L & STRIDE) ? count + L : L ^ STRIDE)...};
#pragma GCC unroll 16
    for (size_t i = 0; i < count; i++)
      if (!(i & STRIDE)) {
        const V a = v[i], b = v[i + STRIDE];
        v[i] = shuffled(a, b, first);
        v[i + STRIDE] = shuffled(a, b, second);
      }
    turn_square<V, Mask, 2 * STRIDE>(v, lanes);
  }
}

// Vectors whose squares are turned, with masks for their shuffles: whole registers, but of bytes a quarter.
template <class X>
struct Square {
  typedef X Lanes __attribute__((vector_size(sizeof(X) == 1 ? 16 : BYTES)));
  using Whole = std::conditional_t<sizeof(X) == 1, int8_t, std::conditional_t<sizeof(X) == 4, int32_t, int64_t>>;
  typedef Whole Mask __attribute__((vector_size(sizeof(Lanes))));
  static constexpr size_t count = sizeof(Lanes) / sizeof(X);
};

template <class X>
void turn_rows(const X* x, size_t rows, size_t d, X* side) {
  using Lanes = typename Square<X>::Lanes;
  constexpr size_t count = Square<X>::count;
  const size_t squares = rows == SIDE ? d / count * count : 0;
  for (size_t column = 0; column < squares; column += count)
    for (size_t row = 0; row < SIDE; row += count) {
      Lanes v[count];
#pragma GCC unroll 16
      for (size_t i = 0; i < count; i++) std::memcpy(&v[i], x + (row + i) * d + column, sizeof(Lanes));
      turn_square<Lanes, typename Square<X>::Mask, 1>(v, std::make_index_sequence<count>());
#pragma GCC unroll 16
      for (size_t i = 0; i < count; i++) std::memcpy(side + (column + i) * SIDE + row, &v[i], sizeof(Lanes));
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
INLINE uint64_t above(const uint8_t* p, int16_t limit) {
  const __m512i byte = _mm512_set1_epi8(int8_t(limit < 0 ? 0 : limit));
  return limit < 0 ? ~uint64_t(0) : _mm512_cmpgt_epu8_mask(_mm512_loadu_si512(p), byte);
}
INLINE uint64_t above(const int8_t* p, int16_t limit) {
  return limit < -128 ? ~uint64_t(0) : _mm512_cmpgt_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8(int8_t(limit)));
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

// For each of 64 rows the bits of `here` stumps, at most 64.
template <class X, class Limit>
INLINE void bits_of(const X* side, const int32_t* coordinates, const Limit* thresholds, size_t here, uint64_t* bits) {
  constexpr size_t count = Lane<X>::count;
  for (size_t k = 0; k < here; k++) {
    decltype(above(side, Limit())) parts[SIDE / count];
    const X* column = side + size_t(coordinates[k]) * SIDE;
#pragma GCC unroll 8
    for (size_t v = 0; v < SIDE / count; v++) parts[v] = above(column + v * count, thresholds[k]);
    std::memcpy(bits + k, parts, sizeof parts);
  }
  std::fill(bits + here, bits + SIDE, 0);
  turn_bits(bits);
}

template <class X, class Limit, class Out>
bool stumps(const X* x, size_t rows, size_t d, const int32_t* coordinates, const Limit* thresholds, size_t m, Out height,
            Out* out) {
  constexpr size_t LARGEST = 1 << 19;  // bytes on their side: they must stay in the L2 cache
  constexpr size_t GROUPS = 16;        // of 64 stumps, whose outputs of one row are written after each other
  if (d > 4 * m || d * SIDE * sizeof(X) > LARGEST)
    return stumps_by_rows(x, rows, d, coordinates, thresholds, m, height, out);
  bool finite = true;
  Aligned<X> side(d * SIDE);
  alignas(64) uint64_t bits[GROUPS][SIDE];
  for (size_t row = 0; row < rows; row += SIDE) {
    const size_t some = std::min(SIDE, rows - row);
    finite &= all_finite(x + row * d, some * d);
    turn_rows(x + row * d, some, d, side.data());
    const X* const next = x + (row + some) * d;
    const size_t coming = std::min(SIDE, rows - row - some) * d;  // numbers, a share of which is asked for each time
    for (size_t first = 0; first < m; first += GROUPS * SIDE) {
      const size_t here = std::min(GROUPS * SIDE, m - first), whole = here / SIDE, last = here % SIDE;
      for (size_t k = 0; k < here; k += SIDE) {
        ask(next, (first + k) * coming / m, std::min(first + k + SIDE, m) * coming / m);
        bits_of(side.data(), coordinates + first + k, thresholds + first + k, std::min(SIDE, here - k), bits[k / SIDE]);
      }
      for (size_t r = 0; r < some; r++) {
        Out* to = out + (row + r) * m + first;
        for (size_t g = 0; g < whole; g++) choose(bits[g][r], height, to + g * SIDE);
        if (last) {
          Out few[SIDE];
          choose(bits[whole][r], height, few);
          std::memcpy(to + whole * SIDE, few, last * sizeof(Out));
        }
      }
    }
  }
  return finite;
}
#else
template <class X, class Limit, class Out>
bool stumps(const X* x, size_t rows, size_t d, const int32_t* coordinates, const Limit* thresholds, size_t m, Out height,
            Out* out) {
  return stumps_by_rows(x, rows, d, coordinates, thresholds, m, height, out);
}
#endif
