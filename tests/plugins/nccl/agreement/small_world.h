#pragma once

// A job of a few ranks and calls whose every interleaving can be explored: a value that can be
// copied, with the list of what may happen next. Links deliver in order; everything else may happen
// in any order. Time advances in units. Not synchronized.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "plugins/nccl/agreement/arbiter.h"
#include "plugins/nccl/agreement/member.h"

namespace hocket::nccl {

enum class WorldFault : std::uint8_t {
  none,
  link_cut,
  link_cut_and_restored,
  cut_off,
  killed,
  stopped,
  extra_call,
  goodbye,
  refusal,
  abstention,
};

struct WorldOptions {
  std::uint32_t ranks = 2;
  WorldFault fault = WorldFault::none;
  std::uint32_t faulty_rank = 1;
  /// Calls of each rank. The gates are at calls 1 and 2.
  std::uint64_t calls = 4;
  /// Calls that a host makes ahead of completion.
  std::uint64_t run_ahead = 1;
  /// Units of time that may pass while something else could happen.
  std::uint32_t free_units = 2;
};

class SmallWorld {
 public:
  explicit SmallWorld(const WorldOptions& options);

  enum class What : std::uint8_t { call, to_member, to_arbiter, between, fault, heal, time };
  struct Step {
    What what;
    std::uint32_t rank = 0;
    /// Position of a message between ranks, or variant of a fault.
    std::uint32_t detail = 0;
  };
  std::vector<Step> steps() const;
  void take(const Step& step);

  /// Returns the first law that is broken, "" if none is.
  std::string broken() const;
  /// Returns whether nothing more happens, unless the fault is still to come.
  bool is_at_end() const;
  std::string state() const;

  /// Returns whether two settings for one call came from the case a of protocol.h.
  bool is_excepted() const { return is_excepted_; }
  const Outcome& outcome() const { return arbiter_.outcome(); }

 private:
  struct Between {
    std::uint32_t from;
    std::uint32_t to;
    Message message;
  };
  struct Rank {
    explicit Rank(MemberOptions options) : member(std::move(options)) {}
    Member member;
    std::uint64_t count = 0;
    std::uint64_t digest = 0;
    std::uint64_t extra_at = UINT64_MAX;
    bool is_at_gate = false;
    bool is_dead = false;
    bool is_stopped = false;
    bool has_left = false;
    bool is_isolated = false;
    bool is_link_open = true;
    /// Without a value: the end of the link.
    std::deque<std::optional<Message>> to_member{};
    std::deque<std::optional<Message>> to_arbiter{};
    /// Settings of the collectives made so far, 0 or 1, without extra calls.
    std::vector<char> settings{};
    std::uint32_t waited_units = 0;
  };

  bool runs(std::uint32_t rank) const { return !ranks_[rank].is_dead && !ranks_[rank].is_stopped; }
  bool can_call(std::uint32_t rank) const;
  void call(std::uint32_t rank);
  void finish_call(std::uint32_t rank);
  void start_fault(std::uint32_t variant);
  void heal();
  void cut(std::uint32_t rank, bool delivers_in_flight);
  void flush();
  std::int64_t now_ns() const { return static_cast<std::int64_t>(units_) * 1000; }

  WorldOptions options_;
  Arbiter arbiter_;
  std::vector<Rank> ranks_;
  std::vector<Between> between_;
  std::uint32_t units_ = 0;
  /// No call from this one on completes, since a rank died before all had launched it.
  std::size_t completed_limit_ = SIZE_MAX;
  std::uint32_t free_units_ = 0;
  bool has_fault_begun_ = false;
  bool has_healed_ = false;
  bool is_excepted_ = false;
};

}  // namespace hocket::nccl
