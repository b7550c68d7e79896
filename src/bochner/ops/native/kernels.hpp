// The kernels of one instruction set, as a table of function pointers. ops/reference.py says what each means.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace bochner {

template <class T>
struct FloatKernels {
  void (*fwht)(T* x, size_t rows, int log2_size);
  void (*fastfood)(const T* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation, const T* gaussian,
                   const T* calibration, size_t expansions, int log2_size, T* out);
  void (*maxout)(const T* x, size_t units, size_t pool, T* out);
  void (*winners)(const T* x, size_t units, size_t pool, int32_t* out);
  void (*quantize)(const T* x, size_t rows, size_t d, const double* centre, size_t centres, double step, double low,
                   double high, int8_t* out);
  void (*quantize_unsigned)(const T* x, size_t rows, size_t d, const double* centre, size_t centres, double step,
                            double low, double high, uint8_t* out);
  void (*bins)(const T* x, size_t rows, size_t d, const double* shift, const double* pitch, const uint64_t* multipliers,
               size_t grids, uint64_t columns, int64_t* out);
  void (*distances)(const T* x, size_t rows, size_t d, const T* z, size_t others, bool squared, T* out);
};

struct CosSinKernels {
  void (*cos_sin)(const float* x, size_t rows, size_t pairs, const float* phases, size_t alone, float height, float* out);
  void (*fastfood_cos_sin)(const float* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                           const float* gaussian, const float* calibration, size_t expansions, int log2_size, size_t pairs,
                           const float* phases, size_t alone, float height, float* out);
};

// Projections of float32 rows, with what follows while they are in cache; rows of out are out_row numbers apart.
struct DenseKernels {
  void (*cos_sin)(const float* x, size_t rows, size_t d, const float* w, size_t pairs, const float* phases, size_t alone,
                  float height, float* out, size_t out_row);
  void (*maxout)(const float* x, size_t rows, size_t d, const float* w, size_t units, size_t pool, const float* centre,
                 float scale, float* out, size_t out_row);
  void (*winners)(const float* x, size_t rows, size_t d, const float* w, size_t units, size_t pool, int32_t* out);
  double (*peak)(size_t steps, float* sink);
  double (*peak_sums)(size_t steps, float* sink);
  double (*peak_divisions)(size_t steps, double* sink);
};

struct IntegerKernels {
  void (*fwht)(int32_t* x, size_t rows, int log2_size);
  void (*fastfood)(const int32_t* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                   const int8_t* gaussian, int shift, size_t expansions, int log2_size, int32_t* out);
  void (*maxout)(const int32_t* x, size_t units, size_t pool, int32_t* out);
  void (*winners)(const int32_t* x, size_t units, size_t pool, int32_t* out);
};

// Projections of 8-bit inputs X by 8-bit directions, with what follows while they are in cache.
template <class X>
struct ProjectionKernels {
  void (*project)(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, int32_t* out);
  void (*winners)(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool, int32_t* out);
  void (*pooled_threshold)(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, int shift, int32_t least,
                           int32_t limit, const int32_t* cells, size_t patches, size_t grid, bool largest, int32_t* out);
  void (*pooled_maxout)(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool, const int32_t* centre,
                        int64_t multiplier, int shift, int64_t limit, const int32_t* cells, size_t patches, size_t grid,
                        bool largest, int32_t* out);
};

// The same with features T of 8 or 16 bits.
template <class X, class T>
struct FeatureKernels {
  void (*cos_sin)(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, const uint32_t* multipliers,
                  const uint32_t* offsets, size_t alone, const T* table, size_t size, T* out);
  void (*maxout)(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, size_t pool, const int32_t* centre,
                 int64_t multiplier, int shift, int64_t limit, T* out);
  void (*lookup)(const X* x, size_t rows, size_t d, const int8_t* w, size_t m, int64_t multiplier, int shift,
                 const int64_t* offsets, const T* table, size_t size, T* out);
};

template <class T>
struct StructuredKernels {
  void (*fastfood_cos_sin)(const int32_t* x, size_t rows, size_t d, const int8_t* signs, const int32_t* permutation,
                           const int8_t* gaussian, int shift, size_t expansions, int log2_size, const uint32_t* multipliers,
                           size_t paired, const uint32_t* offsets, size_t alone, const T* table, size_t size, T* out);
};

template <class X, class Limit, class Out>
using Stumps = bool (*)(const X* x, size_t rows, size_t d, const int32_t* coordinates, const Limit* thresholds, size_t m,
                        Out height, Out* out);

template <class X>
using Cells = void (*)(const X* x, size_t rows, size_t d, const int32_t* coordinates, const X* thresholds,
                       const int32_t* flips, size_t trees, size_t depth, int32_t* out);

