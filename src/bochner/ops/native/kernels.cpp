// All kernels, compiled once per instruction set: BOCHNER_INSTRUCTION_SET names the set and the namespace.
#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
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
#include "stumps.hpp"
#include "cells.hpp"
#include "narrow_products.hpp"
#include "registers.hpp"
#include "symmetric.hpp"
#include "products.hpp"
#include "elementwise.hpp"
#include "cos_sin.hpp"
#include "dense.hpp"
#include "float_gram.hpp"
#include "pictures.hpp"
#include "distances.hpp"

template <class T>
constexpr FloatKernels<T> float_kernels() {
  return {fwht<T>, fastfood<T>, maxout<T>, winners<T>, quantize<T, int8_t>, quantize<T, uint8_t>, bins<T>,
          distances<T>};
}

}  // namespace
}  // namespace BOCHNER_INSTRUCTION_SET

const Kernels& JOIN(BOCHNER_INSTRUCTION_SET, _kernels)() {
  using namespace BOCHNER_INSTRUCTION_SET;
  static const Kernels kernels = {
      float_kernels<float>(),
      float_kernels<double>(),
      {cos_sin, fastfood_cos_sin},
      {dense_cos_sin, dense_maxout, dense_winners, peak<float, 1>, peak<float, 1, true>, peak_divisions},
      {fwht<int32_t>, fastfood_integer, maxout<int32_t>, winners<int32_t>},
      product_kernels(),
      float_gram_kernels<float>(),
      float_gram_kernels<int32_t>(),
      {fastfood_cos_sin_integer<int8_t>},
      {fastfood_cos_sin_integer<int16_t>},
      {stumps<float, float, float>, stumps<float, float, int8_t>, stumps<double, double, double>,
       stumps<double, double, int8_t>, stumps<uint8_t, int16_t, int8_t>, stumps<int8_t, int16_t, int8_t>},
      {cells<float>, cells<double>, cells<int32_t>},
      {matches<uint8_t>, matches<int32_t>},
      {gates<int8_t>, gates<int16_t>, gates<float>, gates<double>},
      {patches<int8_t>, patches<uint8_t>},
      {pooled<int8_t, int32_t>, pooled<int16_t, int32_t>, pooled<float, float>, pooled<double, double>},
      {standardize<int8_t>, standardize<int16_t>},
      {cross<int8_t>, cross<int16_t>},
      {scores<int8_t, float>, scores<int8_t, double>, scores<int16_t, float>, scores<int16_t, double>},
      philox,
  };
  return kernels;
}

}  // namespace bochner
