// Features of the patches of pictures, added up over the cells of a grid while they are in cache.

// For each run of rows that are patches of one picture in one cell: to(first row, last row, picture, cell). Patches of a
// cell that stand side by side make long runs.
template <class To>
INLINE void over_runs(size_t row, size_t rows, const int32_t* cells, size_t patches, const To& to) {
  for (size_t first = 0; first < rows;) {
    const size_t patch = (row + first) % patches, most = std::min(rows - first, patches - patch);
    size_t length = 1;
    while (length < most && cells[patch + length] == cells[patch]) length++;
    to(first, first + length, (row + first) / patches, size_t(cells[patch]));
    first += length;
  }
}

// Features f, f + 1, ... of one picture and cell meet those of the run, which are `apart` numbers apart in `out`.
template <class T>
INLINE void put(const T* values, size_t count, bool largest, T* out, size_t apart) {
  if (largest)
    for (size_t k = 0; k < count; k++) out[k * apart] = std::max(out[k * apart], values[k]);
  else
    for (size_t k = 0; k < count; k++) out[k * apart] += values[k];
}

template <class V>
INLINE V clipped(V v, int32_t limit) {
  const V zero = {}, most = zero + limit;
  v = v > zero ? v : zero;
  return v < most ? v : most;
}

// max(0, v - least) and max(0, -v - least), at most limit, with v = round(projection / 2^shift).
template <bool LARGEST, class X>
void pooled_threshold(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, int shift, int32_t least,
                      int32_t limit, const int32_t* cells, size_t patches, size_t grid, int32_t* out) {
  constexpr size_t LOT = Lane<int32_t>::count;
  const int32_t half = (int32_t(1) << shift) >> 1;
  std::fill_n(out, rows / patches * 2 * m * grid, 0);
  project_tiles(x, rows, d, w, m, 1,
                [=](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
    over_runs(row, here, cells, patches, [=](size_t top, size_t bottom, size_t picture, size_t cell) {
      int32_t* const to = out + (picture * 2 * m + 2 * first) * grid + cell;
      for (size_t k = 0; k < count; k += LOT) {
        Vector<int32_t> above = {}, below = {};
        for (size_t r = top; r < bottom; r++) {
          const Vector<int32_t> v = (load(p + r * stride + k) + half) >> shift;
          const Vector<int32_t> up = clipped(v - least, limit), down = clipped(-v - least, limit);
          above = LARGEST ? (up > above ? up : above) : above + up;
          below = LARGEST ? (down > below ? down : below) : below + down;
        }
        int32_t both[2][LOT];
        store(both[0], above);
        store(both[1], below);
        for (size_t side = 0; side < 2; side++)
          put(both[side], std::min(LOT, count - k), LARGEST, to + (2 * k + side) * grid, 2 * grid);
      }
    });
  });
}

template <class X>
void pooled_thresholds(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, int shift, int32_t least,
                       int32_t limit, const int32_t* cells, size_t patches, size_t grid, bool largest, int32_t* out) {
  const auto kernel = largest ? pooled_threshold<true, X> : pooled_threshold<false, X>;
  kernel(x, rows, d, w, m, shift, least, limit, cells, patches, grid, out);
}

// The largest of each pool of projections less the patch's centre, rescaled.
template <class X>
void pooled_maxout(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool, const int32_t* centre,
                   int64_t multiplier, int shift, int64_t limit, const int32_t* cells, size_t patches, size_t grid,
                   bool largest, int32_t* out) {
  const size_t columns = m / pool;
  std::fill_n(out, rows / patches * columns * grid, largest ? INT32_MIN : 0);
  project_tiles(x, rows, d, w, m, pool,
                [=](const int32_t* p, size_t stride, size_t row, size_t here, size_t first, size_t count) {
    const size_t units = count / pool;
    std::vector<int32_t> best(units), found(units);
    over_runs(row, here, cells, patches, [&](size_t top, size_t bottom, size_t picture, size_t cell) {
      std::fill(found.begin(), found.end(), largest ? INT32_MIN : 0);
      for (size_t r = top; r < bottom; r++) {
        maxout(p + r * stride, units, pool, best.data());
        for (size_t u = 0; u < units; u++)
          best[u] = rescaled<int32_t>(best[u] - centre[row + r], multiplier, shift, limit);
        put(best.data(), units, largest, found.data(), 1);
      }
      put(found.data(), units, largest, out + (picture * columns + first / pool) * grid + cell, grid);
    });
  });
}
