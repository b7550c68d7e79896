// Products of 8-bit integers, and of pairs of bfloat16 numbers, in AMX tiles: the names of registers.hpp for blocks of
// 2 x 2 tiles of 16 x 16 sums.
//
// A panel as registers.hpp has it, P[step][NR] with four numbers in a word, is a column of right-hand tiles as it
// stands: sixteen steps are the rows of a tile. A left-hand tile is its transpose, in words.
//
// What it should cost, in cycles of Sapphire Rapids: a dot of two tiles is 16 x 16 x 64 products in 16 cycles. Sixteen
// steps are 4 dots and 4 loads of 8 cycles, 64 against 32 while all is in the L1 cache, so the multiplier is the limit.
// The chunk of a right-hand panel (16 KB) stays there. The left-hand one and the sums come from the L2 cache: 16 + 4
// KB, and 4 KB back, in the 512 cycles of their dots, or 47 bytes a cycle, which is near what it gives. A Gram block
// reads each packed number from beyond L2 once: 2 BLOCK bytes for BLOCK^2 products, or 5.3 bytes a cycle.

using Element = int8_t;
constexpr int32_t FLIP = 0;
constexpr size_t DEPTH = 4;
constexpr size_t UNIT = TILE_ROWS;

constexpr size_t MR = 2 * TILE_ROWS;  // of eight tiles four hold sums and four factors: one load for each dot
constexpr size_t NR = 2 * TILE_WORDS;
constexpr size_t GRAM_CHUNK = 128, PROJECT_CHUNK = 128;  // steps: two factors of 16 KB and 4 KB of sums, of 48 KB of L1
// Integer sums of 576 KB and chunks of both factors, 192 KB each, in 2 MB of L2. Not a power of two, or the rows of a tile of
// sums would fall into few sets of the L1 cache.
constexpr size_t BLOCK = 384;
constexpr size_t HIGH = 256;  // rows that share a look at the directions, which come from beyond L2: 4 bytes a cycle
constexpr size_t COPIES = 2;  // right-hand tiles, then left-hand tiles

// An odd number of cache lines, so that sixteen rows are in sixteen sets of the cache.
INLINE size_t row_stride(size_t steps) { return steps | TILE_WORDS; }

// Configures the tiles of this thread, and gives them back: a thread without tiles is cheaper to switch.
struct Session {
  Session() { tile_configure(TileConfiguration()); }
  ~Session() { tile_release(); }
  Session(const Session&) = delete;
};

// turned[NR][16] = transpose of words[16][NR], by halves, quarters, eighths and sixteenths of a square.
INLINE void turn(const int32_t* words, int32_t* turned) {
  typedef int32_t Line __attribute__((vector_size(64)));
  const Line place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (size_t column = 0; column < NR; column += TILE_WORDS) {
    Line rows[16];
    for (size_t r = 0; r < 16; r++) std::memcpy(&rows[r], words + r * NR + column, 64);
#pragma GCC unroll 4
    for (int32_t half = 8; half; half /= 2) {
      const Line second = (place & half) != 0;
      const Line upper = place + (second & (16 - half)), lower = place + half + (second & (16 - half));
#pragma GCC unroll 16
      for (int32_t r = 0; r < 16; r++)
        if (!(r & half)) {
          const Line a = rows[r], b = rows[r + half];
          rows[r] = shuffled(a, b, upper);
          rows[r + half] = shuffled(a, b, lower);
        }
    }
    for (size_t r = 0; r < 16; r++) std::memcpy(turned + (column + r) * TILE_WORDS, &rows[r], 64);
  }
}

// c (MR x NR) += sum over steps of a (rows of words, a_row apart; a_step from step to step) times b (NR words).
template <class X>
INLINE void multiply(const int32_t* a, size_t a_row, size_t a_step, const int32_t* b, size_t steps, int32_t* c,
                     size_t ldc) {
  int32_t* const below = c + TILE_ROWS * ldc;
  tile_load<0>(c, ldc);
  tile_load<1>(c + TILE_WORDS, ldc);
  tile_load<2>(below, ldc);
  tile_load<3>(below + TILE_WORDS, ldc);
  for (size_t s = 0; s < steps; s += UNIT, a += UNIT * a_step, b += UNIT * NR) {
    tile_load<4>(a, a_row);
    tile_load<6>(b, NR);
    tile_dot<X, 0, 4, 6>();
    tile_load<7>(b + TILE_WORDS, NR);
    tile_dot<X, 1, 4, 7>();
    tile_load<5>(a + TILE_ROWS * a_row, a_row);
    tile_dot<X, 2, 5, 6>();
    tile_dot<X, 3, 5, 7>();
  }
  tile_store<0>(c, ldc);
  tile_store<1>(c + TILE_WORDS, ldc);
  tile_store<2>(below, ldc);
  tile_store<3>(below + TILE_WORDS, ldc);
}

template <class X>
INLINE void project_tile(const int32_t* a, size_t a_row, const int32_t* b, size_t steps, int32_t* c, size_t ldc) {
  multiply<X>(a, a_row, 1, b, steps, c, ldc);
}
INLINE void gram_tile(const int32_t* a, const int32_t* b, size_t steps, size_t, int32_t* c, size_t ldc) {
  multiply<int8_t>(a, TILE_WORDS, NR, b, steps, c, ldc);
}
INLINE void gram_tile(const int32_t* a, const int32_t* b, size_t steps, size_t, float* c, size_t ldc) {
  multiply<Bfloat16>(a, TILE_WORDS, NR, b, steps, reinterpret_cast<int32_t*>(c), ldc);
}

// How many products of two numbers about `steps` cycles of dots do, where memory is not touched.
double peak_products(size_t steps, int32_t* sink) {
  const Session session;
  const size_t rounds = steps / 64 + 1;
  for (size_t s = 0; s < rounds; s++) {
    tile_dot<int8_t, 0, 4, 6>();
    tile_dot<int8_t, 1, 4, 7>();
    tile_dot<int8_t, 2, 5, 6>();
    tile_dot<int8_t, 3, 5, 7>();
  }
  int32_t sums[TILE_ROWS * TILE_WORDS];
  tile_store<0>(sums, TILE_WORDS);
  *sink = sums[0];
  return double(rounds) * 4 * TILE_ROWS * TILE_WORDS * 4 * TILE_WORDS;
}
