#pragma once

// One rank's part in the agreement on settings, with its thread: the member of this rank, on rank 0
// also the arbiter, and their links. The thread of the calls counts them and waits at gates,
// nothing else.
//
// begin_call() is for the thread of NCCL's calls, one at a time. The functions of rank 0 are for
// one other thread.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "plugins/nccl/agreement/arbiter.h"
#include "plugins/nccl/agreement/member.h"
#include "plugins/nccl/transport/links.h"

namespace hocket::nccl {

struct RankAgreementOptions {
  MemberOptions member = {};
  /// Longest time between two calls of the state machines' `tick`; at most half of their
  /// `max_step_ns`.
  std::int64_t tick_ns = 200'000'000;
  std::int64_t (*now_ns)() = nullptr;  ///< a clock that never goes back
  /// Called on the agreement's thread at every tick: returns bytes for rank 0, and "" when there
  /// are none left. Empty: never any.
  std::function<std::string()> next_statistics = {};
  /// Bytes that rank 0 gets before the statistics, over each link anew. "": none.
  std::string introduction = {};
};

class RankAgreement {
 public:
  RankAgreement(RankAgreementOptions options, std::unique_ptr<Links> links);
  ~RankAgreement();
  RankAgreement(const RankAgreement&) = delete;
  RankAgreement& operator=(const RankAgreement&) = delete;

  /// Counts a call. Returns the setting that is in force from this call on if the call is a gate at
  /// which it changes, after waiting for the other ranks; null otherwise. `digest` includes this
  /// call. The setting is valid until the next call.
  const SettingInForce* begin_call(std::uint64_t digest) {
    const std::uint64_t call = count_.load(std::memory_order_relaxed);
    count_.store(call + 1);
    if (next_gate_.load() != call) [[likely]]
      return nullptr;
    return wait_at_gate(call, digest);
  }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  /// Returns how long this rank has waited at gates; for the thread of NCCL's calls.
  std::int64_t waited_ns() const { return waited_ns_; }

  /// Leaves the agreement and ends the thread. Nothing waits at a gate any more.
  void close();

  /// Why this rank takes no more proposals: "" if it does. Any thread.
  std::string frozen() const;

  // For rank 0:

  /// Proposes settings to all ranks. See Arbiter::propose().
  Proposed propose(const Schedule& schedule);
  Outcome outcome() const;
  /// Why nothing can be proposed now: "" if something can.
  std::string why_not() const;
  /// Why nothing will ever be proposed again: "" unless frozen.
  std::string arbiter_frozen() const;
  std::vector<Arbiter::RankStatistics> take_statistics();

 private:
  const SettingInForce* wait_at_gate(std::uint64_t call, std::uint64_t digest);
  void run();
  void send_statistics();
  void take(const LinkEvent& event, std::int64_t now_ns);
  void tick(std::int64_t now_ns);
  /// Passes on what the state machines want to send, and publishes the next gate. Requires mutex_.
  void route();
  void publish();
  std::vector<Send> take_output();

  const RankAgreementOptions options_;
  const std::unique_ptr<Links> links_;

  alignas(64) std::atomic<std::uint64_t> count_{0};
  alignas(64) std::atomic<std::uint64_t> next_gate_{kNoGate};

  mutable std::mutex mutex_;
  std::condition_variable moved_;
  // Guarded by mutex_:
  Member member_;
  std::optional<Arbiter> arbiter_;  // on rank 0
  std::vector<Send> output_;        // messages that the links are to send
  bool is_closed_ = false;
  std::uint64_t version_in_force_ = 0;  // last version that begin_call() has returned
  SettingInForce in_force_;             // used only by the thread that calls NCCL
  std::int64_t waited_ns_ = 0;          // likewise
  bool is_introduced_ = false;          // used only by the agreement's thread

  std::thread thread_;
};

}  // namespace hocket::nccl
