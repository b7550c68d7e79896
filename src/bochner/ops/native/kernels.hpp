// The kernels of one instruction set, as a table of function pointers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace bochner {

template <class T>
struct FloatKernels {
  void (*fwht)(T* x, size_t rows, int log2_size);
  void (*fastfood)(const T* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation, const T* gaussian,
                   const T* calibration, size_t expansions, int log2_size, T* out);
  void (*maxout)(const T* x, size_t units, size_t pool, T* out);
  void (*winners)(const T* x, size_t units, size_t pool, int32_t* out);
  void (*stumps)(const T* x, size_t rows, size_t d, const int32_t* coordinates, const T* thresholds, size_t m, T height,
                 T* out);
  void (*stumps_integer)(const T* x, size_t rows, size_t d, const int32_t* coordinates, const T* thresholds, size_t m,
                         int8_t height, int8_t* out);
};

struct IntegerKernels {
  void (*fwht)(int32_t* x, size_t rows, int log2_size);
  void (*fastfood)(const int32_t* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                   const int8_t* gaussian, int shift, size_t expansions, int log2_size, int32_t* out);
  void (*maxout)(const int32_t* x, size_t units, size_t pool, int32_t* out);
  void (*winners)(const int32_t* x, size_t units, size_t pool, int32_t* out);
};

struct Kernels {
  FloatKernels<float> f32;
  FloatKernels<double> f64;
  IntegerKernels i32;
};

const Kernels& baseline_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();

}  // namespace bochner
