// The Python module: checks shapes, releases the GIL, calls a kernel of the chosen instruction set.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "binned.hpp"
#include "machine.hpp"

namespace nb = nanobind;
using namespace bochner;

namespace {

const InstructionSet* chosen = nullptr;

template <class T>
using In = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Row = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
using Part = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;  // some columns of a matrix

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

template <class X, class G>
void check_expansions(const X& x, const In<int8_t>& signs, const In<int32_t>& permutation, const G& gaussian) {
  const size_t expansions = signs.shape(0), size = signs.shape(1);
  require(x.shape(1) <= size && permutation.shape(0) == expansions && permutation.shape(1) == size &&
              gaussian.shape(0) == expansions && gaussian.shape(1) == size,
          "fastfood: the shapes of x and weights do not agree");
  for (size_t k = 0; k < permutation.size(); k++)
    require(permutation.data()[k] >= 0 && size_t(permutation.data()[k]) < size, "fastfood: not a permutation");
}

template <class X, class G, class Y>
int check_fastfood(const X& x, const In<int8_t>& signs, const In<int32_t>& permutation, const G& gaussian, const Y& out) {
  check_expansions(x, signs, permutation, gaussian);
  require(out.shape(0) == x.shape(0) && out.shape(1) == signs.size(), "fastfood: out has the wrong shape");
  return log2_exact(signs.shape(1));
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

template <class T>
void gates(In<int32_t> winners, In<T> through, size_t pool, Out<T> out) {
  const size_t rows = winners.shape(0), columns = winners.shape(1);
  require(through.shape(0) == rows && through.shape(1) == columns && out.shape(0) == rows &&
              out.shape(1) == columns * pool,
          "gates: the shapes do not agree");
  nb::gil_scoped_release free;
  std::get<Gates<T>>(chosen->kernels().gates)(winners.data(), through.data(), rows * columns, pool, out.data());
}

template <class X, class Limit, class Y>
bool stumps(In<X> x, Row<int32_t> coordinates, Row<Limit> thresholds, Y height, Out<Y> out) {
  const size_t m = coordinates.shape(0), d = x.shape(1);
  require(thresholds.shape(0) == m && out.shape(1) == m && out.shape(0) == x.shape(0), "stumps: the shapes do not agree");
  for (size_t k = 0; k < m; k++)
    require(coordinates.data()[k] >= 0 && size_t(coordinates.data()[k]) < d, "stumps: a coordinate is out of range");
  nb::gil_scoped_release free;
  const auto kernel = std::get<Stumps<X, Limit, Y>>(chosen->kernels().stumps);
  return kernel(x.data(), x.shape(0), d, coordinates.data(), thresholds.data(), m, height, out.data());
}

template <class X>
void cells(In<X> x, In<int32_t> coordinates, In<X> thresholds, Row<int32_t> flips, Out<int32_t> out) {
  const size_t trees = coordinates.shape(0), depth = coordinates.shape(1), d = x.shape(1);
  require(thresholds.shape(0) == trees && thresholds.shape(1) == depth && depth < 31 && flips.shape(0) == trees &&
              out.shape(0) == x.shape(0) && out.shape(1) == trees,
          "cells: the shapes do not agree");
  for (size_t k = 0; k < trees * depth; k++)
    require(coordinates.data()[k] >= 0 && size_t(coordinates.data()[k]) < d, "cells: a coordinate is out of range");
  nb::gil_scoped_release free;
  const auto kernel = std::get<Cells<X>>(chosen->kernels().cells);
  kernel(x.data(), x.shape(0), d, coordinates.data(), thresholds.data(), flips.data(), trees, depth, out.data());
}

template <class X>
void matches(In<X> a, In<X> b, Out<int32_t> out) {
  require(a.shape(1) == b.shape(1) && a.shape(1) < size_t(1) << 31 && out.shape(0) == a.shape(0) &&
              out.shape(1) == b.shape(0),
          "matches: the shapes do not agree");
  nb::gil_scoped_release free;
  const auto kernel = std::get<Matches<X>>(chosen->kernels().matches);
  kernel(a.data(), a.shape(0), b.data(), b.shape(0), a.shape(1), out.data());
}

template <class T>
void distances(In<T> x, In<T> z, bool squared, Out<T> out) {
  require(x.shape(1) == z.shape(1) && out.shape(0) == x.shape(0) && out.shape(1) == z.shape(0),
          "distances: the shapes do not agree");
  nb::gil_scoped_release free;
  of(T()).distances(x.data(), x.shape(0), x.shape(1), z.data(), z.shape(0), squared, out.data());
}

// ---- cosines and sines ----

size_t pairs_of(size_t columns, size_t alone) {
  require(columns >= alone && (columns - alone) % 2 == 0, "cos_sin: the number of columns is wrong");
  return (columns - alone) / 2;
}

void cos_sin(In<float> x, Row<float> phases, float height, Out<float> out) {
  const size_t alone = phases.shape(0), pairs = pairs_of(out.shape(1), alone);
  require(x.shape(0) == out.shape(0) && x.shape(1) == pairs + alone, "cos_sin: the shapes do not agree");
  nb::gil_scoped_release free;
  chosen->kernels().cos_sin.cos_sin(x.data(), x.shape(0), pairs, phases.data(), alone, height, out.data());
}

template <class Y>
int check_structured(size_t expansions, size_t size, size_t rows, size_t alone, const Y& out) {
  require(pairs_of(out.shape(1), alone) + alone <= expansions * size && out.shape(0) == rows,
          "fastfood: the shapes of x and out do not agree");
  return log2_exact(size);
}

void fastfood_cos_sin(In<float> x, In<int8_t> signs, In<int32_t> permutation, In<float> gaussian, In<float> calibration,
                      Row<float> phases, float height, Out<float> out) {
  check_expansions(x, signs, permutation, gaussian);
  require(calibration.shape(0) == signs.shape(0) && calibration.shape(1) == signs.shape(1),
          "fastfood: the calibration has the wrong shape");
  const size_t alone = phases.shape(0);
  const int log2_size = check_structured(signs.shape(0), signs.shape(1), x.shape(0), alone, out);
  nb::gil_scoped_release free;
  chosen->kernels().cos_sin.fastfood_cos_sin(x.data(), x.shape(0), x.shape(1), signs.data(), permutation.data(),
                                             gaussian.data(), calibration.data(), signs.shape(0), log2_size,
                                             pairs_of(out.shape(1), alone), phases.data(), alone, height, out.data());
}

const StructuredKernels<int8_t>& structured(int8_t) { return chosen->kernels().structured_8; }
const StructuredKernels<int16_t>& structured(int16_t) { return chosen->kernels().structured_16; }

template <class T>
void check_table(const Row<T>& table) {
  require(table.shape(0) >= 4, "the table is too short");
  log2_exact(table.shape(0));
}

template <class T>
void fastfood_cos_sin_integer(In<int32_t> x, In<int8_t> signs, In<int32_t> permutation, In<int8_t> gaussian, int shift,
                              Row<uint32_t> multipliers, Row<uint32_t> offsets, Row<T> table, Out<T> out) {
  check_expansions(x, signs, permutation, gaussian);
  check_table(table);
  const size_t alone = offsets.shape(0);
  const int log2_size = check_structured(signs.shape(0), signs.shape(1), x.shape(0), alone, out);
  require(shift >= 0 && shift < 31 && multipliers.shape(0) == signs.size(), "fastfood: the multipliers are wrong");
  nb::gil_scoped_release free;
  structured(T()).fastfood_cos_sin(x.data(), x.shape(0), x.shape(1), signs.data(), permutation.data(), gaussian.data(), shift,
                                   signs.shape(0), log2_size, multipliers.data(), pairs_of(out.shape(1), alone),
                                   offsets.data(), alone, table.data(), table.shape(0), out.data());
}

// ---- projections ----

const ProjectionKernels<int8_t>& inputs(int8_t) { return chosen->kernels().products.signed_inputs; }
const ProjectionKernels<uint8_t>& inputs(uint8_t) { return chosen->kernels().products.unsigned_inputs; }
const FeatureKernels<int8_t, int8_t>& features(int8_t, int8_t) { return chosen->kernels().products.s8_to_8; }
const FeatureKernels<int8_t, int16_t>& features(int8_t, int16_t) { return chosen->kernels().products.s8_to_16; }
const FeatureKernels<uint8_t, int8_t>& features(uint8_t, int8_t) { return chosen->kernels().products.u8_to_8; }
const FeatureKernels<uint8_t, int16_t>& features(uint8_t, int16_t) { return chosen->kernels().products.u8_to_16; }

template <class X, class W, class Y>
void check_projection(const In<X>& x, const In<W>& w, const Y& out, size_t columns) {
  require(x.shape(1) == w.shape(1) && out.shape(0) == x.shape(0) && out.shape(1) == columns,
          "project: the shapes of x, directions and out do not agree");
}

void check_shift(int shift) { require(shift >= 1 && shift < 63, "the shift must be between 1 and 62"); }

template <class X>
void project(In<X> x, In<int8_t> w, Out<int32_t> out) {
  check_projection(x, w, out, w.shape(0));
  nb::gil_scoped_release free;
  inputs(X()).project(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0), out.data());
}

template <class X>
void project_winners(In<X> x, In<int8_t> w, size_t pool, Out<int32_t> out) {
  require(pool > 0 && w.shape(0) % pool == 0, "the directions must be pools of pool_size");
  check_projection(x, w, out, w.shape(0) / pool);
  nb::gil_scoped_release free;
  inputs(X()).winners(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0), pool, out.data());
}

