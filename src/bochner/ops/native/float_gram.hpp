// Symmetric Gram blocks Z'Z of float32 numbers, as they are or rounded to bfloat16: in float32 over a few rows, then in
// float64. A step is one row's numbers, or words of two rows' rounded numbers.

constexpr size_t FLOAT_CHUNKS = 8;  // of GRAM_CHUNK steps, that are added up in float32

template <class Word>
constexpr bool PAIRED = std::is_same_v<Word, int32_t>;
template <class Word>
constexpr size_t FACTORS = PAIRED<Word> ? COPIES : 1;

template <class Word>
INLINE size_t float_steps(size_t rows) {
  return PAIRED<Word> ? round_up((rows + 1) / 2, UNIT) : rows;
}
template <class Word>
size_t float_words(size_t rows, size_t m) {
  return FACTORS<Word> * float_steps<Word>(rows) * round_up(m, NR);
}

// The upper half of a float, rounded to the nearest, halves to even; NaN stays what it is.
INLINE uint32_t to_bfloat16(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  const uint32_t nearest = bits + 0x7FFFu + ((bits >> 16) & 1u);
  return (number != number ? bits | 0x400000u : nearest) >> 16;
}

INLINE void take(const float* from, const float*, size_t wide, float* to) {
  if (wide == NR)
    std::memcpy(to, from, NR * sizeof(float));  // a few instructions, since the length is known
  else
    std::memcpy(to, from, wide * sizeof(float));
}
INLINE void take(const float* low, const float* high, size_t wide, int32_t* to) {
  for (size_t c = 0; c < wide; c++) to[c] = int32_t(to_bfloat16(low[c]) | to_bfloat16(high[c]) << 16);
}

template <class Word>
void float_pack(const float* z, size_t rows, size_t m, size_t first, size_t last, void* words) {
  constexpr size_t LOT = 16, ROWS = PAIRED<Word> ? 2 : 1;  // steps that stay in cache while all panels take columns
  static_assert(LOT % UNIT == 0);
  const size_t steps = float_steps<Word>(rows);
  const float nothing[NR] = {};
  for (size_t lot = 0; lot < steps; lot += LOT)
    for (size_t panel = first; panel < last; panel++) {
      const size_t begin = panel * NR, wide = std::min(NR, m - begin);
      Word* const here = static_cast<Word*>(words) + begin * steps + lot * NR;
      Word* to = here;
      for (size_t s = lot; s < std::min(lot + LOT, steps); s++, to += NR) {
        const auto row = [&](size_t r) { return r < rows ? z + r * m + begin : nothing; };
        std::fill(to + wide, to + NR, Word(0));
        take(row(ROWS * s), row(ROWS * s + 1), wide, to);
      }
      if constexpr (FACTORS<Word> == 2) turn(here, here + round_up(m, NR) * steps);
    }
}

// g += Z'Z for the block (block_i, block_j) of columns; with `last` also its mirror image is written.
template <class Word>
void float_block(const void* words, size_t rows, size_t m, size_t block_i, size_t block_j, bool last, double* g) {
  const size_t steps = float_steps<Word>(rows);
  const Word* const right = static_cast<const Word*>(words);
  const Word* const left = right + (FACTORS<Word> - 1) * round_up(m, NR) * steps;
  const Block at(block_i, block_j, m);
  Aligned<float> c(BLOCK * BLOCK, 0.0f);
  Aligned<double> total(BLOCK * BLOCK, 0.0);
  {
    const Session session;
    size_t chunks = 0;
    for (size_t s = 0; s < steps; s += GRAM_CHUNK) {
      multiply_chunk(left, right, steps, s, at, c.data());
      if (++chunks % FLOAT_CHUNKS && s + GRAM_CHUNK < steps) continue;
      for (size_t k = 0; k < BLOCK * BLOCK; k++) total[k] += double(c[k]);
      std::fill(c.begin(), c.end(), 0.0f);
    }
  }
  add_block(total.data(), m, at, last, g, [](double sum, size_t) { return sum; });
}

template <class Word>
constexpr FloatGramKernels float_gram_kernels() {
  return {NR, BLOCK, float_words<Word>, float_pack<Word>, float_block<Word>};
}
