// Maxima and winners of pools, and stumps.

template <class T, size_t POOL>
void maxout_of(const T* x, size_t units, size_t pool, T* out) {
  if (POOL) pool = POOL;
  for (size_t u = 0; u < units; u++, x += pool) {
    T best = x[0];
    for (size_t j = 1; j < pool; j++) best = x[j] > best ? x[j] : best;
    out[u] = best;
  }
}

template <class T, size_t POOL>
void winners_of(const T* x, size_t units, size_t pool, int32_t* out) {
  if (POOL) pool = POOL;
  for (size_t u = 0; u < units; u++, x += pool) {
    T best = x[0];
    int32_t winner = 0;
    for (size_t j = 1; j < pool; j++)
      if (x[j] > best) best = x[j], winner = int32_t(j);
    out[u] = winner;
  }
}

// The usual pool sizes are compiled with a known trip count, so that the loops unroll and vectorise.
#define BY_POOL(function)                                                       \
  switch (pool) {                                                               \
    case 2: return function<T, 2>(x, units, pool, out);                         \
    case 4: return function<T, 4>(x, units, pool, out);                         \
    case 8: return function<T, 8>(x, units, pool, out);                         \
    case 16: return function<T, 16>(x, units, pool, out);                       \
    default: return function<T, 0>(x, units, pool, out);                        \
  }

template <class T>
void maxout(const T* x, size_t units, size_t pool, T* out) {
  BY_POOL(maxout_of)
}
template <class T>
void winners(const T* x, size_t units, size_t pool, int32_t* out) {
  BY_POOL(winners_of)
}

// First all comparisons' numbers side by side, then all comparisons at once: neither loop has a branch to guess.
template <class T, class Out>
void stumps(const T* x, size_t rows, size_t d, const int32_t* coordinates, const T* thresholds, size_t m, Out height,
            Out* out) {
  constexpr size_t LOT = 1024;
  T taken[LOT];
  for (size_t first = 0; first < m; first += LOT) {
    const size_t here = m - first < LOT ? m - first : LOT;
    const int32_t* from = coordinates + first;
    const T* limit = thresholds + first;
    for (size_t row = 0; row < rows; row++) {
      const T* numbers = x + row * d;
      Out* to = out + row * m + first;
      for (size_t k = 0; k < here; k++) taken[k] = numbers[from[k]];
      for (size_t k = 0; k < here; k++) to[k] = taken[k] > limit[k] ? height : Out(-height);
    }
  }
}
