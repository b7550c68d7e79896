// Exact products of 8-bit integers: projections with an epilogue while the tile is in cache, and symmetric Gram blocks.
//
// One step multiplies a 32-bit word of neighbouring numbers: four of 8 bits by VNNI, two of 16 bits by the older
// multiply-add, one of 32 bits where there is neither. A tile of MR x NR sums stays in registers over all steps.


using Words = Vector<int32_t>;
constexpr size_t LANES = Lane<int32_t>::count;

#if defined(__AVX512VNNI__)
using Element = int8_t;
constexpr int32_t FLIP = int32_t(0x80808080);  // one factor of VNNI is unsigned: x + 128, taken back by a sum
#elif defined(__SSE2__)
using Element = int16_t;
constexpr int32_t FLIP = 0;
#else
using Element = int32_t;
constexpr int32_t FLIP = 0;
#endif
constexpr size_t DEPTH = 4 / sizeof(Element);
constexpr int32_t EXCESS = FLIP ? 128 : 0;

constexpr size_t MR = BYTES == 64 ? 8 : 4;  // with three vectors across, all registers hold sums but a few
constexpr size_t NR = 3 * LANES;
constexpr size_t CHUNK = 128;  // steps after which a panel is taken up again: NR words each, they stay in the L1 cache

// The first factor is unsigned, the second signed, where it matters.
INLINE Words multiply_add(Words sum, Words first, Words second) {
#if defined(__AVX512VNNI__)
  return (Words)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)first, (__m512i)second);
#elif defined(__AVX512BW__)
  return sum + (Words)_mm512_madd_epi16((__m512i)first, (__m512i)second);
#elif defined(__AVX2__)
  return sum + (Words)_mm256_madd_epi16((__m256i)first, (__m256i)second);
#elif defined(__SSE2__)
  return sum + (Words)_mm_madd_epi16((__m128i)first, (__m128i)second);
#else
  return sum + first * second;
#endif
}

