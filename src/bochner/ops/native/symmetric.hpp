// Where the sums of a block of a symmetric matrix go.

// The sums of a block to g, by stripes of few rows, which are still in the L1 cache when they are mirrored. What a sum
// is worth may depend on its row.
template <class Sum, class Total, class Worth>
INLINE void add_block(const Sum* c, size_t m, size_t i0, size_t i1, size_t j0, size_t j1, bool last, Total* g,
                      const Worth& worth) {
  constexpr size_t STRIPE = 8;  // columns of its mirror image: a cache line
  for (size_t i = i0; i < i1; i += STRIPE) {
    const size_t stop = std::min(i + STRIPE, i1);
    for (size_t r = i; r < stop; r++)
      for (size_t j = std::max(r, j0); j < j1; j++)
        g[r * m + j] += worth(c[(r - i0) * BLOCK + (j - j0)], r);
    if (last)
      for (size_t j = std::max(i, j0); j < j1; j++)
        for (size_t r = i; r < std::min(stop, j); r++) g[j * m + r] = g[r * m + j];
  }
}
