// All kernels, compiled once per instruction set: BOCHNER_INSTRUCTION_SET names the set and the namespace.
#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace bochner {
namespace BOCHNER_INSTRUCTION_SET {
namespace {

#include "vectors.hpp"
// In this order: each may use those before it.
#include "fwht.hpp"
#include "fastfood.hpp"
#include "pools.hpp"
#include "products.hpp"
#include "scalars.hpp"
#include "waves.hpp"

template <class T>
constexpr FloatKernels<T> float_kernels() {
  return {fwht<T>,           fastfood<T>,          maxout<T>,            winners<T>, stumps<T, T>,
          stumps<T, int8_t>, quantize<T, int8_t>, quantize<T, uint8_t>, bins<T>};
}
template <class X>
constexpr ProjectionKernels<X> projection_kernels() {
  return {project<X>, project_winners<X>};
}
template <class X, class T>
constexpr FeatureKernels<X, T> feature_kernels() {
  return {project_waves<X, T>, project_maxout<X, T>, project_lookup<X, T>};
}

}  // namespace
}  // namespace BOCHNER_INSTRUCTION_SET

const Kernels& JOIN(BOCHNER_INSTRUCTION_SET, _kernels)() {
  using namespace BOCHNER_INSTRUCTION_SET;
  static const Kernels kernels = {
      float_kernels<float>(),
      float_kernels<double>(),
      {waves, fastfood_waves},
      {fwht<int32_t>, fastfood_integer, maxout<int32_t>, winners<int32_t>},
      projection_kernels<int8_t>(),
      projection_kernels<uint8_t>(),
      feature_kernels<int8_t, int8_t>(),
      feature_kernels<int8_t, int16_t>(),
      feature_kernels<uint8_t, int8_t>(),
      feature_kernels<uint8_t, int16_t>(),
      {fastfood_waves_integer<int8_t>},
      {fastfood_waves_integer<int16_t>},
      {NR, BLOCK, DEPTH, gram_pack, gram_pack_part, gram_block, peak_products},
      philox,
  };
  return kernels;
}

}  // namespace bochner
