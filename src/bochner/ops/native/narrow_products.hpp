// Products of integer features with few columns: sums over rows (Z'Y) and over features (Z W).

INLINE Vector<float> add_product(Vector<float> sum, Vector<float> a, Vector<float> b) { return multiply_add(sum, a, b); }
INLINE Vector<int32_t> add_product(Vector<int32_t> sum, Vector<int32_t> a, Vector<int32_t> b) { return sum + a * b; }

// Z'Y for columns first..last-1 of Z, exactly; out is Y'Z, k rows of m numbers. The products of SUMMED rows are added
// in a type that they cannot fill: float32 counts to 2^24.
template <class Z>
void cross(const Z* z, size_t rows, size_t m, const int8_t* y, size_t k, size_t first, size_t last, int64_t* out) {
  using Sum = std::conditional_t<sizeof(Z) == 1, float, int32_t>;
  constexpr size_t LANES = Lane<Sum>::count, STRIP = 64, PAIR = 2 * LANES, CHUNK = 64, SUMMED = 4 * CHUNK;
  constexpr size_t GROUP = BYTES == 64 ? 6 : 4;  // columns of Y whose sums are in registers
  static_assert(STRIP % PAIR == 0);
  const size_t columns = last - first, padded = round_up(columns, STRIP), codes_row = round_up(k, GROUP);
  Aligned<Sum> numbers(CHUNK * STRIP), codes(CHUNK * codes_row), sums(codes_row * padded);
  for (size_t j = 0; j < k; j++) std::fill(out + j * m + first, out + j * m + last, 0);
  for (size_t row = 0; row < rows; row += CHUNK) {
    const size_t count = std::min(CHUNK, rows - row);
    for (size_t r = 0; r < count; r++)
      for (size_t j = 0; j < k; j++) codes[r * codes_row + j] = Sum(y[(row + r) * k + j]);
    for (size_t strip = 0; strip < columns; strip += STRIP) {
      for (size_t r = 0; r < count; r++) {
        const Z* const from = z + (row + r) * m + first + strip;
        for (size_t c = 0; c < std::min(STRIP, columns - strip); c++) numbers[r * STRIP + c] = Sum(from[c]);
      }
      for (size_t j = 0; j < k; j += GROUP)
        for (size_t c = 0; c < STRIP; c += PAIR) {
          Sum* const place = &sums[j * padded + strip + c];
          Vector<Sum> here[GROUP][2];
#pragma GCC unroll 6
          for (size_t g = 0; g < GROUP; g++)
            for (size_t v = 0; v < 2; v++) here[g][v] = load(place + g * padded + v * LANES);
          for (size_t r = 0; r < count; r++) {
            const Vector<Sum> a = load(&numbers[r * STRIP + c]), b = load(&numbers[r * STRIP + c + LANES]);
#pragma GCC unroll 6
            for (size_t g = 0; g < GROUP; g++) {
              const Vector<Sum> code = Vector<Sum>{} + codes[r * codes_row + j + g];
              here[g][0] = add_product(here[g][0], a, code);
              here[g][1] = add_product(here[g][1], b, code);
            }
          }
#pragma GCC unroll 6
          for (size_t g = 0; g < GROUP; g++)
            for (size_t v = 0; v < 2; v++) store(place + g * padded + v * LANES, here[g][v]);
        }
    }
    if ((row + CHUNK) % SUMMED == 0 || row + CHUNK >= rows) {
      for (size_t j = 0; j < k; j++)
        for (size_t c = 0; c < columns; c++) out[j * m + first + c] += int64_t(sums[j * padded + c]);
      std::fill(sums.begin(), sums.end(), Sum(0));
    }
  }
}

constexpr size_t FEW = 16;    // columns of weights that are multiplied together
constexpr size_t LENGTH = 256;  // features of a chunk, whose products have a sum of their own

// sums += the products of a chunk of ROWS rows (LENGTH numbers each) with FEW columns of weights, `wide` numbers apart.
template <size_t ROWS, class T>
INLINE void add_scores(const T* numbers, size_t length, const T* weights, size_t wide, T* sums) {
  constexpr size_t LANES = Lane<T>::count, PARTS = FEW / LANES;
  Vector<T> partial[ROWS][PARTS] = {};
  for (size_t c = 0; c < length; c++) {
#pragma GCC unroll 8
    for (size_t p = 0; p < PARTS; p++) {
      const Vector<T> weight = load(weights + c * wide + p * LANES);
#pragma GCC unroll 16
      for (size_t r = 0; r < ROWS; r++)
        partial[r][p] = multiply_add(partial[r][p], Vector<T>{} + numbers[r * LENGTH + c], weight);
    }
  }
  for (size_t r = 0; r < ROWS; r++)
    for (size_t p = 0; p < PARTS; p++) {
      T* const sum = sums + r * wide + p * LANES;
      store(sum, load(sum) + partial[r][p]);
    }
}

// Z W with k columns of weights. The products of a row are summed in one order, whatever rows come with it.
template <class Z, class T>
void scores(const Z* z, size_t rows, size_t m, const T* w, size_t k, T* out) {
  constexpr size_t TILE = 256;  // rows that take turns at a chunk of weights
  constexpr size_t TOGETHER = std::max<size_t>(1, (BYTES == 64 ? 16 : 8) * Lane<T>::count / FEW);  // sums in registers
  const size_t wide = round_up(k, FEW);
  Aligned<T> numbers(TOGETHER * LENGTH), weights(LENGTH * wide), sums(TILE * wide);
  for (size_t tile = 0; tile < rows; tile += TILE) {
    const size_t end = std::min(rows, tile + TILE);
    std::fill(sums.begin(), sums.end(), T(0));
    for (size_t start = 0; start < m; start += LENGTH) {
      const size_t length = std::min(LENGTH, m - start);
      for (size_t c = 0; c < length; c++) std::copy_n(w + (start + c) * k, k, weights.data() + c * wide);
      for (size_t row = tile; row < end;) {
        const bool many = end - row >= TOGETHER;
        const size_t count = many ? TOGETHER : 1;
        for (size_t r = 0; r < count; r++)
          for (size_t c = 0; c < length; c++) numbers[r * LENGTH + c] = T(z[(row + r) * m + start + c]);
        for (size_t column = 0; column < wide; column += FEW) {
          T* const sum = sums.data() + (row - tile) * wide + column;
          if (many)
            add_scores<TOGETHER>(numbers.data(), length, weights.data() + column, wide, sum);
          else
            add_scores<1>(numbers.data(), length, weights.data() + column, wide, sum);
        }
        row += count;
      }
    }
    for (size_t row = tile; row < end; row++) std::copy_n(sums.data() + (row - tile) * wide, k, out + row * k);
  }
}