template <class X, class T>
void project_cos_sin(In<X> x, In<int8_t> w, Row<uint32_t> multipliers, Row<uint32_t> offsets, Row<T> table, Out<T> out) {
  const size_t m = w.shape(0), alone = offsets.shape(0);
  require(multipliers.shape(0) == m && alone <= m, "project: the multipliers or offsets have the wrong size");
  check_projection(x, w, out, 2 * m - alone);
  check_table(table);
  nb::gil_scoped_release free;
  features(X(), T()).cos_sin(x.data(), x.shape(0), x.shape(1), w.data(), m, multipliers.data(), offsets.data(), alone,
                             table.data(), table.shape(0), out.data());
}

template <class X, class T>
void project_maxout(In<X> x, In<int8_t> w, size_t pool, Row<int32_t> centre, int64_t multiplier, int shift, int64_t limit,
                    Out<T> out) {
  require(pool > 0 && w.shape(0) % pool == 0, "the directions must be pools of pool_size");
  require(centre.shape(0) == x.shape(0), "maxout: one centre is needed for each row");
  check_projection(x, w, out, w.shape(0) / pool);
  check_shift(shift);
  nb::gil_scoped_release free;
  features(X(), T()).maxout(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0), pool, centre.data(), multiplier, shift,
                            limit, out.data());
}

