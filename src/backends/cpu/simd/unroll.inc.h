// Loops over compile-time indices. Included inside each target's namespace, since a template compiled for one target
// must not be taken for another's.

template <int N>
struct Index {
  static constexpr int value = N;
  constexpr operator int() const { return N; }
};
template <int Begin, int End, class Body>
LW_AI void unroll(Body body) {
  if constexpr (Begin < End) {
    body(Index<Begin>{});
    unroll<Begin + 1, End>(body);
  }
}
