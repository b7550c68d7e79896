// Projections of float32 rows on float32 directions, with what follows while they are in cache.
//
// Each sum runs over the coordinates in order, a chunk at a time, by fused multiply-adds: it is the same bits whatever
// rows, threads or widths of registers there are beside it.

constexpr size_t DENSE_CHUNK = 128;  // coordinates of a panel that stay in the L1 cache

// For tiles of rows and of whole pools of directions, as project_tiles: epilogue(projections, their stride, first row,
// rows, first direction, directions).
template <class Epilogue>
void dense_tiles(const float* x, size_t rows, size_t d, const float* w, size_t m, size_t pool, const Epilogue& epilogue) {
  if (rows == 0 || m == 0) return;
  const size_t count = round_up(m, NR), whole = std::lcm(NR, pool);
  Aligned<float> panels(count * d);  // directions in panels of NR, coordinate by coordinate
  for (size_t k = 0; k < m; k++)
    for (size_t s = 0; s < d; s++) panels[k / NR * NR * d + s * NR + k % NR] = w[k * d + s];
  const size_t width = std::min(round_up(std::max<size_t>(192, whole), whole), count);
  const size_t high = std::max(MR, std::min(HIGH, (size_t(1) << 16) / width / MR * MR));
  Aligned<float> inputs(high * d), projections(high * width);
  for (size_t row = 0; row < rows; row += high) {
    const size_t here = std::min(high, rows - row);
    std::copy_n(x + row * d, here * d, inputs.data());
    for (size_t first = 0; first < m; first += width) {
      const size_t wide = std::min(width, count - first);
      std::fill(projections.begin(), projections.end(), 0.0f);
      for (size_t s = 0; s < d; s += DENSE_CHUNK)
        for (size_t panel = 0; panel < wide; panel += NR)
          for (size_t r = 0; r < round_up(here, MR); r += MR)
            multiply(inputs.data() + r * d + s, d, 1, panels.data() + (first + panel) * d + s * NR,
                     std::min(DENSE_CHUNK, d - s), projections.data() + r * width + panel, width);
      epilogue(projections.data(), width, row, here, first, std::min(wide, m - first));
    }
  }
}

void dense_cos_sin(const float* x, size_t rows, size_t d, const float* w, size_t pairs, const float* phases, size_t alone,
                   float height, float* out, size_t out_row) {
  dense_tiles(x, rows, d, w, pairs + alone, 1,
              [=](const float* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                const size_t paired = std::min(first, pairs), here_pairs = std::min(first + count, pairs) - paired;
                for (size_t r = 0; r < here; r++)
                  cos_sin_of_row(p + r * stride, here_pairs, phases + (first - paired), count - here_pairs, height,
                                 out + (row + r) * out_row + first + paired);
              });
}

void dense_maxout(const float* x, size_t rows, size_t d, const float* w, size_t units, size_t pool, const float* centre,
                  float scale, float* out, size_t out_row) {
  dense_tiles(x, rows, d, w, units * pool, pool,
              [=](const float* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                for (size_t r = 0; r < here; r++) {
                  float* to = out + (row + r) * out_row + first / pool;
                  maxout(p + r * stride, count / pool, pool, to);
                  for (size_t u = 0; u < count / pool; u++) to[u] = (to[u] - centre[row + r]) * scale;
                }
              });
}

void dense_winners(const float* x, size_t rows, size_t d, const float* w, size_t units, size_t pool, int32_t* out) {
  dense_tiles(x, rows, d, w, units * pool, pool,
              [=](const float* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                for (size_t r = 0; r < here; r++)
                  winners(p + r * stride, count / pool, pool, out + (row + r) * units + first / pool);
              });
}