template <class X, class T>
void project_lookup(In<X> x, In<int8_t> w, int64_t multiplier, int shift, Row<int64_t> offsets, Row<T> table, Out<T> out) {
  require(offsets.shape(0) == w.shape(0) && table.shape(0) > 0, "lookup: offsets or table have the wrong size");
  check_projection(x, w, out, w.shape(0));
  check_shift(shift);
  nb::gil_scoped_release free;
  features(X(), T()).lookup(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0), multiplier, shift, offsets.data(),
                            table.data(), table.shape(0), out.data());
}

size_t row_of(const Part<float>& out) {
  require(out.stride(1) == 1 || out.shape(1) < 2, "the columns of out must be neighbours");
  require(out.shape(0) < 2 || out.stride(0) >= int64_t(out.shape(1)), "the rows of out must not overlap");
  return size_t(out.stride(0));
}

void dense_cos_sin(In<float> x, In<float> w, Row<float> phases, float height, Part<float> out) {
  const size_t m = w.shape(0), alone = phases.shape(0);
  require(alone <= m, "cos_sin: more phases than directions");
  const size_t row = row_of(out);
  check_projection(x, w, out, 2 * m - alone);
  nb::gil_scoped_release free;
  chosen->kernels().dense.cos_sin(x.data(), x.shape(0), x.shape(1), w.data(), m - alone, phases.data(), alone, height,
                                  out.data(), row);
}

void dense_maxout(In<float> x, In<float> w, size_t pool, Row<float> centre, float scale, Part<float> out) {
  const size_t row = row_of(out);
  require(pool > 0 && w.shape(0) % pool == 0, "the directions must be pools of pool_size");
  require(centre.shape(0) == x.shape(0), "maxout: one centre is needed for each row");
  check_projection(x, w, out, w.shape(0) / pool);
  nb::gil_scoped_release free;
  chosen->kernels().dense.maxout(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0) / pool, pool, centre.data(),
                                 scale, out.data(), row);
}

void dense_winners(In<float> x, In<float> w, size_t pool, Out<int32_t> out) {
  require(pool > 0 && w.shape(0) % pool == 0, "the directions must be pools of pool_size");
  check_projection(x, w, out, w.shape(0) / pool);
  nb::gil_scoped_release free;
  chosen->kernels().dense.winners(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0) / pool, pool, out.data());
}

