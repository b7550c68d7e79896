// Maxima and winners of pools.

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
