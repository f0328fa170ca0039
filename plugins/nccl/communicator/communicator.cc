#include "plugins/nccl/communicator/communicator.h"

#include <pthread.h>
#include <chrono>
#include <utility>
#include <vector>

#include "plugins/nccl/agreement/call_digest.h"
#include "plugins/nccl/communicator/quiet_thread.h"
#include "plugins/nccl/measure/collective_statistics.h"

namespace hocket::nccl {
namespace {

constexpr std::chrono::milliseconds kControlInterval{50};

/// Refuses a proposal whose settings this version of the plugin cannot read.
std::string objection(const Proposal& proposal) {
  for (const std::string& payload : proposal.payloads) {
    if (!payload.empty() && !decode_setting(payload))
      return "the setting is of another version of the plugin";
  }
  return "";
}

/// Returns the collectives that were timed since the last call; "" if there are none.
std::string timed_collectives(measure::CollectiveMeter& meter, int rank) {
  measure::RankCollectives result{.rank = rank, .collectives = {}};
  measure::MeasuredCollective collective;
  while (result.collectives.size() < measure::kMaxEncoded && meter.pop(collective))
    result.collectives.push_back(collective);
  return result.collectives.empty() ? "" : measure::encode(result);
}

RankAgreementOptions agreement_options(const CommunicatorIdentity& identity,
                                       measure::CollectiveMeter* meter,
                                       const CommunicatorParts& parts) {
  RankAgreementOptions options;
  options.member.rank = static_cast<std::uint32_t>(identity.rank);
  options.member.ranks = static_cast<std::uint32_t>(identity.ranks);
  options.member.comm_id = identity.comm_id;
  options.member.objection = objection;
  options.now_ns = parts.now_ns;
  if (parts.device) options.introduction = encode_device(*parts.device);
  if (meter != nullptr) {
    options.next_statistics = [meter, rank = identity.rank] {
      return timed_collectives(*meter, rank);
    };
  }
  return options;
}

ControlOptions control_options(const CommunicatorIdentity& identity, const PluginOptions& options,
                               bool has_profiler, const PluginCost& cost,
                               const std::function<void(const std::string&)>& say) {
  return {.ranks = identity.ranks,
          .nodes = identity.nodes,
          .explore = options.explore,
          .is_reproducible = options.is_reproducible,
          .all_arms = options.all_arms,
          .has_profiler = has_profiler,
          .steps_back = !options.stays_on,
          .own_cost_percent = [&cost] { return cost.share_percent(); },
          .say = say};
}

}  // namespace

/// Rank 0's control with its thread. NCCL's thread tells it of calls through the log and the board.
class Communicator::ControlThread : private Ranks {
 public:
  ControlThread(const ControlOptions& options, std::unique_ptr<JobClients> clients,
                RankAgreement& agreement, std::int64_t (*now_ns)())
      : agreement_(agreement), now_ns_(now_ns), clients_(std::move(clients)) {
    control_.emplace(options, static_cast<Ranks&>(*this), tables_, *clients_);
    thread_ = start_quietly("hocket-tuner", [this] { run(); });
  }

  ~ControlThread() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void add(const LoggedCall& call) { log_.add(call); }
  TableBoard& tables() { return tables_; }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_ && !control_->is_off()) {
      changed_.wait_for(lock, kControlInterval, [this] { return ends_; });
      lock.unlock();
      LoggedCall call;
      while (log_.take(call)) control_->add_call(call);
      control_->advance(now_ns_());
      lock.lock();
    }
    changed_.wait(lock, [this] { return ends_; });
    // Its jobs end on their thread.
    control_.reset();
  }

  Proposed propose(const Schedule& schedule) override { return agreement_.propose(schedule); }
  Outcome outcome() override { return agreement_.outcome(); }
  std::string frozen() override { return agreement_.arbiter_frozen(); }
  std::vector<Arbiter::RankStatistics> take_statistics() override {
    return agreement_.take_statistics();
  }

  RankAgreement& agreement_;
  std::int64_t (*const now_ns_)();
  CallLog log_;
  TableBoard tables_;
  std::unique_ptr<JobClients> clients_;
  std::optional<Control> control_;  // used only by the communicator's thread

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;  // guarded by mutex_
  std::thread thread_;
};