// ---- pictures ----

// The numbers of patches and cells, and whether the columns of `out` are features in cells.
template <class Y>
void check_cells(const Row<int32_t>& cells, size_t rows, size_t columns, size_t grid, const Y& out) {
  const size_t patches = cells.shape(0);
  require(patches > 0 && rows % patches == 0 && out.shape(0) == rows / patches && out.shape(1) == columns * grid,
          "pooled: the shapes do not agree");
  for (size_t k = 0; k < patches; k++)
    require(cells.data()[k] >= 0 && size_t(cells.data()[k]) < grid, "pooled: a cell is out of range");
}

template <class X>
void patches(In<X> x, In<int32_t> places, In<int16_t> whitening, double factor, double contrast, double floor,
             Row<double> offset, Out<int8_t> out) {
  const size_t size = places.shape(1), pixels = x.shape(1);
  require(whitening.shape(0) == size && whitening.shape(1) == size && offset.shape(0) == size &&
              out.shape(0) == x.shape(0) * places.shape(0) && out.shape(1) == size,
          "patches: the shapes do not agree");
  for (size_t k = 0; k < places.size(); k++)
    require(places.data()[k] >= 0 && size_t(places.data()[k]) < pixels, "patches: a place is out of range");
  nb::gil_scoped_release free;
  const auto kernel = std::get<Patches<X>>(chosen->kernels().patches);
  kernel(x.data(), x.shape(0), pixels, places.data(), places.shape(0), size, whitening.data(), factor, contrast, floor,
         offset.data(), out.data());
}

template <class T, class Sum>
void pooled(In<T> features, Row<int32_t> cells, size_t grid, bool largest, Out<Sum> out) {
  const size_t rows = features.shape(0), m = features.shape(1);
  check_cells(cells, rows, m, grid, out);
  nb::gil_scoped_release free;
  const auto kernel = std::get<Pooled<T, Sum>>(chosen->kernels().pooled);
  kernel(features.data(), rows, m, cells.data(), cells.shape(0), grid, largest, out.data());
}

template <class T>
void standardize(In<int32_t> sums, bool root, Row<double> centre, Row<double> factor, double limit, Out<T> out) {
  const size_t rows = sums.shape(0), m = sums.shape(1);
  require(centre.shape(0) == m && factor.shape(0) == m && out.shape(0) == rows && out.shape(1) == m,
          "standardize: the shapes do not agree");
  nb::gil_scoped_release free;
  std::get<Standardize<T>>(chosen->kernels().standardize)(sums.data(), rows, m, root, centre.data(), factor.data(),
                                                          limit, out.data());
}

template <class X>
void pooled_threshold(In<X> x, In<int8_t> w, int shift, int32_t least, int32_t limit, Row<int32_t> cells, size_t grid,
                      bool largest, Out<int32_t> out) {
  require(x.shape(1) == w.shape(1) && shift >= 0 && shift < 31 && least >= 0 && limit >= 0,
          "threshold: the arguments do not agree");
  check_cells(cells, x.shape(0), 2 * w.shape(0), grid, out);
  nb::gil_scoped_release free;
  inputs(X()).pooled_threshold(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0), shift, least, limit,
                                    cells.data(), cells.shape(0), grid, largest, out.data());
}

template <class X>
void pooled_maxout(In<X> x, In<int8_t> w, size_t pool, Row<int32_t> centre, int64_t multiplier, int shift, int64_t limit,
                   Row<int32_t> cells, size_t grid, bool largest, Out<int32_t> out) {
  require(pool > 0 && w.shape(0) % pool == 0, "the directions must be pools of pool_size");
  require(x.shape(1) == w.shape(1) && centre.shape(0) == x.shape(0), "maxout: the shapes do not agree");
  check_cells(cells, x.shape(0), w.shape(0) / pool, grid, out);
  check_shift(shift);
  nb::gil_scoped_release free;
  inputs(X()).pooled_maxout(x.data(), x.shape(0), x.shape(1), w.data(), w.shape(0), pool, centre.data(), multiplier,
                                 shift, limit, cells.data(), cells.shape(0), grid, largest, out.data());
}

// ---- Gram ----

