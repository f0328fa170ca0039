#pragma once

// Decides for all ranks of a communicator (protocol.h): proposes schedules of settings and gives
// the verdicts. Lives in rank 0's process; rank 0's member is linked to it like any other. Pure:
// clocks, links and threads are the caller's. Not synchronized: the caller guards all calls by one
// lock.
//
// Messages that have been received are passed in before `tick` is called, so that no rank is
// thought late while its message waits to be read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nccl/agreement/message.h"
#include "plugins/nccl/agreement/running_time.h"
#include "plugins/nccl/agreement/verdict_memory.h"

namespace hocket::nccl {

struct ArbiterOptions {
  std::uint32_t ranks = 1;
  std::uint64_t comm_id = 0;
  /// Time limit of a gate, from the first arrival on. Until the verdict of a return gate it takes
  /// silent_ns more if a rank is missing.
  std::int64_t gate_timeout_ns = 2'000'000'000;
  std::int64_t ping_interval_ns = 200'000'000;
  /// Every rank must have answered a ping within this time for a proposal to be made.
  std::int64_t fresh_ns = 1'000'000'000;
  /// A rank is silent if it has sent nothing for this long after a ping.
  std::int64_t silent_ns = 1'000'000'000;
  /// A proposal begins at least this many calls after the largest known count. The number doubles
  /// whenever a rank has passed a gate, up to the maximum.
  std::uint64_t margin_calls = 64;
  std::uint64_t max_margin_calls = 1 << 16;
  /// A proposal begins no sooner than this, by the rate of the calls.
  std::int64_t lead_ns = 200'000'000;
  /// Timeouts in a row that freeze the communicator.
  std::uint32_t max_timeouts = 3;
  /// Longest time between two calls of `tick` in a process that runs.
  std::int64_t max_step_ns = 500'000'000;
};

/// Settings and from which calls on they are to be in force. The payloads are shared by gates.
struct Schedule {
  struct Entry {
    /// Calls after the first gate; 0 for the first, then ascending.
    std::uint64_t after_calls = 0;
    std::uint8_t payload = 0;
    bool is_return = false;
  };
  std::vector<std::string> payloads;
  std::vector<Entry> entries;
  /// The first gate lies a multiple of `period_calls` after `boundary_call`, so that iterations are
  /// whole. 0: anywhere.
  std::uint64_t period_calls = 0, boundary_call = 0;
};

/// Why a gate stayed.
enum class StayReason : std::uint8_t {
  none,
  refused,
  passed,
  link_lost,
  goodbye,
  timed_out,
  digests_differ,
  abstained,
  withdrawn,
};

std::string_view text_of(StayReason reason);

/// Outcome of the latest proposal. Version 0: nothing was ever proposed.
struct Outcome {
  std::uint64_t version = 0;
  bool is_pending = false;
  /// Gates that went; the gate of this number is undecided or has stayed.
  std::uint32_t gates_gone = 0;
  StayReason stayed = StayReason::none;
  /// True if the gate that stayed was a return gate. Then the setting before it is still in force:
  /// unless frozen, the caller proposes the one to return to as a forward gate.
  bool at_return = false;
  /// A rank that caused the gate to stay.
  std::uint32_t rank = 0;
  /// The reason that the rank gave.
  std::string detail{};
  bool has_gone_through() const {
    return version != 0 && !is_pending && gates_gone > 0 && !has_stayed();
  }
  bool has_stayed() const { return stayed != StayReason::none; }
};

/// Result of `Arbiter::propose`.
struct Proposed {
  /// 0: not proposed.
  std::uint64_t version = 0;
  std::uint64_t first_call = 0;
  std::string_view why_not{};
};

/// State of a rank, as far as the arbiter knows.
struct RankState {
  bool has_link = false;
  bool has_left = false;
  std::uint64_t count = 0;
  /// Running time since the rank last answered a ping. INT64_MAX: never on this link.
  std::int64_t pong_age_ns = INT64_MAX;
};

class Arbiter {
 public:
  explicit Arbiter(const ArbiterOptions& options);