Communicator::Communicator(const CommunicatorIdentity& identity, const PluginOptions& options,
                           measure::CollectiveMeter* meter, CommunicatorParts parts)
    : rendezvous_(std::move(parts.rendezvous)),
      meter_(meter),
      now_ns_(parts.now_ns),
      digest_(call_digest::kEmpty),
      cost_(parts.now_ns()),
      say_(parts.say),
      agreement_(agreement_options(identity, meter, parts), std::move(parts.links)) {
  if (identity.rank != 0) return;
  const bool has_profiler = meter != nullptr && meter->has_profiler();
  control_ = std::make_unique<ControlThread>(
      control_options(identity, options, has_profiler, cost_, parts.say), std::move(parts.clients),
      agreement_, parts.now_ns);
}

Communicator::~Communicator() = default;

void Communicator::decide(const CollectiveCall& call, CostTable table, int* channels) {
  // No gate can lie ahead any more.
  if (setting_.is_off) return;
  const std::uint64_t number = agreement_.count();
  if (!PluginCost::is_timed(number)) return count_and_choose(call, table, channels, number);
  const std::int64_t began_ns = now_ns_(), waited_ns = agreement_.waited_ns();
  count_and_choose(call, table, channels, number);
  const std::int64_t now_ns = now_ns_(), waited_in_all_ns = agreement_.waited_ns();
  cost_.add_decision(now_ns - began_ns - (waited_in_all_ns - waited_ns), number + 1,
                     waited_in_all_ns, now_ns);
}

void Communicator::count_and_choose(const CollectiveCall& call, CostTable table, int* channels,
                                    std::uint64_t number) {
  digest_ = call_digest::add(digest_, static_cast<std::uint32_t>(call.function), call.bytes,
                             static_cast<std::uint32_t>(call.operations));
  // Calls that only some ranks simulate may look like those which follow; what was launched does
  // not (agreement/protocol.h).
  const std::uint64_t launches = meter_ == nullptr ? 0 : meter_->launches();
  if (const SettingInForce* changed = agreement_.begin_call(digest_ ^ call_digest::mix(launches)))
    take_over(*changed);
  const bool is_known = call.function >= 0 && call.function < kFunctions;
  const CollectiveClass of = is_known ? class_of(call.function, call.bytes) : CollectiveClass{};
  if (control_ != nullptr) {
    const std::uint64_t token =
        call_digest::add(0, static_cast<std::uint32_t>(call.function), call.bytes,
                         static_cast<std::uint32_t>(call.operations));
    control_->add({.call = number,
                   .token = token,
                   .ns = now_ns_(),
                   .class_index = is_known ? of.index() : -1});
    if (is_known) control_->tables().offer(of.index(), table);
  }
  if (!is_known) return;
  const Choice& choice = setting_.of(of);
  if (!choice.is_default()) apply(choice, table, channels);
}

void Communicator::take_over(const SettingInForce& in_force) {
  setting_ = decode_setting(in_force.payload).value_or(Setting());
  cost_.set_events(setting_.events == Events::timed, now_ns_());
  if (meter_ != nullptr) meter_->ask_for(setting_.events);
  if (control_ != nullptr && setting_.is_off)
    say_("the plugin is off on all ranks after " + std::to_string(agreement_.count()) + " calls");
}

void Communicator::closed() {
  const std::string cost = cost_.line(agreement_.count(), agreement_.waited_ns(), now_ns_());
  if (control_ != nullptr && !cost.empty()) say_(cost);
  agreement_.close();
  control_.reset();
  delete this;
}

}  // namespace hocket::nccl