void pack(const GramKernels& gram, const In<int8_t>& z, int, size_t first, size_t last, int32_t* words, int32_t* sums) {
  gram.pack(z.data(), z.shape(0), z.shape(1), first, last, words, sums);
}
void pack(const GramKernels& gram, const In<int16_t>& z, int part, size_t first, size_t last, int32_t* words,
          int32_t* sums) {
  gram.pack_part(z.data(), z.shape(0), z.shape(1), part, first, last, words, sums);
}

template <class Z>
void gram_pack(In<Z> z, int part, size_t first, size_t last, nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig> words,
               nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig> sums) {
  const GramKernels& gram = chosen->kernels().products.gram;
  const size_t panels = (z.shape(1) + gram.panel - 1) / gram.panel;
  require(first <= last && last <= panels && words.shape(0) == gram.words(z.shape(0), z.shape(1)) &&
              sums.shape(0) == panels * gram.panel && z.shape(0) <= 16384,
          "gram: the buffers have the wrong size");
  nb::gil_scoped_release free;
  pack(gram, z, part, first, last, words.data(), sums.data());
}

void require_blocks(const In<int32_t>& blocks, size_t count) {
  require(blocks.shape(1) == 2, "gram: a block has two numbers");
  for (size_t k = 0; k < blocks.size(); k++)
    require(blocks.data()[k] >= 0 && size_t(blocks.data()[k]) < count, "gram: there is no such block");
}

void gram_block(Row<int32_t> words, Row<int32_t> sums, size_t rows, In<int32_t> blocks, int64_t coefficient,
                bool last, Out<int64_t> g) {
  const GramKernels& gram = chosen->kernels().products.gram;
  const size_t m = g.shape(0);
  require(g.shape(1) == m && words.shape(0) == gram.words(rows, m) &&
              sums.shape(0) == (m + gram.panel - 1) / gram.panel * gram.panel,
          "gram: the buffers have the wrong size");
  require_blocks(blocks, (m + gram.block - 1) / gram.block);
  nb::gil_scoped_release free;
  for (size_t k = 0; k < blocks.shape(0); k++)
    gram.multiply(words.data(), sums.data(), rows, m, size_t(blocks.data()[2 * k]), size_t(blocks.data()[2 * k + 1]),
                  coefficient, last, g.data());
}

void to_triangle(const GramKernels& gram, const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t i,
                 size_t j, int32_t* out) {
  gram.to_triangle(words, sums, rows, m, i, j, out);
}
void to_triangle(const GramKernels& gram, const int32_t* words, const int32_t* sums, size_t rows, size_t m, size_t i,
                 size_t j, int64_t* out) {
  gram.to_wide_triangle(words, sums, rows, m, i, j, out);
}

template <class Sum>
void gram_to_triangle(Row<int32_t> words, Row<int32_t> sums, size_t rows, size_t m, In<int32_t> blocks,
                      nb::ndarray<Sum, nb::ndim<1>, nb::c_contig, nb::device::cpu> triangle) {
  constexpr size_t LOT = 384;
  const GramKernels& gram = chosen->kernels().products.gram;
  size_t size = 0;
  for (size_t start = 0; start < m; start += LOT) size += (m - start) * std::min(LOT, m - start);
  require(words.shape(0) == gram.words(rows, m) && triangle.shape(0) == size &&
              sums.shape(0) == (m + gram.panel - 1) / gram.panel * gram.panel,
          "gram: the buffers have the wrong size");
  require_blocks(blocks, (m + gram.block - 1) / gram.block);
  nb::gil_scoped_release free;
  for (size_t k = 0; k < blocks.shape(0); k++)
    to_triangle(gram, words.data(), sums.data(), rows, m, size_t(blocks.data()[2 * k]), size_t(blocks.data()[2 * k + 1]),
                triangle.data());
}

const FloatGramKernels& float_sums(bool rounded) {
  return rounded ? chosen->kernels().rounded_gram : chosen->kernels().float_gram;
}

void float_gram_pack(In<float> z, bool rounded, size_t first, size_t last,
                     nb::ndarray<float, nb::ndim<1>, nb::c_contig> words) {
  const FloatGramKernels& gram = float_sums(rounded);
  const size_t panels = (z.shape(1) + gram.panel - 1) / gram.panel;
  require(first <= last && last <= panels && words.shape(0) == gram.words(z.shape(0), z.shape(1)),
          "gram: the buffers have the wrong size");
  nb::gil_scoped_release free;
  gram.pack(z.data(), z.shape(0), z.shape(1), first, last, words.data());
}