// c (MR x NR) += sum over steps of a (MR words) times b (NR words). FLIPPED says that b must be made unsigned.
template <bool FLIPPED>
INLINE void tile(const int32_t* a, size_t a_row, size_t a_step, const int32_t* b, size_t steps, int32_t* c, size_t ldc) {
  Words sums[MR][3] = {};
  const Words zero = {};
  for (size_t s = 0; s < steps; s++, a += a_step, b += NR) {
    Words across[3];
#pragma GCC unroll 3
    for (size_t v = 0; v < 3; v++) across[v] = FLIPPED ? load(b + v * LANES) ^ FLIP : load(b + v * LANES);
#pragma GCC unroll 8
    for (size_t r = 0; r < MR; r++) {
      const Words down = zero + a[r * a_row];
#pragma GCC unroll 3
      for (size_t v = 0; v < 3; v++)
        sums[r][v] = FLIPPED ? multiply_add(sums[r][v], across[v], down) : multiply_add(sums[r][v], down, across[v]);
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < MR; r++)
#pragma GCC unroll 3
    for (size_t v = 0; v < 3; v++) {
      int32_t* p = c + r * ldc + v * LANES;
      store(p, load(p) + sums[r][v]);
    }
}

INLINE size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// ---- projections ----------------------------------------------------------------------------------------------------

// Rows of 8-bit numbers as words; `flip` makes signed ones unsigned where the multiplier wants it.
template <class X>
INLINE void words_of(const X* x, size_t d, bool flip, int32_t* out, size_t steps) {
  Element* e = reinterpret_cast<Element*>(out);
  const Element mask = Element(flip ? 0x80 : 0);
  for (size_t k = 0; k < d; k++) e[k] = Element(Element(x[k]) ^ mask);
  for (size_t k = d; k < steps * DEPTH; k++) e[k] = Element(0);
}

// Directions in panels of NR, step by step; and what must be added to every product.
struct Panels {
  size_t steps, count;
  std::vector<int32_t> words, bias;

  Panels(const int8_t* w, size_t m, size_t d, bool flip) : steps(round_up(d, DEPTH) / DEPTH), count(round_up(m, NR)) {
    words.assign(count * steps, 0);
    bias.assign(count, 0);
    std::vector<int32_t> row(steps);
    for (size_t k = 0; k < m; k++) {
      words_of(w + k * d, d, false, row.data(), steps);
      int32_t* out = words.data() + k / NR * NR * steps + k % NR;
      for (size_t s = 0; s < steps; s++) out[s * NR] = row[s];
      if (flip) bias[k] = -EXCESS * std::accumulate(w + k * d, w + (k + 1) * d, int32_t(0));
    }
  }
};

// For tiles of rows and of whole pools of directions: epilogue(projections, their stride, first row, rows, first
// direction, directions).
template <class X, class Epilogue>
void project_tiles(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool, const Epilogue& epilogue) {
  const bool flip = FLIP != 0 && std::is_signed<X>::value;
  const Panels panels(w, m, d, flip);
  const size_t steps = panels.steps, whole = std::lcm(NR, pool);
  const size_t width = std::min(round_up(std::max<size_t>(192, whole), whole), panels.count);
  const size_t high = std::max(MR, std::min<size_t>(64, (size_t(1) << 16) / width / MR * MR));
  std::vector<int32_t> inputs(high * steps), projections(high * width);
  for (size_t row = 0; row < rows; row += high) {
    const size_t here = std::min(high, rows - row);
    std::fill(inputs.begin(), inputs.end(), 0);
    for (size_t r = 0; r < here; r++) words_of(x + (row + r) * d, d, flip, inputs.data() + r * steps, steps);
    for (size_t first = 0; first < m; first += width) {
      const size_t wide = std::min(width, panels.count - first);
      for (size_t r = 0; r < high; r++)
        std::copy_n(panels.bias.data() + first, wide, projections.data() + r * width);
      for (size_t s = 0; s < steps; s += 2 * CHUNK)
        for (size_t panel = 0; panel < wide; panel += NR)
          for (size_t r = 0; r < round_up(here, MR); r += MR)
            tile<false>(inputs.data() + r * steps + s, steps, 1, panels.words.data() + (first + panel) * steps + s * NR,
                        std::min(2 * CHUNK, steps - s), projections.data() + r * width + panel, width);
      epilogue(projections.data(), width, row, here, first, std::min(wide, m - first));
    }
  }
}

template <class X>
void project(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, int32_t* out) {
  project_tiles(x, rows, d, w, m, 1,
                [=](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                  for (size_t r = 0; r < here; r++) std::copy_n(p + r * stride, count, out + (row + r) * m + first);
                });
}

// Pairs (cosine, sine) by one look at a table; the last directions may be cosines with a phase of their own.
template <class T>
struct Waves {
  std::vector<T> pairs;  // cos, sin, cos, sin, ...
  const uint32_t* offsets;
  size_t paired, columns;
  int shift;

  Waves(const T* table, size_t size, const uint32_t* offsets, size_t paired, size_t columns)
      : pairs(2 * size), offsets(offsets), paired(paired), columns(columns), shift(32 - __builtin_ctzll(size)) {
    for (size_t k = 0; k < size; k++) {
      pairs[2 * k] = table[k];
      pairs[2 * k + 1] = table[(k + 3 * size / 4) % size];
    }
  }
  // Directions first..first+count-1 of one row, whose projections are p and multipliers are from direction 0.
  INLINE void operator()(const int32_t* p, const uint32_t* multipliers, size_t first, size_t count, T* out) const {
    const uint32_t half = uint32_t(1) << (shift - 1);
    const size_t stop = first + count, alone = std::max(first, std::min(stop, paired));
    uint32_t index[256];
    for (size_t at = first; at < alone; at += 256) {
      const size_t lot = std::min<size_t>(256, alone - at);
      for (size_t k = 0; k < lot; k++) index[k] = (uint32_t(p[at - first + k]) * multipliers[at + k] + half) >> shift;
      for (size_t k = 0; k < lot; k++) std::memcpy(out + 2 * (at + k), &pairs[2 * index[k]], 2 * sizeof(T));
    }
    for (size_t k = alone; k < stop; k++)
      out[paired + k] = pairs[2 * ((uint32_t(p[k - first]) * multipliers[k] + offsets[k - paired] + half) >> shift)];
  }
};

template <class X, class T>
void project_waves(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, const uint32_t* multipliers,
                   const uint32_t* offsets, size_t alone, const T* table, size_t size, T* out) {
  const size_t columns = 2 * m - alone;
  const Waves<T> waves(table, size, offsets, m - alone, columns);
  project_tiles(x, rows, d, w, m, 1,
                [&](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                  for (size_t r = 0; r < here; r++)
                    waves(p + r * stride, multipliers, first, count, out + (row + r) * columns);
                });
}

template <class T>
INLINE T rescaled(int32_t value, int64_t multiplier, int shift, int64_t limit) {
  const int64_t scaled = (value * multiplier + (int64_t(1) << (shift - 1))) >> shift;
  return T(std::min(std::max(scaled, -limit), limit));
}

// The largest of each pool less the row's centre, rescaled. A pool of one is a plain rescaled projection.
template <class X, class T>
void project_maxout(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool, const int32_t* centre,
                    int64_t multiplier, int shift, int64_t limit, T* out) {
  const size_t units = m / pool;
  project_tiles(x, rows, d, w, m, pool,
                [=](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                  std::vector<int32_t> best(count / pool);
                  for (size_t r = 0; r < here; r++) {
                    maxout(p + r * stride, count / pool, pool, best.data());
                    T* to = out + (row + r) * units + first / pool;
                    for (size_t u = 0; u < count / pool; u++)
                      to[u] = rescaled<T>(best[u] - centre[row + r], multiplier, shift, limit);
                  }
                });
}

template <class X>
void project_winners(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool, int32_t* out) {
  const size_t units = m / pool;
  project_tiles(x, rows, d, w, m, pool,
                [=](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                  for (size_t r = 0; r < here; r++)
                    winners(p + r * stride, count / pool, pool, out + (row + r) * units + first / pool);
                });
}

// table[round((p multiplier + offset) / 2^shift) + half its length], saturated at its ends.
template <class X, class T>
void project_lookup(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, int64_t multiplier, int shift,
                    const int64_t* offsets, const T* table, size_t size, T* out) {
  const int64_t half = int64_t(1) << (shift - 1), last = int64_t(size) - 1, middle = int64_t(size / 2);
  project_tiles(x, rows, d, w, m, 1,
                [=](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                  for (size_t r = 0; r < here; r++)
                    for (size_t k = 0; k < count; k++) {
                      const int64_t index = (p[r * stride + k] * multiplier + offsets[first + k] + half) >> shift;
                      out[(row + r) * m + first + k] = table[std::min(std::max(index + middle, int64_t(0)), last)];
                    }
                });
}

// ---- Gram -----------------------------------------------------------------------------------------------------------
// Z is packed once: panels of NR columns, steps of DEPTH rows. The same panels are both factors. Blocks of BLOCK x BLOCK
// sums stay in the L2 cache over all rows; only blocks on and above the diagonal are made.

constexpr size_t BLOCK = 192;

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
      const Pairs a = (Pairs)__builtin_shuffle(r[0], r[1], low), b = (Pairs)__builtin_shuffle(r[0], r[1], high);
      const Pairs d = (Pairs)__builtin_shuffle(r[2], r[3], low), e = (Pairs)__builtin_shuffle(r[2], r[3], high);
      const Pairs quads[4] = {__builtin_shuffle(a, d, low_pairs), __builtin_shuffle(a, d, high_pairs),
                              __builtin_shuffle(b, e, low_pairs), __builtin_shuffle(b, e, high_pairs)};
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
  const size_t steps = round_up(rows, DEPTH) / DEPTH;
  static const int8_t nothing[NR] = {};
  int8_t buffer[DEPTH][NR];
  for (size_t panel = first; panel < last; panel++) {
    const size_t begin = panel * NR, wide = std::min(NR, m - begin);
    Element* out = reinterpret_cast<Element*>(words + begin * steps);
    int32_t total[NR] = {};
    for (size_t s = 0; s < steps; s++, out += NR * DEPTH) {
      const int8_t* row[DEPTH];
      for (size_t k = 0; k < DEPTH; k++)
        row[k] = s * DEPTH + k < rows ? rows_of(s * DEPTH + k, begin, wide, buffer[k]) : nothing;
      if (wide < NR) std::fill(out, out + NR * DEPTH, Element(0));
      interleave(row, wide, out);
      if (EXCESS)
        for (size_t k = 0; k < DEPTH; k++)
          for (size_t c = 0; c < wide; c++) total[c] += row[k][c];
    }
    std::copy_n(total, NR, sums + begin);
  }
}

