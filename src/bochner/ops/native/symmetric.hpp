// Blocks of a symmetric product Z'Z: which words are multiplied, and where the sums go.
//
// Packed words are panels of NR columns, one step after the other. A block is BLOCK x BLOCK sums on or above the
// diagonal, which stay in the L2 cache over all steps.

struct Block {
  size_t i0, j0, i1, j1;  // columns i0..i1-1 times columns j0..j1-1
  Block(size_t block_i, size_t block_j, size_t m)
      : i0(block_i * BLOCK), j0(block_j * BLOCK), i1(std::min(i0 + BLOCK, m)), j1(std::min(j0 + BLOCK, m)) {}
};

// Words that a tile asks for while it multiplies, so that the tiles of a whole block together ask for the next chunk of
// both factors: the processor alone does not look that far ahead.
constexpr size_t PANEL_CHUNK = GRAM_CHUNK * NR;
constexpr size_t ask_share() {
  size_t share = 2 * GRAM_CHUNK * MR * NR / BLOCK;
  while (PANEL_CHUNK % share) share++;
  return share;
}

// c += the products of a chunk of steps, from step s on. The left factor may be packed otherwise.
template <class Word, class Sum>
INLINE void multiply_chunk(const Word* left, const Word* right, size_t steps, size_t s, const Block& at, Sum* c) {
  constexpr size_t SHARE = ask_share();
  const size_t here = std::min(GRAM_CHUNK, steps - s);
  const size_t across = (at.j1 - at.j0 + NR - 1) / NR, down = (at.i1 - at.i0 + NR - 1) / NR;  // panels
  size_t asked = 0;
  for (size_t j = at.j0; j < at.j1; j += NR)
    for (size_t i = at.i0; i < std::min(at.i1, j + NR); i += MR, asked += SHARE) {  // not what is below the diagonal
      const size_t panel = asked / PANEL_CHUNK;
      if (panel < across + down && s + GRAM_CHUNK < steps) {
        const Word* const columns =
            panel < across ? right + (at.j0 + panel * NR) * steps : left + (at.i0 + (panel - across) * NR) * steps;
        const size_t from = (s + GRAM_CHUNK) * NR + asked % PANEL_CHUNK;
        ask(columns, from, std::min(from + SHARE, steps * NR));
      }
      gram_tile(left + (i / NR * steps + s) * NR + i % NR, right + j * steps + s * NR, here, at.j1 - j,
                c + (i - at.i0) * BLOCK + (j - at.j0), BLOCK);
    }
}

// The sums of a block to g, by stripes of few rows, which are still in the L1 cache when they are mirrored. What a sum
// is worth may depend on its row.
template <class Sum, class Total, class Worth>
INLINE void add_block(const Sum* c, size_t m, const Block& at, bool last, Total* g, const Worth& worth) {
  constexpr size_t STRIPE = 8;  // columns of its mirror image: a cache line
  for (size_t i = at.i0; i < at.i1; i += STRIPE) {
    const size_t stop = std::min(i + STRIPE, at.i1);
    for (size_t r = stop; r < std::min(stop + STRIPE, at.i1); r++)  // what the next stripe reads
      for (size_t j = at.j0; j < at.j1; j += STRIPE) __builtin_prefetch(g + r * m + j, 1);
    for (size_t r = i; r < stop; r++)
      for (size_t j = std::max(r, at.j0); j < at.j1; j++)
        g[r * m + j] += worth(c[(r - at.i0) * BLOCK + (j - at.j0)], r);
    if (last)
      for (size_t j = std::max(i, at.j0); j < at.j1; j++)
        for (size_t r = i; r < std::min(stop, j); r++) g[j * m + r] = g[r * m + j];
  }
}
