// Structured projections C H G Pi H B x, in floats and in integers.

template <class T>
void sign_and_mix(const T* x, size_t d, const int8_t* signs, T* buffer, int log2_size) {
  const size_t size = size_t(1) << log2_size;
  for (size_t k = 0; k < d; k++) buffer[k] = x[k] * T(signs[k]);
  std::memset(buffer + d, 0, (size - d) * sizeof(T));
  fwht_one(buffer, log2_size);
}

template <class T>
void fastfood(const T* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation, const T* gaussian,
              const T* calibration, size_t expansions, int log2_size, T* out) {
  const size_t size = size_t(1) << log2_size;
  std::vector<T> buffer(size);
  for (size_t row = 0; row < rows; row++)
    for (size_t e = 0; e < expansions; e++) {
      const size_t at = e * size;
      T* y = out + (row * expansions + e) * size;
      sign_and_mix(x + row * d, d, signs + at, buffer.data(), log2_size);
      for (size_t k = 0; k < size; k++) y[k] = buffer[permutation[at + k]] * gaussian[at + k];
      fwht_one(y, log2_size);
      for (size_t k = 0; k < size; k++) y[k] *= calibration[at + k];
    }
}

void fastfood_integer(const int32_t* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                      const int8_t* gaussian, int shift, size_t expansions, int log2_size, int32_t* out) {
  const size_t size = size_t(1) << log2_size;
  const int32_t half = (int32_t(1) << shift) >> 1;
  std::vector<int32_t> buffer(size);
  for (size_t row = 0; row < rows; row++)
    for (size_t e = 0; e < expansions; e++) {
      const size_t at = e * size;
      int32_t* y = out + (row * expansions + e) * size;
      sign_and_mix(x + row * d, d, signs + at, buffer.data(), log2_size);
      for (size_t k = 0; k < size; k++)
        y[k] = (buffer[permutation[at + k]] * int32_t(gaussian[at + k]) + half) >> shift;
      fwht_one(y, log2_size);
    }
}
