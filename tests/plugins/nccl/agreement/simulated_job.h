#pragma once

// A job in virtual time whose ranks agree on settings by the real state machines, with faults of
// links, processes and programs, and the laws that must hold in it. Equal seeds give equal runs.
// Not synchronized.
//
// The program of every rank is the same sequence of items. An item is one collective, a group whose
// calls are all decided before it is launched, or a captured graph, decided once and launched
// often. It completes when all ranks have launched it; hosts run ahead of completion by a few
// items.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "plugins/nccl/agreement/arbiter.h"
#include "plugins/nccl/agreement/member.h"

namespace hocket::nccl {

struct JobCounts {
  std::uint64_t proposals = 0;
  /// Gates that got a verdict, by the verdict.
  std::uint64_t went = 0;
  std::uint64_t stayed = 0;
  std::array<std::uint64_t, 9> stayed_by_reason{};
  std::uint64_t completed_items = 0;
  /// Jobs with two settings for one item, in the cases a and b that protocol.h excepts.
  std::uint64_t excepted_a = 0;
  std::uint64_t excepted_b = 0;
  std::uint64_t defaults = 0;
  /// Jobs with one that differs from the arbiter's verdict.
  std::uint64_t wrong_defaults = 0;
  std::uint64_t jobs_frozen = 0;
  std::uint64_t jobs_with_faults = 0;
  /// Jobs in which faults ceased, and proposals went afterwards.
  std::uint64_t recoveries = 0;

  void add(const JobCounts& other);
};

class SimulatedJob {
 public:
  explicit SimulatedJob(std::uint64_t seed);

  /// Runs the job to its end. Returns the first law that was broken, "" if none was.
  std::string run();

  const JobCounts& counts() const { return counts_; }

 private:
  enum class Kind : std::uint8_t {
    to_member,
    to_arbiter,
    between_ranks,
    member_notices_loss,
    arbiter_notices_loss,
    link_restored,
    tick,
    host_step,
    host_arrives,
    item_completes,
    caller_step,
    fault,
    continues,
    reachable_again,
  };
  /// The first five heal.
  enum class Fault : std::uint8_t {
    link_cut,
    cut_off,
    stop,
    stop_rank_0,
    caller_away,
    kill,
    kill_rank_0,
    extra_call,
    goodbye,
    refusal,
    abstention,
  };
  struct Event {
    std::int64_t time_ns = 0;
    std::uint64_t number = 0;
    Kind kind = Kind::tick;
    std::uint32_t rank = 0;
    std::uint32_t from = 0;
    std::uint64_t detail = 0;
    std::shared_ptr<const Message> message{};
    bool operator<(const Event& other) const {
      return std::tie(other.time_ns, other.number) < std::tie(time_ns, number);
    }
  };
  struct Rank {
    explicit Rank(MemberOptions options) : member(std::move(options)) {}
    Member member;
    bool is_dead = false;
    bool is_stopped = false;
    std::int64_t stopped_ns = 0;
    bool has_left = false;
    bool is_isolated = false;
    std::vector<Event> backlog{};
    // The host program.
    std::uint64_t item = 0;
    std::uint32_t call_in_item = 0;
    std::uint64_t count = 0;
    std::uint64_t digest = 0;
    bool is_waiting_for_completion = false;
    bool is_at_gate = false;
    bool is_in_extra_call = false;
    bool must_make_extra_call = false;
    bool must_leave = false;
    std::array<std::uint32_t, 8> settings{};
    // The link to rank 0. `epoch` numbers links; a message of an old one is not delivered.
    std::uint64_t epoch = 1;
    bool is_link_open = true;
    bool delivers_in_flight = false;
    std::uint64_t arbiter_epoch = 0;
    std::uint64_t arbiter_lost_epoch = 0;
    std::int64_t last_to_member_ns = 0;
    std::int64_t last_to_arbiter_ns = 0;
    // For the laws.
    std::int64_t blocked_since_ns = 0;
    std::int64_t contact_ns = 0;
    std::optional<std::int64_t> contact_began_ns{};
    std::uint64_t defaults_seen = 0;
  };
  struct Launched {
    std::uint32_t ranks = 0;
    /// The settings of all ranks, and of those that have decided nothing by default.
    std::optional<std::vector<std::uint32_t>> settings{};
    std::optional<std::vector<std::uint32_t>> others{};
    bool differs = false;
    bool others_differ = false;
  };

  // simulated_job.cc: the events.
  void push(std::int64_t delay_ns, Kind kind, std::uint32_t rank, std::uint64_t detail = 0);
  void dispatch(Event event);
  void handle(const Event& event);
  void flush(std::uint32_t rank);
  void flush_arbiter();
  void post_to_arbiter(std::uint32_t from, const Message& message);
  void post_to_member(std::uint32_t to, const std::shared_ptr<const Message>& message);
  void post_between(std::uint32_t from, std::uint32_t to, const Message& message);
  void tick(std::uint32_t rank);
  void lose_link(std::uint32_t rank, bool comes_back);
  void kill(std::uint32_t rank);
  void stop(std::uint32_t rank);
  void inject(Fault fault);

  // simulated_program.cc: the hosts and the arbiter's caller.
  void host_step(std::uint32_t rank);
  void begin_call(std::uint32_t rank, std::uint32_t function, std::uint64_t bytes);
  void end_call(std::uint32_t rank);
  void launch(std::uint32_t rank);
  void caller_step();
  void count_verdicts();
  void end_if_done();
  Schedule choose_schedule();
  void check_rank(std::uint32_t rank);
  void check_end();
  std::uint32_t calls_of(std::uint64_t item) const;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }
  std::int64_t delay_ns();
  void broken(std::string law);
  void note(const Verdict& verdict);
  bool has_wrong_default() const;

  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::int64_t now_ns_ = 0;
  std::uint64_t last_event_ = 0;
  std::priority_queue<Event> events_;
  std::vector<Rank> ranks_;
  Arbiter arbiter_;
  JobCounts counts_;
  /// All verdicts of the arbiter, and all verdicts by default.
  std::map<std::pair<std::uint64_t, std::uint32_t>, bool> verdicts_;
  std::vector<Verdict> defaults_;
  std::string broken_;
  bool uses_wire_ = false;

  // The program.
  std::uint64_t run_ahead_ = 1;
  std::uint64_t completed_ = 0;
  std::deque<Launched> launched_;
  std::uint64_t launched_base_ = 0;
  std::uint64_t group_shape_ = 0;
  std::uint64_t end_item_ = UINT64_MAX;

  // The caller.
  std::uint32_t next_setting_ = 1;
  std::uint32_t present_ = 0;
  std::optional<std::uint32_t> proposed_keep_;
  bool must_propose_present_ = false;
  std::int64_t caller_returns_ns_ = 0;
  std::uint64_t seen_version_ = 0;
  std::uint64_t seen_gates_ = 0;
  bool has_seen_end_ = true;
  std::uint64_t gates_wanted_ = 0;
  std::optional<std::int64_t> done_ns_;
  bool is_stopping_ = false;

  // Faults.
  bool has_faults_ = false;
  bool only_healing_ = false;
  bool has_extra_call_ = false;
  bool has_silence_ = false;
  bool is_permanent_ = false;
  bool has_refusal_ = false;
  bool has_abstention_ = false;
  bool has_two_settings_ = false;
  std::int64_t last_fault_ns_ = 0;
  std::uint32_t open_faults_ = 0;
  std::uint64_t went_at_heal_ = 0;
};

}  // namespace hocket::nccl
