// The products by AMX tiles, real or emulated: BOCHNER_INSTRUCTION_SET names the set and the namespace, BOCHNER_OTHERS
// the set that has all other kernels.
#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <type_traits>
#include <vector>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels.hpp"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace bochner {
namespace BOCHNER_INSTRUCTION_SET {
namespace {

#include "vectors.hpp"
// In this order: each may use those before it.
#include "pools.hpp"
#include "tiles.hpp"
#include "tile_products.hpp"
#include "symmetric.hpp"
#include "products.hpp"
#include "float_gram.hpp"

Kernels with_tiles(Kernels kernels) {
  kernels.products = product_kernels();
  kernels.rounded_gram = float_gram_kernels<int32_t>();
  return kernels;
}

}  // namespace
}  // namespace BOCHNER_INSTRUCTION_SET

const Kernels& JOIN(BOCHNER_INSTRUCTION_SET, _kernels)() {
  static const Kernels kernels = BOCHNER_INSTRUCTION_SET::with_tiles(JOIN(BOCHNER_OTHERS, _kernels)());
  return kernels;
}

}  // namespace bochner
