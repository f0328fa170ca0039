#pragma once

// Runs loops with the widest vectors that the processor has and that there is code for. Private to
// kernels/host. Any thread.
//
// A loop is a type with a function `run`, marked [[gnu::always_inline]] like all that it calls, so
// that it is compiled for each instruction set. No fused multiply-add is used: a number has the
// same bits in a vector and in the rest of a loop, and with vectors of any width. Sums in several
// lanes depend on the width.

namespace hocket {

template <class Loop, class... Arguments>
void run_with_baseline(Arguments... arguments) {
  Loop::run(arguments...);
}

#ifdef __x86_64__
// Wider vectors lower the clock of some processors, and these loops soon wait for memory.
template <class Loop, class... Arguments>
[[gnu::target("avx2")]] void run_with_avx2(Arguments... arguments) {
  Loop::run(arguments...);
}
#endif

template <class Loop, class... Arguments>
void run_loop(Arguments... arguments) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return run_with_avx2<Loop>(arguments...);
#endif
  run_with_baseline<Loop>(arguments...);
}

}  // namespace hocket
