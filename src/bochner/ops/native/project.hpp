// Projections of 8-bit integers, with an epilogue while they are in cache.

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
  Aligned<int32_t> words, bias;

  Panels(const int8_t* w, size_t m, size_t d, bool flip) : steps(steps_of(d)), count(round_up(m, NR)) {
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
void project_tiles(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool,
                   const Epilogue& epilogue) {
  if (rows == 0 || m == 0) return;
  const bool flip = FLIP != 0 && std::is_signed<X>::value;
  const Panels panels(w, m, d, flip);
  const Session session;
  const size_t steps = panels.steps, stride = row_stride(steps), whole = std::lcm(NR, pool);
  const size_t width = std::min(round_up(std::max<size_t>(192, whole), whole), panels.count);
  const size_t high = std::max(MR, std::min(HIGH, (size_t(1) << 16) / width / MR * MR));
  Aligned<int32_t> inputs(high * stride), projections(high * width);
  for (size_t row = 0; row < rows; row += high) {
    const size_t here = std::min(high, rows - row);
    std::fill(inputs.begin(), inputs.end(), 0);
    for (size_t r = 0; r < here; r++) words_of(x + (row + r) * d, d, flip, inputs.data() + r * stride, steps);
    for (size_t first = 0; first < m; first += width) {
      const size_t wide = std::min(width, panels.count - first);
      for (size_t r = 0; r < high; r++)
        std::copy_n(panels.bias.data() + first, wide, projections.data() + r * width);
      for (size_t s = 0; s < steps; s += PROJECT_CHUNK)
        for (size_t panel = 0; panel < wide; panel += NR)
          for (size_t r = 0; r < round_up(here, MR); r += MR)
            project_tile<X>(inputs.data() + r * stride + s, stride,
                            panels.words.data() + (first + panel) * steps + s * NR, std::min(PROJECT_CHUNK, steps - s),
                            projections.data() + r * width + panel, width);
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
struct CosSin {
  std::vector<T> pairs;  // cos, sin, cos, sin, ...
  const uint32_t* offsets;
  size_t paired, columns;
  int shift;

  CosSin(const T* table, size_t size, const uint32_t* offsets, size_t paired, size_t columns)
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
void project_cos_sin(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, const uint32_t* multipliers,
                     const uint32_t* offsets, size_t alone, const T* table, size_t size, T* out) {
  const size_t columns = 2 * m - alone;
  const CosSin<T> cos_sin(table, size, offsets, m - alone, columns);
  project_tiles(x, rows, d, w, m, 1,
                [&](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
                  for (size_t r = 0; r < here; r++)
                    cos_sin(p + r * stride, multipliers, first, count, out + (row + r) * columns);
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
