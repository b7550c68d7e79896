// Symmetric Gram blocks Z'Z of float32 numbers, as they are or rounded to bfloat16: in float32 over a few rows, then in
// float64. Packed as in gram.hpp: panels of NR columns, steps of one number, or of two rows' rounded numbers in a word.

constexpr size_t FLOAT_CHUNKS = 4;  // of GRAM_CHUNK steps, that are added up in float32

INLINE size_t float_steps(size_t rows, bool rounded) { return rounded ? (rows + 1) / 2 : rows; }
size_t float_words(size_t rows, size_t m, bool rounded) { return float_steps(rows, rounded) * round_up(m, NR); }

// The upper half of a float, rounded to the nearest, halves to even; NaN stays what it is.
INLINE uint32_t to_bfloat16(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  const uint32_t nearest = bits + 0x7FFFu + ((bits >> 16) & 1u);
  return (number != number ? bits | 0x400000u : nearest) >> 16;
}

void float_pack(const float* z, size_t rows, size_t m, bool rounded, size_t first, size_t last, float* words) {
  constexpr size_t LOT = 16;  // steps whose rows stay in cache while all panels take their columns
  const size_t steps = float_steps(rows, rounded);
  const float nothing[NR] = {};
  for (size_t lot = 0; lot < steps; lot += LOT)
    for (size_t panel = first; panel < last; panel++) {
      const size_t begin = panel * NR, wide = std::min(NR, m - begin);
      for (size_t s = lot; s < std::min(lot + LOT, steps); s++) {
        float* const to = words + begin * steps + s * NR;
        std::fill(to + wide, to + NR, 0.0f);
        if (!rounded) {
          std::memcpy(to, z + s * m + begin, wide * sizeof(float));
          continue;
        }
        const float* const low = z + 2 * s * m + begin;
        const float* const high = 2 * s + 1 < rows ? low + m : nothing;
        uint32_t pairs[NR];
        for (size_t c = 0; c < wide; c++) pairs[c] = to_bfloat16(low[c]) | to_bfloat16(high[c]) << 16;
        std::memcpy(to, pairs, wide * sizeof(float));
      }
    }
}

// g += Z'Z for the block (block_i, block_j) of columns; with `last` also its mirror image is written.
template <class Word>
INLINE void add_float_block(const Word* words, size_t steps, size_t m, size_t block_i, size_t block_j, bool last,
                            double* g) {
  const size_t count = round_up(m, NR), i0 = block_i * BLOCK, j0 = block_j * BLOCK;
  const size_t i1 = std::min(i0 + BLOCK, count), j1 = std::min(j0 + BLOCK, count);
  Aligned<float> c(BLOCK * BLOCK, 0.0f);
  Aligned<double> total(BLOCK * BLOCK, 0.0);
  size_t chunks = 0;
  for (size_t s = 0; s < steps; s += GRAM_CHUNK) {
    for (size_t j = j0; j < j1; j += NR)
      for (size_t i = i0; i < std::min(i1, j + NR); i += MR)  // what is below the diagonal is left out
        multiply(words + (i / NR * steps + s) * NR + i % NR, 1, NR, words + j * steps + s * NR,
                 std::min(GRAM_CHUNK, steps - s), c.data() + (i - i0) * BLOCK + (j - j0), BLOCK);
    if (++chunks % FLOAT_CHUNKS && s + GRAM_CHUNK < steps) continue;
    for (size_t k = 0; k < BLOCK * BLOCK; k++) total[k] += double(c[k]);
    std::fill(c.begin(), c.end(), 0.0f);
  }
  add_block(total.data(), m, i0, std::min(i1, m), j0, std::min(j1, m), last, g,
            [](double sum, size_t) { return sum; });
}

void float_block(const float* words, size_t rows, size_t m, bool rounded, size_t block_i, size_t block_j, bool last,
                 double* g) {
  const size_t steps = float_steps(rows, rounded);
  if (rounded)
    add_float_block(reinterpret_cast<const int32_t*>(words), steps, m, block_i, block_j, last, g);
  else
    add_float_block(words, steps, m, block_i, block_j, last, g);
}

constexpr FloatGramKernels float_gram_kernels() { return {NR, BLOCK, float_words, float_pack, float_block}; }