template <class X>
using Matches = void (*)(const X* a, size_t rows, const X* b, size_t others, size_t columns, int32_t* out);

template <class X>
using Patches = void (*)(const X* x, size_t pictures, size_t pixels, const int32_t* places, size_t count, size_t size,
                         const int16_t* whitening, double factor, double contrast, double floor, const double* offset,
                         int8_t* out);

template <class T, class Sum>
using Pooled = void (*)(const T* features, size_t rows, size_t m, const int32_t* cells, size_t patches, size_t grid,
                        bool largest, Sum* out);

template <class T>
using Standardize = void (*)(const int32_t* sums, size_t rows, size_t m, bool root, const double* centre,
                             const double* factor, double limit, T* out);

template <class Z>
using Cross = void (*)(const Z* z, size_t rows, size_t m, const int8_t* y, size_t k, size_t first, size_t last,
                       int64_t* out);

template <class Z, class T>
using Scores = void (*)(const Z* z, size_t rows, size_t m, const T* w, size_t k, T* out);

template <class T>
using Gates = void (*)(const int32_t* winners, const T* through, size_t units, size_t pool, T* out);

struct GramKernels {
  size_t panel, block;
  size_t (*words)(size_t rows, size_t m);
  void (*pack)(const int8_t* z, size_t rows, size_t m, size_t first, size_t last, int32_t* words, int32_t* sums);
  void (*pack_part)(const int16_t* z, size_t rows, size_t m, int part, size_t first, size_t last, int32_t* words,
                    int32_t* sums);
  void (*multiply)(const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t block_i, size_t block_j,
                   int64_t coefficient, bool last, int64_t* g);
  void (*to_triangle)(const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t block_i, size_t block_j,
                      int32_t* triangle);
  void (*to_wide_triangle)(const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t block_i,
                           size_t block_j, int64_t* triangle);
  double (*peak)(size_t steps, int32_t* sink);
};

// Exact products of 8-bit numbers: what an instruction set may have without having the rest.
struct ProductKernels {
  ProjectionKernels<int8_t> signed_inputs;
  ProjectionKernels<uint8_t> unsigned_inputs;
  FeatureKernels<int8_t, int8_t> s8_to_8;
  FeatureKernels<int8_t, int16_t> s8_to_16;
  FeatureKernels<uint8_t, int8_t> u8_to_8;
  FeatureKernels<uint8_t, int16_t> u8_to_16;
  GramKernels gram;
};

// Sums of float32 numbers in float32 over few rows, then in float64. Words are theirs to define, of 32 bits.
struct FloatGramKernels {
  size_t panel, block;
  size_t (*words)(size_t rows, size_t m);
  void (*pack)(const float* z, size_t rows, size_t m, size_t first, size_t last, void* words);
  void (*multiply)(const void* words, size_t rows, size_t m, size_t block_i, size_t block_j, bool last, double* g);
};

struct Kernels {
  FloatKernels<float> f32;
  FloatKernels<double> f64;
  CosSinKernels cos_sin;
  DenseKernels dense;
  IntegerKernels i32;
  ProductKernels products;
  FloatGramKernels float_gram, rounded_gram;  // of numbers as they are; of numbers rounded to bfloat16
  StructuredKernels<int8_t> structured_8;
  StructuredKernels<int16_t> structured_16;
  std::tuple<Stumps<float, float, float>, Stumps<float, float, int8_t>, Stumps<double, double, double>,
             Stumps<double, double, int8_t>, Stumps<uint8_t, int16_t, int8_t>, Stumps<int8_t, int16_t, int8_t>>
      stumps;
  std::tuple<Cells<float>, Cells<double>, Cells<int32_t>> cells;
  std::tuple<Matches<uint8_t>, Matches<int32_t>> matches;
  std::tuple<Gates<int8_t>, Gates<int16_t>, Gates<float>, Gates<double>> gates;
  std::tuple<Patches<int8_t>, Patches<uint8_t>> patches;
  std::tuple<Pooled<int8_t, int32_t>, Pooled<int16_t, int32_t>, Pooled<float, float>, Pooled<double, double>> pooled;
  std::tuple<Standardize<int8_t>, Standardize<int16_t>> standardize;
  std::tuple<Cross<int8_t>, Cross<int16_t>> cross;
  std::tuple<Scores<int8_t, float>, Scores<int8_t, double>, Scores<int16_t, float>, Scores<int16_t, double>> scores;
  void (*philox)(uint32_t* counters, size_t count, uint32_t key0, uint32_t key1);
};

const Kernels& baseline_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& vnni_kernels();
const Kernels& bfloat16_kernels();
const Kernels& best_vnni_kernels();  // either of the two, as the processor allows
const Kernels& amx_kernels();
const Kernels& amx_emulated_kernels();

}  // namespace bochner