void float_gram_block(Row<float> words, size_t rows, bool rounded, In<int32_t> blocks, bool last, Out<double> g) {
  const FloatGramKernels& gram = float_sums(rounded);
  const size_t m = g.shape(0);
  require(g.shape(1) == m && words.shape(0) == gram.words(rows, m), "gram: the buffers have the wrong size");
  require_blocks(blocks, (m + gram.block - 1) / gram.block);
  nb::gil_scoped_release free;
  for (size_t k = 0; k < blocks.shape(0); k++)
    gram.multiply(words.data(), rows, m, size_t(blocks.data()[2 * k]), size_t(blocks.data()[2 * k + 1]), last,
                  g.data());
}

// ---- few columns ----

template <class Z>
void cross(In<Z> z, In<int8_t> y, size_t first, size_t last, Out<int64_t> out) {
  const size_t rows = z.shape(0), m = z.shape(1), k = y.shape(1);
  require(y.shape(0) == rows && out.shape(0) == k && out.shape(1) == m && first <= last && last <= m,
          "cross: the shapes do not agree");
  nb::gil_scoped_release free;
  std::get<Cross<Z>>(chosen->kernels().cross)(z.data(), rows, m, y.data(), k, first, last, out.data());
}

template <class Z, class T>
void scores(In<Z> z, In<T> w, Out<T> out) {
  const size_t rows = z.shape(0), m = z.shape(1), k = w.shape(1);
  require(w.shape(0) == m && out.shape(0) == rows && out.shape(1) == k, "scores: the shapes do not agree");
  nb::gil_scoped_release free;
  std::get<Scores<Z, T>>(chosen->kernels().scores)(z.data(), rows, m, w.data(), k, out.data());
}

// ---- number by number ----

template <class T, class Code>
void quantize(In<T> x, Row<double> centre, double step, double low, double high, Out<Code> out) {
  require(out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1) &&
              (centre.shape(0) == 1 || centre.shape(0) == x.shape(1)),
          "quantize: the shapes do not agree");
  nb::gil_scoped_release free;
  if constexpr (std::is_signed_v<Code>)
    of(T()).quantize(x.data(), x.shape(0), x.shape(1), centre.data(), centre.shape(0), step, low, high, out.data());
  else
    of(T()).quantize_unsigned(x.data(), x.shape(0), x.shape(1), centre.data(), centre.shape(0), step, low, high, out.data());
}

template <class T>
void bins(In<T> x, In<double> shift, In<double> pitch, In<uint64_t> multipliers, uint64_t columns, Out<int64_t> out) {
  const size_t grids = shift.shape(0), d = x.shape(1);
  require(shift.shape(1) == d && pitch.shape(0) == grids && pitch.shape(1) == d && multipliers.shape(0) == grids &&
              multipliers.shape(1) == d + 1 && out.shape(0) == x.shape(0) && out.shape(1) == grids,
          "bins: the shapes do not agree");
  nb::gil_scoped_release free;
  of(T()).bins(x.data(), x.shape(0), d, shift.data(), pitch.data(), multipliers.data(), grids, columns, out.data());
}

template <class T>
size_t binned_rows(In<int64_t> cells, size_t columns, T height, nb::ndarray<T, nb::ndim<1>, nb::c_contig> data,
                   nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig> indices,
                   nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig> ends) {
  require(data.size() == cells.size() && indices.size() == cells.size() && ends.size() == cells.shape(0) &&
              columns < size_t(1) << 31,
          "binned: the shapes do not agree");
  nb::gil_scoped_release free;
  bool inside = true;
  for (size_t k = 0; k < cells.size(); k++) inside &= uint64_t(cells.data()[k]) < 2 * columns;
  require(inside, "binned: a cell is out of range");
  return binned(cells.data(), cells.shape(0), cells.shape(1), columns, height, data.data(), indices.data(), ends.data());
}

void philox(Out<uint32_t> counters, uint32_t key0, uint32_t key1) {
  require(counters.shape(1) == 4, "philox: a counter has four words");
  nb::gil_scoped_release free;
  chosen->kernels().philox(counters.data(), counters.shape(0), key0, key1);
}

auto exact() { return nb::arg().noconvert(); }

template <class T>
void bind_binned(nb::module_& m) {
  m.def("binned", binned_rows<T>, exact(), nb::arg(), nb::arg(), exact(), exact(), exact());
}

