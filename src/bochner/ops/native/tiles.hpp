// The five verbs of AMX: palette 1, eight tiles of 16 rows of 64 bytes. The state is that of the thread.
//
// Written as assembly and not as intrinsics, because gcc's intrinsics do not say that a tile load reads memory, so that
// stores before it may be moved behind it. tiles_emulated.hpp has the same verbs for any machine.

constexpr size_t TILE_ROWS = 16, TILE_WORDS = 16;
enum class Bfloat16 : uint16_t {};  // the upper half of a float

struct TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

#if defined(BOCHNER_EMULATED)
#include "tiles_emulated.hpp"
#else

INLINE void tile_configure(const TileConfiguration& asked) { asm volatile("ldtilecfg %0" : : "m"(asked)); }
INLINE void tile_release() { asm volatile("tilerelease"); }

// Strides are in words of 32 bits.
template <int T>
INLINE void tile_load(const int32_t* from, size_t stride) {
  asm volatile("tileloadd (%0,%1), %%tmm%c2" : : "r"(from), "r"(4 * stride), "i"(T) : "memory");
}
template <int T>
INLINE void tile_store(int32_t* to, size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1)" : : "r"(to), "r"(4 * stride), "i"(T) : "memory");
}
// C (int32) += A B: a row of A has 64 numbers X; row k of B has rows 4k..4k+3 of the matrix, four numbers side by side.
// Of bfloat16 numbers, C is float, and there are 32 numbers and two side by side.
template <class X, int C, int A, int B>
INLINE void tile_dot() {
  if constexpr (std::is_same_v<X, Bfloat16>)
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  else if constexpr (std::is_signed<X>::value)
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  else
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
}

#endif
