// Symmetric Gram blocks Z'Z of 8-bit integers.
//
// Z is packed once, in steps of DEPTH rows. The same panels are both factors, or a transposed copy behind them is the
// left one.

size_t gram_words(size_t rows, size_t m) { return COPIES * steps_of(rows) * round_up(m, NR); }

// out[c DEPTH + k] = row[k][c]
INLINE void interleave(const int8_t* const* row, size_t wide, Element* out) {
  size_t c = 0;
  if constexpr (DEPTH == 4) {
    typedef int8_t Bytes __attribute__((vector_size(16)));
    typedef int16_t Pairs __attribute__((vector_size(16)));
    const Bytes low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23}, high = low + 8;
    const Pairs low_pairs = {0, 8, 1, 9, 2, 10, 3, 11}, high_pairs = low_pairs + 4;
    for (; c + 16 <= wide; c += 16) {
      Bytes r[4];
      for (size_t k = 0; k < 4; k++) std::memcpy(&r[k], row[k] + c, 16);
      const Pairs a = (Pairs)shuffled(r[0], r[1], low), b = (Pairs)shuffled(r[0], r[1], high);
      const Pairs d = (Pairs)shuffled(r[2], r[3], low), e = (Pairs)shuffled(r[2], r[3], high);
      const Pairs quads[4] = {shuffled(a, d, low_pairs), shuffled(a, d, high_pairs),
                              shuffled(b, e, low_pairs), shuffled(b, e, high_pairs)};
      std::memcpy(out + c * DEPTH, quads, 64);
    }
  }
  for (; c < wide; c++)
    for (size_t k = 0; k < DEPTH; k++) out[c * DEPTH + k] = row[k][c];
}

// Columns of panels first..last-1 as words, and their sums over the rows. rows_of(row, column, count, buffer) gives a
// pointer to `count` bytes of a row.
template <class Rows>
INLINE void pack_panels(size_t rows, size_t m, size_t first, size_t last, const Rows& rows_of, int32_t* words,
                        int32_t* sums) {
  constexpr size_t LOT = 16;  // steps whose rows stay in cache while all panels take their columns
  static_assert(LOT % UNIT == 0);
  const size_t steps = steps_of(rows), count = round_up(m, NR);
  static const int8_t nothing[NR] = {};
  int8_t buffer[DEPTH][NR];
  std::fill(sums + first * NR, sums + last * NR, 0);
  for (size_t lot = 0; lot < steps; lot += LOT)
    for (size_t panel = first; panel < last; panel++) {
      const size_t begin = panel * NR, wide = std::min(NR, m - begin);
      int32_t* const from = words + begin * steps + lot * NR;
      Element* out = reinterpret_cast<Element*>(from);
      int32_t total[NR] = {};
      for (size_t s = lot; s < std::min(lot + LOT, steps); s++, out += NR * DEPTH) {
        const int8_t* row[DEPTH];
        for (size_t k = 0; k < DEPTH; k++)
          row[k] = s * DEPTH + k < rows ? rows_of(s * DEPTH + k, begin, wide, buffer[k]) : nothing;
        if (wide < NR) std::fill(out, out + NR * DEPTH, Element(0));
        interleave(row, wide, out);
        if (EXCESS)
          for (size_t k = 0; k < DEPTH; k++)
            for (size_t c = 0; c < wide; c++) total[c] += row[k][c];
      }
      for (size_t c = 0; c < NR; c++) sums[begin + c] += total[c];
      turn(from, from + (COPIES - 1) * count * steps);
    }
}

constexpr size_t AHEAD = 128;  // columns: a lot's rows are in more pages than the processor looks ahead in by itself

void gram_pack(const int8_t* z, size_t rows, size_t m, size_t first, size_t last, int32_t* words, int32_t* sums) {
  const auto rows_of = [=](size_t row, size_t column, size_t, int8_t*) {
    __builtin_prefetch(z + row * m + column + AHEAD);
    return z + row * m + column;
  };
  pack_panels(rows, m, first, last, rows_of, words, sums);
}

// Numbers of 14 bits are 128 h + l, both of 8 bits. Part 0 is h, part 1 is l, part 2 is h + l.
void gram_pack_part(const int16_t* z, size_t rows, size_t m, int part, size_t first, size_t last, int32_t* words,
                    int32_t* sums) {
  const auto rows_of = [=](size_t row, size_t column, size_t count, int8_t* buffer) {
    const int16_t* from = z + row * m + column;
    __builtin_prefetch(from + AHEAD);
    for (size_t c = 0; c < count; c++) {
      const int16_t low = int16_t(((from[c] + 64) & 127) - 64), high = int16_t((from[c] - low) >> 7);
      buffer[c] = int8_t(part == 0 ? high : part == 1 ? low : high + low);
    }
    return static_cast<const int8_t*>(buffer);
  };
  pack_panels(rows, m, first, last, rows_of, words, sums);
}

// The sums of products for the block (block_i, block_j) of columns, on and above the diagonal.
INLINE void sum_block(const int32_t* words, size_t rows, size_t m, const Block& at, int32_t* c) {
  const size_t steps = steps_of(rows);
  const int32_t* const left = words + (COPIES - 1) * round_up(m, NR) * steps;
  const Session session;
  for (size_t s = 0; s < steps; s += GRAM_CHUNK) multiply_chunk(left, words, steps, s, at, c);
}

// The block added to one triangle, which is kept in lots of LOT columns from the diagonal on: ops/reference_sums.py.
template <class Sum>
void to_triangle(const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t block_i, size_t block_j,
                 Sum* triangle) {
  constexpr size_t LOT = 384;
  static_assert(LOT % BLOCK == 0, "a block lies in one lot");
  const Block at(block_i, block_j, m);
  Aligned<int32_t> c(BLOCK * BLOCK, 0);
  sum_block(words, rows, m, at, c.data());
  const size_t lot = at.i0 / LOT, start = lot * LOT, wide = std::min(LOT, m - start);
  Sum* const columns = triangle + LOT * (lot * m - LOT * (lot * (lot - 1) / 2)) - start * wide - start;
  for (size_t j = at.j0; j < at.j1; j++)
    for (size_t i = at.i0; i < std::min(at.i1, j + 1); i++)
      columns[j * wide + i] += Sum(int64_t(c[(i - at.i0) * BLOCK + (j - at.j0)]) - int64_t(EXCESS) * sums[i]);
}

// g += coefficient Z'Z for the block (block_i, block_j) of columns; with `last` also its mirror image is written.
void gram_block(const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t block_i, size_t block_j,
                int64_t coefficient, bool last, int64_t* g) {
  const Block at(block_i, block_j, m);
  Aligned<int32_t> c(BLOCK * BLOCK, 0);
  sum_block(words, rows, m, at, c.data());
  add_block(c.data(), m, at, last, g,
            [=](int32_t sum, size_t r) { return coefficient * (int64_t(sum) - int64_t(EXCESS) * sums[r]); });
}