template <class T>
void bind_shared(nb::module_& m) {
  m.def("fwht", fwht<T>, nb::arg().noconvert());
  m.def("maxout", maxout<T>, nb::arg().noconvert(), nb::arg(), nb::arg().noconvert());
  m.def("winners", winners<T>, nb::arg().noconvert(), nb::arg(), nb::arg().noconvert());
}

template <class Z>
void bind_few(nb::module_& m) {
  m.def("cross", cross<Z>, exact(), exact(), nb::arg(), nb::arg(), exact());
  m.def("scores", scores<Z, float>, exact(), exact(), exact());
  m.def("scores", scores<Z, double>, exact(), exact(), exact());
}

template <class X>
void bind_cells(nb::module_& m) {
  m.def("cells", cells<X>, exact(), exact(), exact(), exact(), exact());
}

template <class X>
void bind_matches(nb::module_& m) {
  m.def("matches", matches<X>, exact(), exact(), exact());
}

template <class X, class Limit, class Y>
void bind_stumps(nb::module_& m) {
  m.def("stumps", stumps<X, Limit, Y>, exact(), exact(), exact(), nb::arg(), exact());
}

template <class T>
void bind_float(nb::module_& m) {
  bind_shared<T>(m);
  m.def("fastfood", fastfood<T>, exact(), exact(), exact(), exact(), exact(), exact());
  bind_stumps<T, T, T>(m);
  bind_stumps<T, T, int8_t>(m);
  m.def("quantize", quantize<T, int8_t>, exact(), exact(), nb::arg(), nb::arg(), nb::arg(), exact());
  m.def("quantize", quantize<T, uint8_t>, exact(), exact(), nb::arg(), nb::arg(), nb::arg(), exact());
  m.def("distances", distances<T>, exact(), exact(), nb::arg(), exact());
  m.def("bins", bins<T>, exact(), exact(), exact(), exact(), nb::arg(), exact());
}

template <class X, class T>
void bind_features(nb::module_& m) {
  m.def("project_cos_sin", project_cos_sin<X, T>, exact(), exact(), exact(), exact(), exact(), exact());
  m.def("project_maxout", project_maxout<X, T>, exact(), exact(), nb::arg(), exact(), nb::arg(), nb::arg(), nb::arg(),
        exact());
  m.def("project_lookup", project_lookup<X, T>, exact(), exact(), nb::arg(), nb::arg(), exact(), exact(), exact());
}

template <class X>
void bind_projections(nb::module_& m) {
  m.def("project", project<X>, exact(), exact(), exact());
  m.def("project_winners", project_winners<X>, exact(), exact(), nb::arg(), exact());
  bind_features<X, int8_t>(m);
  bind_features<X, int16_t>(m);
}

template <class X>
void bind_patches(nb::module_& m) {
  m.def("patches", patches<X>, exact(), exact(), exact(), nb::arg(), nb::arg(), nb::arg(), exact(), exact());
  m.def("pooled_threshold", pooled_threshold<X>, exact(), exact(), nb::arg(), nb::arg(), nb::arg(), exact(), nb::arg(),
        nb::arg(), exact());
  m.def("pooled_maxout", pooled_maxout<X>, exact(), exact(), nb::arg(), exact(), nb::arg(), nb::arg(), nb::arg(),
        exact(), nb::arg(), nb::arg(), exact());
}

template <class T, class Sum>
void bind_pooled(nb::module_& m) {
  m.def("pooled", pooled<T, Sum>, exact(), exact(), nb::arg(), nb::arg(), exact());
}

template <class T>
void bind_standardize(nb::module_& m) {
  m.def("standardize", standardize<T>, exact(), nb::arg(), exact(), exact(), nb::arg(), exact());
}

template <class T>
void bind_gates(nb::module_& m) {
  m.def("gates", gates<T>, exact(), exact(), nb::arg(), exact());
}

template <class T>
void bind_structured(nb::module_& m) {
  m.def("fastfood_cos_sin_integer", fastfood_cos_sin_integer<T>, exact(), exact(), exact(), exact(), nb::arg(), exact(),
        exact(), exact(), exact());
}

template <class T, class Which>
void bind_peak(nb::module_& m, const char* name, Which which) {
  m.def(name, [which](size_t steps) {
    nb::gil_scoped_release free;
    T sink;
    return which(chosen->kernels())(steps, &sink);
  });
}

}  // namespace

