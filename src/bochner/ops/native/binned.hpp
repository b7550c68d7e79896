// Rows of a sparse matrix from their cells, 2 column + (1 if the sign is +): the signs in a column add up, columns ascend.
// There is nothing here for vectors, so it is compiled once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace bochner {

template <class T>
T worth(int32_t sum, T height) {
  return T(std::is_integral_v<T> ? std::clamp(sum, -127, 127) : sum) * height;
}

inline int32_t sign_of(int64_t cell) { return cell & 1 ? 1 : -1; }

// With few columns: a mark for each that is met, and then the marks in order, instead of sorting.
template <class T>
size_t binned_by_marks(const int64_t* cells, size_t rows, size_t grids, size_t columns, T height, T* data,
                       int32_t* indices, int64_t* ends) {
  std::vector<uint64_t> marks(columns / 64 + 1);
  std::vector<int32_t> sums(columns);
  size_t count = 0;
  for (size_t row = 0; row < rows; row++, cells += grids) {
    for (size_t k = 0; k < grids; k++) {
      const size_t column = size_t(cells[k] >> 1);
      marks[column / 64] |= uint64_t(1) << column % 64;
      sums[column] += sign_of(cells[k]);
    }
    for (size_t word = 0; word < marks.size(); word++) {
      for (uint64_t left = marks[word]; left; left &= left - 1, count++) {
        const size_t column = 64 * word + size_t(__builtin_ctzll(left));
        data[count] = worth(sums[column], height);
        indices[count] = int32_t(column);
        sums[column] = 0;
      }
      marks[word] = 0;
    }
    ends[row] = int64_t(count);
  }
  return count;
}

template <class T>
size_t binned_by_sorting(const int64_t* cells, size_t rows, size_t grids, T height, T* data, int32_t* indices,
                         int64_t* ends) {
  std::vector<int64_t> sorted(grids);
  size_t count = 0;
  for (size_t row = 0; row < rows; row++, cells += grids) {
    std::copy(cells, cells + grids, sorted.begin());
    std::sort(sorted.begin(), sorted.end());
    for (size_t k = 0; k < grids; count++) {
      const int64_t column = sorted[k] >> 1;
      int32_t sum = 0;
      for (; k < grids && sorted[k] >> 1 == column; k++) sum += sign_of(sorted[k]);
      data[count] = worth(sum, height);
      indices[count] = int32_t(column);
    }
    ends[row] = int64_t(count);
  }
  return count;
}

// How many numbers there are; ends[row] is how many there are up to the end of that row.
template <class T>
size_t binned(const int64_t* cells, size_t rows, size_t grids, size_t columns, T height, T* data, int32_t* indices,
              int64_t* ends) {
  constexpr size_t FEW = 1 << 15;
  return columns <= FEW ? binned_by_marks(cells, rows, grids, columns, height, data, indices, ends)
                        : binned_by_sorting(cells, rows, grids, height, data, indices, ends);
}

}  // namespace bochner