void gram_pack(const int8_t* z, size_t rows, size_t m, size_t first, size_t last, int32_t* words, int32_t* sums) {
  const auto rows_of = [=](size_t row, size_t column, size_t, int8_t*) { return z + row * m + column; };
  pack_panels(rows, m, first, last, rows_of, words, sums);
}

// Numbers of 14 bits are 128 h + l, both of 8 bits. Part 0 is h, part 1 is l, part 2 is h + l.
void gram_pack_part(const int16_t* z, size_t rows, size_t m, int part, size_t first, size_t last, int32_t* words,
                    int32_t* sums) {
  const auto rows_of = [=](size_t row, size_t column, size_t count, int8_t* buffer) {
    const int16_t* from = z + row * m + column;
    for (size_t c = 0; c < count; c++) {
      const int16_t low = int16_t(((from[c] + 64) & 127) - 64), high = int16_t((from[c] - low) >> 7);
      buffer[c] = int8_t(part == 0 ? high : part == 1 ? low : high + low);
    }
    return static_cast<const int8_t*>(buffer);
  };
  pack_panels(rows, m, first, last, rows_of, words, sums);
}

// g += coefficient Z'Z for the block (block_i, block_j) of columns; with `last` also its mirror image is written.
void gram_block(const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t block_i, size_t block_j,
                int64_t coefficient, bool last, int64_t* g) {
  const size_t steps = round_up(rows, DEPTH) / DEPTH, count = round_up(m, NR);
  const size_t i0 = block_i * BLOCK, j0 = block_j * BLOCK;
  const size_t i1 = std::min(i0 + BLOCK, count), j1 = std::min(j0 + BLOCK, count);
  std::vector<int32_t> c(BLOCK * BLOCK, 0);
  for (size_t s = 0; s < steps; s += CHUNK)
    for (size_t j = j0; j < j1; j += NR)
      for (size_t i = i0; i < i1; i += MR) {
        if (i >= j + NR) break;  // below the diagonal
        tile<true>(words + (i / NR * steps + s) * NR + i % NR, 1, NR, words + (j * steps + s * NR),
                   std::min(CHUNK, steps - s), c.data() + (i - i0) * BLOCK + (j - j0), BLOCK);
      }
  for (size_t i = i0; i < std::min(i1, m); i++)
    for (size_t j = std::max(i, j0); j < std::min(j1, m); j++)
      g[i * m + j] += coefficient * (int64_t(c[(i - i0) * BLOCK + (j - j0)]) - int64_t(EXCESS) * sums[i]);
  if (last)  // the mirror image, while the block is in cache
    for (size_t j = j0; j < std::min(j1, m); j++)
      for (size_t i = i0; i < std::min(std::min(i1, m), j); i++) g[j * m + i] = g[i * m + j];
}

// How many products of two numbers `steps` rounds of multiply-adds in registers do: the limit that memory does not touch.
double peak_products(size_t steps, int32_t* sink) {
  Words sums[12] = {};
#pragma GCC unroll 12
  for (size_t k = 0; k < 12; k++) KEEP(sums[k]);  // or the compiler would see that all are the same
  Words a = Words{} + 3, b = Words{} + 5;
  for (size_t s = 0; s < steps; s++) {
#pragma GCC unroll 12
    for (size_t k = 0; k < 12; k++) sums[k] = multiply_add(sums[k], a, b);
    KEEP(a);
    KEEP(b);  // or the loop would be folded
  }
  Words total = {};
#pragma GCC unroll 12
  for (size_t k = 0; k < 12; k++) total += sums[k];
  *sink = total[0];
  return double(steps) * 12 * LANES * DEPTH;
}
