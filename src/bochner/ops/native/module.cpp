// The Python module: checks shapes, chooses the instruction set, releases the GIL, calls a kernel.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace nb = nanobind;
using namespace bochner;

namespace {

struct InstructionSet {
  std::string name;
  const Kernels& (*kernels)();
};

// Best first; only those this machine can run.
std::vector<InstructionSet> runnable() {
  std::vector<InstructionSet> sets;
#if defined(BOCHNER_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    sets.push_back({"avx512", avx512_kernels});
  if (__builtin_cpu_supports("avx2")) sets.push_back({"avx2", avx2_kernels});
#endif
  sets.push_back({"baseline", baseline_kernels});
  return sets;
}

const std::vector<InstructionSet>& sets() {
  static const std::vector<InstructionSet> found = runnable();
  return found;
}

const InstructionSet* chosen = nullptr;

template <class T>
using In = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Row = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

int log2_exact(size_t size) {
  require(size > 0 && (size & (size - 1)) == 0, "the size of a Walsh-Hadamard transform must be a power of two");
  return __builtin_ctzll(size);
}

const FloatKernels<float>& of(float) { return chosen->kernels().f32; }
const FloatKernels<double>& of(double) { return chosen->kernels().f64; }
const IntegerKernels& of(int32_t) { return chosen->kernels().i32; }

template <class T>
void fwht(Out<T> x) {
  const int log2_size = log2_exact(x.shape(1));
  nb::gil_scoped_release free;
  of(T()).fwht(x.data(), x.shape(0), log2_size);
}

template <class X, class G, class Y>
int check_fastfood(const X& x, const In<int8_t>& signs, const In<int32_t>& permutation, const G& gaussian, const Y& out) {
  const size_t expansions = signs.shape(0), size = signs.shape(1);
  require(x.shape(1) <= size && permutation.shape(0) == expansions && permutation.shape(1) == size &&
              gaussian.shape(0) == expansions && gaussian.shape(1) == size && out.shape(0) == x.shape(0) &&
              out.shape(1) == expansions * size,
          "fastfood: the shapes of x, weights and out do not agree");
  for (size_t k = 0; k < expansions * size; k++)
    require(permutation.data()[k] >= 0 && size_t(permutation.data()[k]) < size, "fastfood: not a permutation");
  return log2_exact(size);
}

template <class T>
void fastfood(In<T> x, In<int8_t> signs, In<int32_t> permutation, In<T> gaussian, In<T> calibration, Out<T> out) {
  const int log2_size = check_fastfood(x, signs, permutation, gaussian, out);
  require(calibration.shape(0) == signs.shape(0) && calibration.shape(1) == signs.shape(1),
          "fastfood: the calibration has the wrong shape");
  nb::gil_scoped_release free;
  of(T()).fastfood(x.data(), x.shape(0), x.shape(1), signs.data(), permutation.data(), gaussian.data(),
                   calibration.data(), signs.shape(0), log2_size, out.data());
}

void fastfood_integer(In<int32_t> x, In<int8_t> signs, In<int32_t> permutation, In<int8_t> gaussian, int shift,
                      Out<int32_t> out) {
  const int log2_size = check_fastfood(x, signs, permutation, gaussian, out);
  require(shift >= 0 && shift < 31, "fastfood: the shift must be between 0 and 30");
  nb::gil_scoped_release free;
  of(int32_t()).fastfood(x.data(), x.shape(0), x.shape(1), signs.data(), permutation.data(), gaussian.data(), shift,
                         signs.shape(0), log2_size, out.data());
}

template <class T, class Y>
size_t check_pool(const In<T>& x, size_t pool, const Out<Y>& out) {
  require(pool > 0 && x.shape(0) == out.shape(0) && x.shape(1) == out.shape(1) * pool,
          "the columns must be out.shape[1] pools of pool_size");
  return out.shape(0) * out.shape(1);
}

template <class T>
void maxout(In<T> x, size_t pool, Out<T> out) {
  const size_t units = check_pool(x, pool, out);
  nb::gil_scoped_release free;
  of(T()).maxout(x.data(), units, pool, out.data());
}

template <class T>
void winners(In<T> x, size_t pool, Out<int32_t> out) {
  const size_t units = check_pool(x, pool, out);
  nb::gil_scoped_release free;
  of(T()).winners(x.data(), units, pool, out.data());
}

template <class T, class Y>
void stumps(In<T> x, Row<int32_t> coordinates, Row<T> thresholds, Y height, Out<Y> out) {
  const size_t m = coordinates.shape(0), d = x.shape(1);
  require(thresholds.shape(0) == m && out.shape(1) == m && out.shape(0) == x.shape(0), "stumps: the shapes do not agree");
  for (size_t k = 0; k < m; k++)
    require(coordinates.data()[k] >= 0 && size_t(coordinates.data()[k]) < d, "stumps: a coordinate is out of range");
  nb::gil_scoped_release free;
  if constexpr (std::is_same_v<Y, int8_t>)
    of(T()).stumps_integer(x.data(), x.shape(0), d, coordinates.data(), thresholds.data(), m, height, out.data());
  else
    of(T()).stumps(x.data(), x.shape(0), d, coordinates.data(), thresholds.data(), m, height, out.data());
}

template <class T>
void bind_shared(nb::module_& m) {
  m.def("fwht", fwht<T>, nb::arg().noconvert());
  m.def("maxout", maxout<T>, nb::arg().noconvert(), nb::arg(), nb::arg().noconvert());
  m.def("winners", winners<T>, nb::arg().noconvert(), nb::arg(), nb::arg().noconvert());
}

template <class T>
void bind_float(nb::module_& m) {
  bind_shared<T>(m);
  const auto exact = [] { return nb::arg().noconvert(); };
  m.def("fastfood", fastfood<T>, exact(), exact(), exact(), exact(), exact(), exact());
  m.def("stumps", stumps<T, T>, exact(), exact(), exact(), nb::arg(), exact());
  m.def("stumps", stumps<T, int8_t>, exact(), exact(), exact(), nb::arg(), exact());
}

}  // namespace

NB_MODULE(_native, m) {
  chosen = &sets().front();
  bind_float<float>(m);
  bind_float<double>(m);
  bind_shared<int32_t>(m);
  const auto exact = [] { return nb::arg().noconvert(); };
  m.def("fastfood_integer", fastfood_integer, exact(), exact(), exact(), exact(), nb::arg(), exact());
  m.def("instruction_set", [] { return chosen->name; });
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const auto& set : sets()) names.push_back(set.name);
    return names;
  });
  m.def("use_instruction_set", [](const std::string& name) {
    for (const auto& set : sets())
      if (set.name == name) {
        chosen = &set;
        return;
      }
    throw std::invalid_argument("this instruction set is not available");
  });
}
