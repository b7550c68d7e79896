// The verbs of tiles.hpp in plain code, as the architecture defines them, but that it takes denormal bfloat16 numbers for
// zero; what it would refuse ends the program here.

struct EmulatedTiles {
  TileConfiguration configuration;
  uint8_t data[8][TILE_ROWS][4 * TILE_WORDS];
};
thread_local EmulatedTiles emulated = {{0, 0, {}, {}, {}}, {}};

INLINE void fault_unless(bool allowed) {
  if (!allowed) __builtin_trap();
}

INLINE void tile_configure(const TileConfiguration& asked) {
  fault_unless(asked.palette == 1 && asked.start_row == 0);
  for (size_t t = 0; t < 16; t++)
    fault_unless(asked.rows[t] <= (t < 8 ? TILE_ROWS : 0) && asked.row_bytes[t] <= 4 * TILE_WORDS &&
                 (asked.rows[t] == 0) == (asked.row_bytes[t] == 0));
  emulated = {asked, {}};
}
INLINE void tile_release() { emulated = {{0, 0, {}, {}, {}}, {}}; }

template <int T>
INLINE void tile_load(const int32_t* from, size_t stride) {
  fault_unless(emulated.configuration.rows[T] > 0);
  std::memset(emulated.data[T], 0, sizeof emulated.data[T]);
  for (size_t r = 0; r < emulated.configuration.rows[T]; r++)
    std::memcpy(emulated.data[T][r], from + r * stride, emulated.configuration.row_bytes[T]);
}
template <int T>
INLINE void tile_store(int32_t* to, size_t stride) {
  fault_unless(emulated.configuration.rows[T] > 0);
  for (size_t r = 0; r < emulated.configuration.rows[T]; r++)
    std::memcpy(to + r * stride, emulated.data[T][r], emulated.configuration.row_bytes[T]);
}

INLINE float widened(const uint8_t* half) {
  const uint32_t bits = uint32_t(half[0]) << 16 | uint32_t(half[1]) << 24;
  float number;
  std::memcpy(&number, &bits, 4);
  return number;
}
template <class X>
INLINE auto product(const uint8_t* a, const uint8_t* b) {
  if constexpr (std::is_same_v<X, Bfloat16>)
    return widened(a) * widened(b);
  else
    return uint32_t(X(*a) * int8_t(*b));
}

template <class X, int C, int A, int B>
void tile_dot() {
  const TileConfiguration& shape = emulated.configuration;
  const size_t rows = shape.rows[C], columns = shape.row_bytes[C] / 4u, depth = shape.row_bytes[A] / 4u;
  fault_unless(C != A && C != B && A != B && rows > 0 && rows == shape.rows[A] &&
               shape.row_bytes[C] == shape.row_bytes[B] && depth == shape.rows[B]);
  using Sum = std::conditional_t<std::is_same_v<X, Bfloat16>, float, uint32_t>;  // integers wrap around
  for (size_t m = 0; m < rows; m++) {
    Sum sums[TILE_WORDS], parts[4][TILE_WORDS] = {};  // floats of even and of odd rows are added up apart
    std::memcpy(sums, emulated.data[C][m], sizeof sums);
    for (size_t k = 0; k < depth; k++)
      for (size_t n = 0; n < columns; n++)
        for (size_t i = 0; i < 4; i += sizeof(X))
          parts[i][n] += product<X>(emulated.data[A][m] + 4 * k + i, emulated.data[B][k] + 4 * n + i);
    for (size_t n = 0; n < columns; n++) sums[n] += (parts[0][n] + parts[2][n]) + (parts[1][n] + parts[3][n]);
    std::memcpy(emulated.data[C][m], sums, sizeof sums);
  }
}
