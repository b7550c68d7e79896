// Products in vector registers: blocks of MR x NR sums, which stay there over all steps.
//
// Of floats, one step multiplies one number. Of 8-bit integers, one step multiplies a 32-bit word of neighbouring numbers:
// four of 8 bits by VNNI, two of 16 bits by the older multiply-add, one of 32 bits where there is neither; a word may be
// two bfloat16 numbers too. tile_products.hpp has the same names for tile registers.

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
constexpr size_t UNIT = 1;  // steps that are done at once

constexpr size_t MR = BYTES == 64 ? 8 : 4;  // with three vectors across, all registers hold sums but a few
constexpr size_t NR = 3 * LANES;
// Steps after which a panel is taken up again: NR words each, they stay in the L1 cache, or just beyond.
constexpr size_t GRAM_CHUNK = 128, PROJECT_CHUNK = 256;
constexpr size_t BLOCK = 192;  // sums of a Gram block stay in the L2 cache
constexpr size_t HIGH = 64;    // rows that are projected at once
constexpr size_t COPIES = 1;   // the same packed words are both factors of a Gram matrix

INLINE size_t row_stride(size_t steps) { return steps; }
INLINE void turn(const int32_t*, int32_t*) {}
struct Session {
  Session() {}  // nothing to set up in a thread
};

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

// Sum of the products of two pairs of bfloat16 numbers, in one instruction where there is one.
INLINE Vector<float> multiply_add(Vector<float> sum, Words first, Words second) {
#if defined(__AVX512BF16__)
  return (Vector<float>)_mm512_dpbf16_ps((__m512)sum, (__m512bh)first, (__m512bh)second);
#else
  constexpr int32_t UPPER = int32_t(0xFFFF0000);
  sum = multiply_add(sum, (Vector<float>)(first << 16), (Vector<float>)(second << 16));
  return multiply_add(sum, (Vector<float>)(first & UPPER), (Vector<float>)(second & UPPER));
#endif
}

// c (MR x NR) += sum over steps of a (MR words) times b (NR words), of which the first ACROSS vectors are wanted. FLIPPED
// says that b must be made unsigned.
template <bool FLIPPED = false, size_t ACROSS = 3, class Word, class Sum>
INLINE void multiply(const Word* a, size_t a_row, size_t a_step, const Word* b, size_t steps, Sum* c, size_t ldc) {
  Vector<Sum> sums[MR][ACROSS] = {};
  const Vector<Word> zero = {};
  for (size_t s = 0; s < steps; s++, a += a_step, b += NR) {
    Vector<Word> across[ACROSS];
#pragma GCC unroll 3
    for (size_t v = 0; v < ACROSS; v++) {
      across[v] = load(b + v * LANES);
      if constexpr (FLIPPED) across[v] ^= FLIP;
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < MR; r++) {
      const Vector<Word> down = a[r * a_row] - zero;  // 0 + a would be an addition: it changes the sign of a float -0
#pragma GCC unroll 3
      for (size_t v = 0; v < ACROSS; v++)
        sums[r][v] = FLIPPED ? multiply_add(sums[r][v], across[v], down) : multiply_add(sums[r][v], down, across[v]);
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < MR; r++)
#pragma GCC unroll 3
    for (size_t v = 0; v < ACROSS; v++) {
      Sum* p = c + r * ldc + v * LANES;
      store(p, load(p) + sums[r][v]);
    }
}

template <class X>
INLINE void project_tile(const int32_t* a, size_t a_row, const int32_t* b, size_t steps, int32_t* c, size_t ldc) {
  multiply(a, a_row, 1, b, steps, c, ldc);
}
template <class Word, class Sum>
INLINE void gram_tile(const Word* a, const Word* b, size_t steps, size_t columns, Sum* c, size_t ldc) {
  constexpr bool FLIPPED = std::is_same_v<Sum, int32_t>;
  if (columns > 2 * LANES)
    multiply<FLIPPED, 3>(a, 1, NR, b, steps, c, ldc);
  else if (columns > LANES)
    multiply<FLIPPED, 2>(a, 1, NR, b, steps, c, ldc);
  else
    multiply<FLIPPED, 1>(a, 1, NR, b, steps, c, ldc);
}

// How many products of two numbers `steps` rounds of multiply-adds in registers do: the limit that memory does not touch.
// With SUMS, how many additions, of which every other one is plain: a processor may have other units for those.
template <class T, size_t DEEP, bool SUMS = false>
double peak(size_t steps, T* sink) {
  Vector<T> sums[12] = {};
#pragma GCC unroll 12
  for (size_t k = 0; k < 12; k++) KEEP(sums[k]);  // or the compiler would see that all are the same
  Vector<T> a = Vector<T>{} + T(3), b = Vector<T>{} + T(5);
  for (size_t s = 0; s < steps; s++) {
#pragma GCC unroll 12
    for (size_t k = 0; k < 12; k++) sums[k] = SUMS && k % 2 ? sums[k] + a : multiply_add(sums[k], a, b);
    KEEP(a);
    KEEP(b);  // or the loop would be folded
  }
  Vector<T> total = {};
#pragma GCC unroll 12
  for (size_t k = 0; k < 12; k++) total += sums[k];
  *sink = total[0];
  return double(steps) * 12 * LANES * DEEP;
}
// How many float64 divisions they do.
[[maybe_unused]] double peak_divisions(size_t steps, double* sink) {
  Vector<double> quotients[8];
  for (size_t s = 0; s < steps; s++)
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; k++) {
      Vector<double> a = Vector<double>{} + 3.0, b = Vector<double>{} + 5.0;
      KEEP(a);
      quotients[k] = a / b;
      KEEP(quotients[k]);
    }
  *sink = quotients[0][0];
  return double(steps) * 8 * Lane<double>::count;
}
[[maybe_unused]] double peak_products(size_t steps, int32_t* sink) { return peak<int32_t, DEPTH>(steps, sink); }
