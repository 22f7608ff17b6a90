// Loops over compile-time indices. Included inside each target's namespace, since a template compiled for one target
// must not be taken for another's.

template <int N>
struct Index {
  static constexpr int value = N;
  constexpr operator int() const { return N; }
};
template <int Begin, class Body, int... I>
LW_AI void unroll_each(const Body& body, std::integer_sequence<int, I...>) {
  (body(Index<Begin + I>{}), ...);
}
/// body(Index<Begin>{}), ..., body(Index<End - 1>{}). No recursion: each step would be inlined into the one before, and
/// the compiler would go over the last body as many times as there are steps.
template <int Begin, int End, class Body>
LW_AI void unroll(const Body& body) {
  unroll_each<Begin>(body, std::make_integer_sequence<int, (Begin < End ? End - Begin : 0)>{});
}
