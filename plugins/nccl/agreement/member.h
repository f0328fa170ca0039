#pragma once

// One rank's side of the agreement (protocol.h): holds the gates of the proposal, waits at them,
// and says which setting is in force. Pure: clocks, links and threads are the caller's.
// Not synchronized: the caller guards all calls by one lock.
//
// The caller publishes `next_gate` to the thread of the calls after every call of a function here,
// and that thread calls `arrive` when its next call is that gate. Publishing comes before reading
// the count for `tick`, and counting before reading the published gate: then a rank that misses a
// gate says so.
//
//  1. `next_gate` is the first gate without an applied verdict. A gate that was passed remains
//     until its verdict, "stay", so that later gates of the proposal are never taken for the next.
//  2. The setting in force changes only in a call at which `is_blocked` becomes false, or within
//     `arrive`, and always to that of the gate at which the rank stands.
//  3. A verdict that comes before the rank arrives waits for the rank.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/nccl/agreement/message.h"
#include "plugins/nccl/agreement/running_time.h"
#include "plugins/nccl/agreement/verdict_memory.h"

namespace hocket::nccl {

struct MemberOptions {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint64_t comm_id = 0;
  /// Returns why a proposal cannot be used, "" if it can. No function: all are accepted.
  std::function<std::string(const Proposal&)> objection;
  /// Time between two questions of a blocked member without a link.
  std::int64_t ask_interval_ns = 50'000'000;
  /// See protocol.h, invariant 11. Longer than the arbiter's gate_timeout_ns.
  std::int64_t isolation_ns = 10'000'000'000;
  /// Longest time between two calls of `tick` in a process that runs.
  std::int64_t max_step_ns = 500'000'000;
};

/// A setting and the proposal that brought it: version 0 is the empty setting of the beginning.
struct SettingInForce {
  std::uint64_t version = 0;
  std::string payload;
};

class Member {
 public:
  explicit Member(MemberOptions options);

  /// Takes a message of rank 0's arbiter or of another member. `count` is the number of calls that
  /// this rank has begun.
  void receive(std::uint32_t from, const Message& message, std::uint64_t count,
               std::int64_t now_ns);

  /// The link to rank 0 is there, or there anew. Rank 0's own member has one from the beginning to
  /// the end, and must be told so, too.
  void link_up(std::uint64_t count, std::int64_t now_ns);
  void link_lost(std::int64_t now_ns);

  /// Call number of the next gate, or `kNoGate`.
  std::uint64_t next_gate() const;

  /// This rank makes the call `call`. If that is the next gate, it waits there unless the verdict
  /// is known; else nothing happens. `digest` includes this call.
  void arrive(std::uint64_t call, std::uint64_t digest, std::int64_t now_ns);

  /// Returns true while the rank has to wait at its gate.
  bool is_blocked() const { return is_blocked_; }

  /// Does what time requires; to be called at least every half of `max_step_ns`.
  void tick(std::uint64_t count, std::int64_t now_ns);

  /// Takes no part from now on; the reason is for people.
  void abstain(const std::string& reason);

  /// The communicator is being destroyed on this rank. Nothing is blocked any more.
  void leave(std::uint64_t count);

  /// Passes statistics on to the arbiter. False if there is no link, or if they are too long.
  bool send_statistics(std::string bytes);

  const SettingInForce& in_force() const { return in_force_; }

  /// Why this member accepts no proposals: "" if it does.
  const std::string& frozen() const { return frozen_; }

  /// Number of verdicts decided by default, and the last of them.
  std::uint64_t decided_by_default() const { return decided_by_default_; }
  const std::optional<Verdict>& last_default() const { return last_default_; }

  /// Returns what is to be sent, in order, and forgets it. Messages for `kEveryone` are questions:
  /// they go to every other rank that can be reached, outside of the links.
  std::vector<Send> take_actions();

  /// Appends all that later behaviour depends on, for tests that explore states.
  void append_state(std::string& out) const;

 private:
  void on(std::uint32_t from, const Ping& ping);
  void on(std::uint32_t from, const Proposal& proposal);
  void on(std::uint32_t from, const Verdict& verdict);
  void on(std::uint32_t from, const Ask& ask);
  void on(std::uint32_t from, const Unknown& unknown);
  /// All others are for the arbiter.
  template <class Other>
  void on(std::uint32_t, const Other&) {}

  void say_if_passed();
  void ask_everyone();
  void settle();
  void go();
  void decide_by_default();
  void resolve_doubt();
  void send(std::uint32_t to, Message message);
  std::uint64_t undecided() const;
  Arrived arrival() const;

  MemberOptions options_;
  RunningTime time_;
  VerdictMemory verdicts_;
  SettingInForce in_force_;
  std::vector<Send> actions_;
  std::uint64_t count_ = 0;
  bool has_link_ = false;
  bool has_left_ = false;
  bool abstains_ = false;
  std::string frozen_;

  /// Proposal whose gates from `next_` on are undecided. No gates: there is none.
  Proposal proposal_;
  std::size_t next_ = 0;
  /// Number of gates whose verdict is known to be "go".
  std::size_t known_ = 0;
  bool has_said_passed_ = false;

  bool is_blocked_ = false;
  std::uint64_t digest_ = 0;
  std::int64_t asked_ns_ = 0;
  /// Time at which a link, or a rank with a link, last told this blocked member of rank 0.
  std::int64_t heard_ns_ = 0;

  /// Verdict that this member decided by default and has not compared with the arbiter's.
  std::optional<Verdict> doubt_;
  std::optional<Verdict> last_default_;
  std::uint64_t decided_by_default_ = 0;
};

}  // namespace hocket::nccl
