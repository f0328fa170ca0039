#pragma once

// The sums that a parameter server keeps: who has pushed and pulled which part, and the additions.
// It knows neither sockets nor time. Thread-safe; the lock is held neither while a summand is
// filled in nor while values are added or updated.
//
// For each part, in this order:
// 1. Each rank fills a buffer of its own with its summand.
// 2. Summands are added in the order of ranks, whatever the order of arrival: an early one waits in
//    its buffer. Rank 0's buffer becomes the sum; the others' are given back once they are added.
// 3. When the last one is added, the sum becomes the step of an optimiser, if the ranks want that,
//    and each rank is told of it, once.
// 4. Each rank pulls it. Then it is given back, and nothing is left of the part.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/collective/parameter_servers.h"
#include "core/servers/optimizer_state.h"
#include "core/servers/part_buffers.h"

namespace hocket {

struct PartKey {
  std::uint64_t collective = 0;
  std::int64_t offset_bytes = 0;

  auto operator<=>(const PartKey&) const = default;
};

/// Memory that a server may take for sums and an optimiser's state unless it is told otherwise.
inline constexpr std::size_t kSumsLimitBytes = std::size_t{8} << 30;

class PartSums;
struct PartInProgress;

/// A rank's summand on its way: the caller fills `values()` and calls PartSums::finish_push().
/// Destroyed before that, it is as if the push had not begun. May not outlive its PartSums.
class PartSummand {
 public:
  PartSummand(PartSummand&& other) noexcept;
  PartSummand& operator=(PartSummand&&) = delete;
  ~PartSummand();

  std::span<float> values() const { return buffer_.values(); }

 private:
  friend class PartSums;
  PartSummand(PartSums& sums, PartInProgress& part, int rank, PartBuffer buffer);

  PartSums* sums_;
  PartInProgress* part_;
  int rank_;
  PartBuffer buffer_;
};

/// A complete sum, which stays while this exists. May not outlive its PartSums.
class PartSum {
 public:
  PartSum(PartSum&& other) noexcept;
  PartSum& operator=(PartSum&& other) noexcept;
  ~PartSum();

  std::span<const float> values() const { return values_; }

 private:
  friend class PartSums;
  PartSum(PartSums& sums, PartInProgress& part);

  PartSums* sums_;
  PartInProgress* part_;
  std::span<const float> values_;
};

/// Waits for sums of one rank.
class SumWaiter {
 public:
  virtual ~SumWaiter() = default;
  /// Called when there is something to take, on any thread, which may hold the lock of PartSums.
  virtual void wake() = 0;
};

/// A part that a rank has pushed and others have not.
struct UnfinishedPart {
  PartKey key = {};
  std::vector<int> missing = {};  ///< the ranks that have not; empty: it is being added
};

class PartSums {
 public:
  /// At most `limit_bytes` of memory are in use, kept for later parts, or an optimiser's state.
  PartSums(int ranks, std::size_t limit_bytes);
  /// Nothing is pushed, pulled or held any more.
  ~PartSums();
  PartSums(const PartSums&) = delete;
  PartSums& operator=(const PartSums&) = delete;

  int ranks() const { return static_cast<int>(ranks_.size()); }

  /// Returns where the summand of `rank` is to be put. invalid_argument if the rank has pushed the
  /// part before or if ranks disagree about its size or its update, which fails the part for all of
  /// them; unavailable if a rank that must still push it is gone, or if the limit of memory is
  /// reached. `update`, if not null, is valid.
  Result<PartSummand> begin_push(const PartKey& key, int rank, std::size_t values,
                                 const PartUpdate* update = nullptr);

  /// Adds the summand, now or when the ranks before it have pushed. An error if the part has failed
  /// meanwhile.
  Result<void> finish_push(PartSummand summand);

  /// Puts into `sums` the parts that have become sums and that the rank has not taken, in the order
  /// in which they did, and returns how many there are. If there is none, an error if a part that
  /// the rank has pushed has failed, now and later; otherwise 0, and `waiter` is woken, once, when
  /// this would return something else. It takes the place of an earlier waiter of the rank.
  Result<std::size_t> take_sums(int rank, std::span<PartKey> sums,
                                const std::shared_ptr<SumWaiter>& waiter);

  /// Number of summands of the rank that were pushed.
  std::uint64_t pushes(int rank) const;
  /// Returns the first of the rank's first `pushes` summands that is not part of a sum yet.
  std::optional<UnfinishedPart> unfinished(int rank, std::uint64_t pushes) const;

  /// Returns the sum of a part that the rank has taken, once. invalid_argument if there is no such
  /// sum or if it has another size.
  Result<PartSum> pull(const PartKey& key, int rank, std::size_t values);

  /// The rank pushes and pulls no more; its summands that are complete count. Parts that it has not
  /// pushed fail, now and later, with unavailable "rank 1 `how`", and it has no more sums to take.
  /// The first call for a rank counts.
  void lose(int rank, std::string how = "is gone");

  /// Memory of the parts in progress, and memory that is kept for later ones.
  std::size_t used_bytes() const;
  std::size_t kept_bytes() const;
  /// Memory of the optimiser's state, which stays until the end.
  std::size_t state_bytes() const;

 private:
  friend class PartSummand;
  friend class PartSum;
  using Lock = std::unique_lock<std::mutex>;
  using Parts = std::map<PartKey, PartInProgress>;

  struct Rank {
    std::vector<PartKey> sums = {};  ///< sums that the rank has still to take
    std::uint64_t pushes = 0;
    std::shared_ptr<SumWaiter> waiter = {};
    std::optional<Error> error = {};  ///< error of the first failed part that the rank has pushed
    std::optional<std::string> how = {};  ///< how the rank left; absent while it is there
  };

  // All of these are called with mutex_ locked; those with a Lock unlock it meanwhile.
  Result<PartInProgress*> find_or_begin(const PartKey& key, int rank, std::size_t values,
                                        const PartUpdate* update);
  Result<PartBuffer> buffer_for(const PartKey& key, int rank, std::size_t values);
  bool make_room(std::size_t bytes);
  Error departure(const PartKey& key, int rank) const;
  Rank& rank_of(int rank);
  const Rank& rank_of(int rank) const;
  void add_arrived(Lock& lock, PartInProgress& part);
  /// Makes the sum the step of an optimiser, and fails the part if that is not possible.
  void update(Lock& lock, PartInProgress& part);
  void complete(PartInProgress& part);
  void fail(PartInProgress& part, const Error& error);
  static void tell(Rank& rank);
  static void tell(Rank& rank, const Error& error);
  void let_go(PartInProgress& part);
  void erase_if_over(PartInProgress& part);

  const std::size_t limit_bytes_, record_bytes_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  PartBuffers buffers_;
  OptimizerState state_;
  Parts parts_;
  std::vector<Parts::node_type> spare_;  ///< records of finished parts
  std::vector<Rank> ranks_;              ///< by rank
  std::optional<int> first_lost_;        ///< the first rank that left or was gone
};

/// Returns timed_out for a rank none of whose parts became a sum for `timeout_ns`.
Error no_sum_in_time(const UnfinishedPart& part, std::int64_t timeout_ns);

}  // namespace hocket
