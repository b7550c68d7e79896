// Maxima and winners of pools, and gates that winners open.

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

template <class T, size_t POOL>
void gates_of(const int32_t* winners, const T* through, size_t units, size_t pool, T* out) {
  if (POOL) pool = POOL;
  for (size_t u = 0; u < units; u++, out += pool)
    for (size_t j = 0; j < pool; j++) out[j] = winners[u] == int32_t(j) ? through[u] : T(0);
}

// The usual pool sizes are compiled with a known trip count, so that the loops unroll and vectorise.
#define BY_POOL(function, ...)                        \
  switch (pool) {                                     \
    case 2: return function<T, 2>(__VA_ARGS__);       \
    case 4: return function<T, 4>(__VA_ARGS__);       \
    case 8: return function<T, 8>(__VA_ARGS__);       \
    case 16: return function<T, 16>(__VA_ARGS__);     \
    default: return function<T, 0>(__VA_ARGS__);      \
  }

template <class T>
void maxout(const T* x, size_t units, size_t pool, T* out) {
  BY_POOL(maxout_of, x, units, pool, out)
}
template <class T>
void winners(const T* x, size_t units, size_t pool, int32_t* out) {
  BY_POOL(winners_of, x, units, pool, out)
}
template <class T>
void gates(const int32_t* winners, const T* through, size_t units, size_t pool, T* out) {
  BY_POOL(gates_of, winners, through, units, pool, out)
}
