#pragma once

// Finds the iterations of a training loop in the sequence of its collectives: the shortest period
// with which the sequence repeats. Pure; not thread-safe.
//
// A period is taken when it explains most of the latest calls and has repeated kRepeats times, so
// a run of equal calls within an iteration is not taken for one. It is kept while every call equals
// the one a period ago. At the first that does not, the iteration is dropped and the search begins
// again, since the loop does something else: an evaluation, a checkpoint, another model.
//
// Periods shorter than kLeastNs are joined. A loop whose calls are all equal shows no iterations;
// then so many calls as last that long count as one. How many that are is known once the program
// runs as fast as the GPU lets it, not in the bursts before; until then no iterations are returned.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hocket::nccl {

/// An iteration: the calls from `first_call` on, up to the first of the next iteration.
struct CallIteration {
  std::uint64_t first_call = 0;
  std::uint64_t calls = 0;
  std::int64_t began_ns = 0;
  std::int64_t iteration_ns = 0;
  std::uint64_t periods = 1;  ///< number of periods that were joined
  /// Equal for iterations of the same calls, wherever the period is thought to begin.
  std::uint64_t kind = 0;
};

class PeriodFinder {
 public:
  static constexpr std::size_t kRepeats = 3;
  static constexpr std::size_t kMostCalls = 8192;  ///< limit on the calls of a period
  static constexpr std::int64_t kLeastNs = 20'000'000;

  /// Adds the next call; `token` tells kinds of calls apart. Returns the iteration that ended with
  /// it, of which it is not a part.
  std::optional<CallIteration> add(std::uint64_t token, std::int64_t now_ns);

  /// Returns the calls of an iteration; 0 while none is known.
  std::size_t calls_per_iteration() const { return is_steady_ ? period_ * joined_ : 0; }
  /// Returns whether the calls repeat. It may not be known yet how many periods are joined.
  bool has_period() const { return period_ > 0; }
  std::uint64_t kind() const { return kind_; }
  /// Returns the number of the first call of an iteration at or after `call`; requires a period.
  std::uint64_t next_boundary(std::uint64_t call) const;

 private:
  struct Recent {
    std::uint64_t token;
    std::int64_t ns;
  };

  void search(std::uint64_t call);
  void join(std::int64_t period_ns, std::size_t most);
  void lose();
  std::size_t shortest_period() const;

  std::vector<Recent> recent_;  // the latest calls
  std::uint64_t calls_ = 0;
  std::size_t searched_ = 0;  // size of recent_ at the last search
  std::size_t period_ = 0;
  std::size_t joined_ = 1;  // periods that count as one iteration
  bool is_steady_ = false;  // joined_ is right
  std::uint64_t kind_ = 0;
  std::uint64_t begin_ = 0;  // first call of the current iteration
  std::int64_t began_ns_ = 0;
};

}  // namespace hocket::nccl
