// Cells of random trees: the bits of `depth` comparisons of a row, side by side, in which the bits of `flips` are turned.
// LOT trees are worked on together, comparison by comparison: their numbers are put next to each other first, so that
// neither loop has a branch to guess.
template <class X>
void cells(const X* x, size_t rows, size_t d, const int32_t* coordinates, const X* thresholds, const int32_t* flips,
           size_t trees, size_t depth, int32_t* out) {
  constexpr size_t LOT = 256;
  std::vector<int32_t> from(depth * LOT);
  Aligned<X> limits(depth * LOT);
  alignas(64) X taken[LOT];
  alignas(64) int32_t cell[LOT];
  for (size_t first = 0; first < trees; first += LOT) {
    const size_t here = std::min(LOT, trees - first);
    for (size_t t = 0; t < here; t++)
      for (size_t j = 0; j < depth; j++) {
        from[j * LOT + t] = coordinates[(first + t) * depth + j];
        limits[j * LOT + t] = thresholds[(first + t) * depth + j];
      }
    for (size_t row = 0; row < rows; row++) {
      const X* numbers = x + row * d;
      std::copy(flips + first, flips + first + here, cell);
      for (size_t j = 0; j < depth; j++) {
        const int32_t *places = &from[j * LOT], bit = int32_t(1) << j;
        const X* limit = &limits[j * LOT];
        for (size_t t = 0; t < here; t++) taken[t] = numbers[places[t]];
        for (size_t t = 0; t < here; t++) cell[t] ^= taken[t] > limit[t] ? bit : 0;
      }
      std::copy(cell, cell + here, out + row * trees + first);
    }
  }
}

// How many numbers of two rows are equal.
template <class X>
INLINE int32_t equals(const X* a, const X* b, size_t columns) {
  int32_t found = 0;
  for (size_t k = 0; k < columns; k++) found += a[k] == b[k];
  return found;
}
#if defined(__AVX2__)
INLINE int32_t equals(const uint8_t* a, const uint8_t* b, size_t columns) {
  int32_t found = 0;
  size_t k = 0;
#if defined(__AVX512BW__)
  for (; k + 64 <= columns; k += 64)
    found += __builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(a + k), _mm512_loadu_si512(b + k)));
#endif
  for (; k + 32 <= columns; k += 32) {
    const __m256i left = _mm256_loadu_si256((const __m256i*)(a + k)), right = _mm256_loadu_si256((const __m256i*)(b + k));
    found += __builtin_popcount(uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(left, right))));
  }
  for (; k < columns; k++) found += a[k] == b[k];
  return found;
}
#endif

// The same for each row of one matrix with each of another, of which as many as a cache holds are met at a time.
template <class X>
void matches(const X* a, size_t rows, const X* b, size_t others, size_t columns, int32_t* out) {
  constexpr size_t CACHE = 1 << 17;
  const size_t lot = std::max<size_t>(1, CACHE / std::max<size_t>(1, columns * sizeof(X)));
  for (size_t first = 0; first < others; first += lot)
    for (size_t row = 0; row < rows; row++)
      for (size_t other = first; other < std::min(first + lot, others); other++)
        out[row * others + other] = equals(a + row * columns, b + other * columns, columns);
}