  /// Takes a message that came over the link of rank `from`. A link begins with Hello.
  void receive(std::uint32_t from, const Message& message, std::int64_t now_ns);
  void link_lost(std::uint32_t rank, std::int64_t now_ns);

  /// Does what time requires; to be called at least every half of `max_step_ns`.
  void tick(std::int64_t now_ns);

  /// Why nothing can be proposed now: "" if something can.
  std::string_view why_not(std::int64_t now_ns) const;
  bool can_propose(std::int64_t now_ns) const { return why_not(now_ns).empty(); }

  Proposed propose(const Schedule& schedule, std::int64_t now_ns);

  /// Gives up the pending proposal if its next gate is a forward gate.
  void withdraw(std::int64_t now_ns);

  const Outcome& outcome() const { return outcome_; }

  /// Why nothing will ever be proposed again: "" unless frozen.
  const std::string& frozen() const { return frozen_; }

  RankState rank_state(std::uint32_t rank) const;
  std::uint64_t margin_calls() const { return margin_calls_; }

  struct RankStatistics {
    std::uint32_t rank = 0;
    std::string bytes;
  };
  /// Returns statistics that ranks have sent, and forgets them.
  std::vector<RankStatistics> take_statistics();

  /// Returns what is to be sent, in order, and forgets it. `kEveryone`: to every link.
  std::vector<Send> take_actions();

  /// Appends all that later behaviour depends on, for tests that explore states.
  void append_state(std::string& out) const;

 private:
  struct Rank {
    bool has_link = false;
    bool has_left = false;
    std::uint64_t count = 0;
    std::int64_t counted_ns = 0;
    double calls_per_ns = 0;
    std::optional<std::int64_t> pong_ns;
    std::uint64_t last_pong = 0;
    /// Time of the oldest ping since which nothing has come.
    std::optional<std::int64_t> unanswered_ns;
    /// Digest at the current gate, once the rank has arrived.
    std::optional<std::uint64_t> digest;
  };

  void on(std::uint32_t from, const Hello& hello);
  void on(std::uint32_t from, const Pong& pong);
  void on(std::uint32_t from, const Passed& passed);
  void on(std::uint32_t from, const Refused& refused);
  void on(std::uint32_t from, const Abstention& abstention);
  void on(std::uint32_t from, const Arrived& arrived);
  void on(std::uint32_t from, const Ask& ask);
  void on(std::uint32_t from, const Goodbye& goodbye);
  void on(std::uint32_t from, const Statistics& statistics);
  /// All others are for members.
  template <class Other>
  void on(std::uint32_t, const Other&) {}

  bool is_first_gate_of(std::uint64_t version) const;
  const Gate& gate() const { return proposal_.gates[outcome_.gates_gone]; }
  void record_arrival(std::uint32_t rank, std::uint32_t answer_to, const Arrived& arrived);
  void repeat_verdicts(std::uint32_t to, std::uint64_t version);
  void lose(std::uint32_t rank);
  void object(StayReason reason, std::uint32_t rank, std::string detail = "");
  void go_if_all_arrived();
  void ping();
  void expire();
  bool is_silent(const Rank& rank) const;
  void decide(bool go);
  void refuse_if_impaired();
  void freeze(std::string reason);
  std::uint64_t expected_count() const;

  ArbiterOptions options_;
  RunningTime time_;
  VerdictMemory verdicts_;
  std::vector<Rank> ranks_;
  std::vector<Send> actions_;
  std::vector<RankStatistics> statistics_;
  std::string frozen_;
  std::uint64_t margin_calls_;
  std::uint32_t timeouts_in_a_row_ = 0;
  std::uint64_t last_ping_ = 0;
  std::int64_t next_ping_ns_ = 0;

  Proposal proposal_;
  Outcome outcome_;
  std::optional<std::int64_t> first_arrival_ns_;
  /// The ping sent when the time limit of the current gate had passed.
  std::optional<std::uint64_t> expiry_ping_;
};

}  // namespace hocket::nccl
