// What is done number by number: inputs to codes, cells of grids, and Philox.

// round((x - centre) / step), saturated; `centre` has one number, or one per column.
template <class X, class Code>
void quantize(const X* x, size_t rows, size_t d, const double* centre, size_t centres, double step, double low, double high,
              Code* out) {
  std::vector<double> shift(d);
  for (size_t k = 0; k < d; k++) shift[k] = centre[centres == 1 ? 0 : k];
  for (size_t row = 0; row < rows; row++, x += d, out += d)
    for (size_t k = 0; k < d; k++) {
      double code = std::nearbyint((double(x[k]) - shift[k]) / step);
      code = code < low ? low : code;
      out[k] = Code(int32_t(code > high ? high : code));
    }
}

// 2 column + (1 if the sign is +) of each row in each grid. LOT grids are worked on side by side, whose numbers are put
// next to each other first.
template <class X>
void bins(const X* x, size_t rows, size_t d, const double* shift, const double* pitch, const uint64_t* multipliers,
          size_t grids, uint64_t columns, int64_t* out) {
  constexpr size_t LOT = 16;
  constexpr double most = 4611686018427387904.0;  // 2^62
  Aligned<double> shifts(d * LOT), pitches(d * LOT, 1.0);
  Aligned<uint64_t> factors((d + 1) * LOT);
  for (size_t first = 0; first < grids; first += LOT) {
    const size_t here = std::min(LOT, grids - first);
    for (size_t g = 0; g < here; g++) {
      for (size_t k = 0; k < d; k++) shifts[k * LOT + g] = shift[(first + g) * d + k];
      for (size_t k = 0; k < d; k++) pitches[k * LOT + g] = pitch[(first + g) * d + k];
      for (size_t k = 0; k <= d; k++) factors[k * LOT + g] = multipliers[(first + g) * (d + 1) + k];
    }
    for (size_t row = 0; row < rows; row++) {
      alignas(64) uint64_t code[LOT];
      std::copy(factors.begin(), factors.begin() + LOT, code);
      for (size_t k = 0; k < d; k++) {
        const double number = x[row * d + k];
        const double *s = &shifts[k * LOT], *p = &pitches[k * LOT];
        const uint64_t* a = &factors[(k + 1) * LOT];
#pragma GCC unroll 8
        for (size_t g = 0; g < LOT; g += Lane<double>::count) {
          Vector<double> cell = floors((number - load(s + g)) / load(p + g));
          cell = cell < -most ? Vector<double>{} - most : cell;
          cell = cell > most ? Vector<double>{} + most : cell;
          const auto whole = (Vector<uint64_t>)__builtin_convertvector(cell, Vector<int64_t>);
          store(code + g, load(code + g) + (whole & 0xFFFFFFFFu) * load(a + g));
        }
      }
      int64_t* to = out + row * grids + first;
      for (size_t g = 0; g < LOT; g++) {
        code[g] >>= 32;
        code[g] = 2 * (((code[g] >> 1) * columns) >> 31) + (code[g] & 1);
      }
      std::memcpy(to, code, here * sizeof(uint64_t));
    }
  }
}

// Ten rounds of Philox4x32 on counters of four words, in place.
void philox(uint32_t* counters, size_t count, uint32_t key0, uint32_t key1) {
  constexpr size_t LOT = 64;
  uint32_t w[4][LOT];
  for (size_t start = 0; start < count; start += LOT) {
    const size_t here = count - start < LOT ? count - start : LOT;
    uint32_t* c = counters + 4 * start;
    for (size_t j = 0; j < here; j++)
      for (size_t k = 0; k < 4; k++) w[k][j] = c[4 * j + k];
    uint32_t first = key0, second = key1;
    for (int round = 0; round < 10; round++, first += 0x9E3779B9u, second += 0xBB67AE85u)
      for (size_t j = 0; j < LOT; j++) {
        const uint64_t a = uint64_t(w[0][j]) * 0xD2511F53u, b = uint64_t(w[2][j]) * 0xCD9E8D57u;
        w[0][j] = uint32_t(b >> 32) ^ w[1][j] ^ first;
        w[1][j] = uint32_t(b);
        w[2][j] = uint32_t(a >> 32) ^ w[3][j] ^ second;
        w[3][j] = uint32_t(a);
      }
    for (size_t j = 0; j < here; j++)
      for (size_t k = 0; k < 4; k++) c[4 * j + k] = w[k][j];
  }
}
