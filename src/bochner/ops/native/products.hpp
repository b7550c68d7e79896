// Exact products of 8-bit integers, by the multiplier of registers.hpp or that of tile_products.hpp.

constexpr int32_t EXCESS = FLIP ? 128 : 0;

INLINE size_t steps_of(size_t numbers) { return round_up(numbers, DEPTH * UNIT) / DEPTH; }

#include "project.hpp"
#include "pooled.hpp"
#include "gram.hpp"

template <class X>
constexpr ProjectionKernels<X> projection_kernels() {
  return {project<X>, project_winners<X>, pooled_thresholds<X>, pooled_maxout<X>};
}
template <class X, class T>
constexpr FeatureKernels<X, T> feature_kernels() {
  return {project_cos_sin<X, T>, project_maxout<X, T>, project_lookup<X, T>};
}
constexpr ProductKernels product_kernels() {
  return {
      projection_kernels<int8_t>(),
      projection_kernels<uint8_t>(),
      feature_kernels<int8_t, int8_t>(),
      feature_kernels<int8_t, int16_t>(),
      feature_kernels<uint8_t, int8_t>(),
      feature_kernels<uint8_t, int16_t>(),
      {NR, BLOCK, gram_words, gram_pack, gram_pack_part, gram_block, to_triangle<int32_t>, to_triangle<int64_t>,
       peak_products},
  };
}