NB_MODULE(_native, m) {
  chosen = &instruction_sets().front();
  bind_float<float>(m);
  bind_float<double>(m);
  bind_shared<int32_t>(m);
  bind_projections<int8_t>(m);
  bind_projections<uint8_t>(m);
  bind_structured<int8_t>(m);
  bind_structured<int16_t>(m);
  bind_stumps<uint8_t, int16_t, int8_t>(m);
  bind_stumps<int8_t, int16_t, int8_t>(m);
  bind_cells<float>(m);
  bind_cells<double>(m);
  bind_cells<int32_t>(m);
  bind_matches<uint8_t>(m);
  bind_matches<int32_t>(m);
  bind_binned<int8_t>(m);
  bind_binned<float>(m);
  bind_binned<double>(m);
  bind_patches<int8_t>(m);
  bind_patches<uint8_t>(m);
  bind_pooled<int8_t, int32_t>(m);
  bind_pooled<int16_t, int32_t>(m);
  bind_pooled<float, float>(m);
  bind_pooled<double, double>(m);
  bind_standardize<int8_t>(m);
  bind_standardize<int16_t>(m);
  bind_gates<int8_t>(m);
  bind_gates<int16_t>(m);
  bind_gates<float>(m);
  bind_gates<double>(m);
  m.def("cos_sin", cos_sin, exact(), exact(), nb::arg(), exact());
  m.def("fastfood_cos_sin", fastfood_cos_sin, exact(), exact(), exact(), exact(), exact(), exact(), nb::arg(), exact());
  m.def("dense_cos_sin", dense_cos_sin, exact(), exact(), exact(), nb::arg(), exact());
  m.def("dense_maxout", dense_maxout, exact(), exact(), nb::arg(), exact(), nb::arg(), exact());
  m.def("dense_winners", dense_winners, exact(), exact(), nb::arg(), exact());
  m.def("float_gram_sizes", [](size_t rows, size_t columns, bool rounded) {
    const FloatGramKernels& gram = float_sums(rounded);
    return std::vector<size_t>{gram.panel, gram.block, gram.words(rows, columns)};
  });
  m.def("float_gram_pack", float_gram_pack, exact(), nb::arg(), nb::arg(), nb::arg(), exact());
  m.def("float_gram_block", float_gram_block, exact(), nb::arg(), nb::arg(), exact(), nb::arg(), exact());
  m.def("gram_sizes", [](size_t rows, size_t columns) {
    const GramKernels& gram = chosen->kernels().products.gram;
    return std::vector<size_t>{gram.panel, gram.block, gram.words(rows, columns)};
  });
  m.def("gram_pack", gram_pack<int8_t>, exact(), nb::arg(), nb::arg(), nb::arg(), exact(), exact());
  m.def("gram_pack", gram_pack<int16_t>, exact(), nb::arg(), nb::arg(), nb::arg(), exact(), exact());
  m.def("gram_block", gram_block, exact(), exact(), nb::arg(), exact(), nb::arg(), nb::arg(), exact());
  m.def("gram_to_triangle", gram_to_triangle<int32_t>, exact(), exact(), nb::arg(), nb::arg(), exact(),
        nb::arg("triangle").noconvert());
  m.def("gram_to_triangle", gram_to_triangle<int64_t>, exact(), exact(), nb::arg(), nb::arg(), exact(),
        nb::arg("triangle").noconvert());
  bind_peak<float>(m, "peak_dense", [](auto& kernels) { return kernels.dense.peak; });
  bind_peak<float>(m, "peak_sums", [](auto& kernels) { return kernels.dense.peak_sums; });
  bind_peak<double>(m, "peak_divisions", [](auto& kernels) { return kernels.dense.peak_divisions; });
  bind_peak<int32_t>(m, "peak_products", [](auto& kernels) { return kernels.products.gram.peak; });
  bind_few<int8_t>(m);
  bind_few<int16_t>(m);
  m.def("philox", philox, exact(), nb::arg(), nb::arg());
  m.def("fastfood_integer", fastfood_integer, exact(), exact(), exact(), exact(), nb::arg(), exact());
  m.def("instruction_set", [] { return chosen->name; });
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const auto& set : instruction_sets()) names.push_back(set.name);
    return names;
  });
  m.def("amx_refusal", amx_refusal);
  m.def("use_instruction_set", [](const std::string& name) {
    for (const auto& set : instruction_sets())
      if (set.name == name) {
        chosen = &set;
        return;
      }
    throw std::invalid_argument("this instruction set is not available");
  });
}
