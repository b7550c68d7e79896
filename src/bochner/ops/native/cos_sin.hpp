// Cosine and sine of float32, a vector at a time.
//
// x = n pi/2 + r, |r| <= pi/4, with pi/2 in three parts of few bits, so that n times a part is exact for |n| < 2^13; then
// polynomials. The error is below 3e-7 for |x| <= 8192; larger numbers, infinities and NaN go to the C library in double.
// There is no fused multiply-add, so every instruction set gives the same bits.

constexpr float FAR = 8192.0f;

struct SineCosine {
  Vector<float> sine, cosine;
};

INLINE SineCosine sine_cosine(Vector<float> x) {
  using F = Vector<float>;
  using I = Vector<int32_t>;
  const float magic = 12582912.0f;  // 1.5 2^23: adding it rounds to an integer, in the lowest bits
  const F rounded = x * 0.636619772f + magic;
  I quadrant;
  std::memcpy(&quadrant, &rounded, BYTES);
  const F n = rounded - magic;
  F r = x - n * 1.5703125f;  // 0x3fc90000
  r -= n * 4.837512969970703125e-4f;  // 0x39fda000
  r -= n * 7.54978995489188216e-8f;  // 0x33a22168, what is left of pi/2
  const F square = r * r;
  const F sine = r + r * square * (-1.6666654611e-1f + square * (8.3321608736e-3f + square * -1.9515295891e-4f));
  const F cosine =
      1.0f - 0.5f * square + square * square * (4.166664568298827e-2f + square * (-1.388731625493765e-3f + square * 2.443315711809948e-5f));
  const I odd = -(quadrant & 1);  // all ones where sine and cosine change places
  const F s = (F)(((I)sine & ~odd) | ((I)cosine & odd)), c = (F)(((I)cosine & ~odd) | ((I)sine & odd));
  const I flip_sine = (quadrant & 2) << 30, flip_cosine = ((quadrant + 1) & 2) << 30;
  return {(F)((I)s ^ flip_sine), (F)((I)c ^ flip_cosine)};
}

INLINE bool any_far(const float* x, size_t count) {
  int32_t far = 0;
  for (size_t k = 0; k < count; k++) far |= !(std::fabs(x[k]) <= FAR);
  return far;
}

// height cos x, height sin x in neighbouring places; then cosines alone.
INLINE void cos_sin_of_row(const float* x, size_t pairs, const float* phases, size_t alone, float height, float* out) {
  constexpr size_t lanes = Lane<float>::count;
  using I = Vector<int32_t>;
  I low, high;
  for (size_t k = 0; k < lanes; k++) {
    low[k] = int32_t(k / 2 + (k % 2) * lanes);
    high[k] = int32_t(k / 2 + lanes / 2 + (k % 2) * lanes);
  }
  float in[lanes], ends[2 * lanes];
  for (size_t k = 0; k < pairs; k += lanes) {
    const size_t here = pairs - k < lanes ? pairs - k : lanes;
    const float* from = x + k;
    float* to = out + 2 * k;
    if (here < lanes) {
      std::memset(in, 0, sizeof in);
      std::memcpy(in, from, here * sizeof(float));
      from = in, to = ends;
    }
    const SineCosine both = sine_cosine(load(from));
    const Vector<float> c = both.cosine * height, s = both.sine * height;
    store(to, shuffled(c, s, low));
    store(to + lanes, shuffled(c, s, high));
    if (any_far(from, here))
      for (size_t j = 0; j < here; j++)
        if (!(std::fabs(from[j]) <= FAR)) {
          to[2 * j] = float(std::cos(double(from[j]))) * height;
          to[2 * j + 1] = float(std::sin(double(from[j]))) * height;
        }
    if (here < lanes) std::memcpy(out + 2 * k, ends, 2 * here * sizeof(float));
  }
  for (size_t k = 0; k < alone; k += lanes) {
    const size_t here = alone - k < lanes ? alone - k : lanes;
    std::memset(in, 0, sizeof in);
    for (size_t j = 0; j < here; j++) in[j] = x[pairs + k + j] + phases[k + j];
    store(ends, sine_cosine(load(in)).cosine * height);
    for (size_t j = 0; j < here; j++)
      out[2 * pairs + k + j] = std::fabs(in[j]) <= FAR ? ends[j] : float(std::cos(double(in[j]))) * height;
  }
}

void cos_sin(const float* x, size_t rows, size_t pairs, const float* phases, size_t alone, float height, float* out) {
  for (size_t row = 0; row < rows; row++)
    cos_sin_of_row(x + row * (pairs + alone), pairs, phases, alone, height, out + row * (2 * pairs + alone));
}

// Cosines and sines of structured projections while a row of these is in cache; the first pairs + alone are wanted.
void fastfood_cos_sin(const float* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                      const float* gaussian, const float* calibration, size_t expansions, int log2_size, size_t pairs,
                      const float* phases, size_t alone, float height, float* out) {
  std::vector<float> projections(expansions << log2_size);
  for (size_t row = 0; row < rows; row++) {
    fastfood(x + row * d, 1, d, signs, permutation, gaussian, calibration, expansions, log2_size, projections.data());
    cos_sin_of_row(projections.data(), pairs, phases, alone, height, out + row * (2 * pairs + alone));
  }
}

template <class T>
void fastfood_cos_sin_integer(const int32_t* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                              const int8_t* gaussian, int shift, size_t expansions, int log2_size,
                              const uint32_t* multipliers, size_t paired, const uint32_t* offsets, size_t alone,
                              const T* table, size_t size, T* out) {
  const CosSin<T> cos_sin(table, size, offsets, paired, 2 * paired + alone);
  std::vector<int32_t> projections(expansions << log2_size);
  for (size_t row = 0; row < rows; row++) {
    fastfood_integer(x + row * d, 1, d, signs, permutation, gaussian, shift, expansions, log2_size, projections.data());
    cos_sin(projections.data(), multipliers, 0, paired + alone, out + row * (2 * paired + alone));
  }
}
