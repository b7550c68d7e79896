// The kernels of vnni, with those float sums that have an instruction for pairs of bfloat16 numbers.
#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include <immintrin.h>

#include "kernels.hpp"

namespace bochner {
namespace bfloat16 {
namespace {

#include "vectors.hpp"
// In this order: each may use those before it.
#include "registers.hpp"
#include "symmetric.hpp"
#include "float_gram.hpp"

Kernels with_pairs(Kernels kernels) {
  kernels.rounded_gram = float_gram_kernels<int32_t>();
  return kernels;
}

}  // namespace
}  // namespace bfloat16

const Kernels& bfloat16_kernels() {
  static const Kernels kernels = bfloat16::with_pairs(vnni_kernels());
  return kernels;
}

}  // namespace bochner
