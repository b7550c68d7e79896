// Pictures: their patches, whitened, as codes; features of patches, added up; columns of one spread.

INLINE Vector<double> roots(Vector<double> v) {
#if defined(__AVX512F__)
  return (Vector<double>)_mm512_sqrt_pd((__m512d)v);
#elif defined(__AVX2__)
  return (Vector<double>)_mm256_sqrt_pd((__m256d)v);
#elif defined(__SSE2__)
  return (Vector<double>)_mm_sqrt_pd((__m128d)v);
#else
  for (size_t k = 0; k < Lane<double>::count; k++) v[k] = __builtin_sqrt(v[k]);
  return v;
#endif
}

// Sums of the products of two pairs of 16-bit numbers.
INLINE Words multiply_pairs(Words sum, Words first, Words second) {
#if defined(__AVX512VNNI__)
  return (Words)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)first, (__m512i)second);
#elif defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE2__)
  return multiply_add(sum, first, second);
#else
  return sum + ((first << 16) >> 16) * ((second << 16) >> 16) + (first >> 16) * (second >> 16);
#endif
}

// The nearest integer, the even one of two, within +-limit.
INLINE double code_of(double v, double limit) {
  constexpr double even = 6755399441055744.0;  // 1.5 2^52: what is added to it loses its fraction
  v = v < -limit ? -limit : v;
  v = v > limit ? limit : v;
  return (v + even) - even;
}

// round(gain Z p - offset) as int8 of each patch p of each picture, gain = factor / sqrt(contrast v + floor).
template <class X>
void patches(const X* x, size_t pictures, size_t pixels, const int32_t* places, size_t count, size_t size,
             const int16_t* whitening, double factor, double contrast, double floor, const double* offset,
             int8_t* out) {
  constexpr size_t TOGETHER = 4;  // patches that share a look at Z
  const size_t pairs = (size + 1) / 2, wide = round_up(size, LANES);
  Aligned<int32_t> turned(pairs * wide, 0), products(TOGETHER * wide), inputs(TOGETHER * pairs);
  int16_t* const halves = reinterpret_cast<int16_t*>(turned.data());
  int16_t* const numbers = reinterpret_cast<int16_t*>(inputs.data());
  for (size_t j = 0; j < size; j++)
    for (size_t i = 0; i < size; i++) halves[(i / 2 * wide + j) * 2 + i % 2] = whitening[j * size + i];
  for (size_t picture = 0; picture < pictures; picture++, x += pixels)
    for (size_t first = 0; first < count; first += TOGETHER) {
      const size_t here = std::min(TOGETHER, count - first);
      double gain[TOGETHER] = {};
      std::fill(inputs.begin(), inputs.end(), 0);
      for (size_t r = 0; r < here; r++) {
        int64_t sum = 0, squares = 0;
        for (size_t k = 0; k < size; k++) {
          const int32_t pixel = x[places[(first + r) * size + k]];
          numbers[r * 2 * pairs + k] = int16_t(pixel);
          sum += pixel;
          squares += pixel * pixel;
        }
        const double spread = double(int64_t(size) * squares - sum * sum);
        gain[r] = factor / std::sqrt(contrast * spread + floor);
      }
      for (size_t j = 0; j < wide; j += LANES) {
        Words sums[TOGETHER] = {};
        const Words zero = {};
        for (size_t i = 0; i < pairs; i++) {
          const Words z = load(turned.data() + i * wide + j);
#pragma GCC unroll 4
          for (size_t r = 0; r < TOGETHER; r++) sums[r] = multiply_pairs(sums[r], zero + inputs[r * pairs + i], z);
        }
        for (size_t r = 0; r < TOGETHER; r++) store(products.data() + r * wide + j, sums[r]);
      }
      for (size_t r = 0; r < here; r++, out += size)
        for (size_t j = 0; j < size; j++)
          out[j] = int8_t(int32_t(code_of(products[r * wide + j] * gain[r] - offset[j], 127.0)));
    }
}

// Features of patches, added up over cells, or the largest: column grid j + c holds feature j in cell c.
template <class T, class Sum>
void pooled(const T* features, size_t rows, size_t m, const int32_t* cells, size_t patches, size_t grid, bool largest,
            Sum* out) {
  std::vector<Sum> found(m);
  std::fill_n(out, rows / patches * m * grid, largest ? std::numeric_limits<Sum>::lowest() : Sum(0));
  over_runs(0, rows, cells, patches, [&](size_t top, size_t bottom, size_t picture, size_t cell) {
    std::copy_n(features + top * m, m, found.begin());
    for (size_t r = top + 1; r < bottom; r++)
      if (largest)
        for (size_t k = 0; k < m; k++) found[k] = std::max(found[k], Sum(features[r * m + k]));
      else
        for (size_t k = 0; k < m; k++) found[k] += Sum(features[r * m + k]);
    put(found.data(), m, largest, out + picture * m * grid + cell, grid);
  });
}

// round((s - centre) factor), or with the root of s, saturated at +-limit.
template <class T>
void standardize(const int32_t* sums, size_t rows, size_t m, bool root, const double* centre, const double* factor,
                 double limit, T* out) {
  constexpr size_t LOT = 256;
  Aligned<double> values(LOT, 0.0);
  for (size_t row = 0; row < rows; row++, sums += m, out += m)
    for (size_t first = 0; first < m; first += LOT) {
      const size_t here = std::min(LOT, m - first);
      for (size_t k = 0; k < here; k++) values[k] = sums[first + k];
      if (root)
        for (size_t k = 0; k < here; k += Lane<double>::count)
          store(values.data() + k, roots(load(values.data() + k)));
      for (size_t k = 0; k < here; k++)
        out[first + k] = T(int32_t(code_of((values[k] - centre[first + k]) * factor[first + k], limit)));
    }
}
