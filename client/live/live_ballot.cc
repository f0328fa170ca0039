#include "client/live/live_ballot.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

/// Steps whose use of the process is kept; a step is counted sooner.
constexpr std::size_t kProcessSteps = 16;

}  // namespace

LiveBallot::LiveBallot(LiveBallotOptions options, int rank, int world_size, DaemonLink* link,
                       const Clock& clock)
    : options_(std::move(options)),
      link_(link),
      clock_(clock),
      running_(options_.tuning.config),
      ran_{{0, 0}},
      told_(options_.tuning.config, options_.tuning.version),
      agreement_(rank, options_.decides_alone ? 1 : world_size,
                 [this](const std::string& payload) { return accept(payload); }),
      counters_(rank, options_.decides_alone ? 1 : world_size) {
  if (rank != 0 || !link) return;
  LiveControllerOptions tuning = options_.tuning;
  tuning.can_profile = options_.on_profile != nullptr && !options_.decides_alone;
  tuning.first_step = options_.first_step;
  tuning.payload_of = [this](const ScheduleConfig& config) { return payload_of(config); };
  controller_.emplace(std::move(tuning), agreement_);
}

void LiveBallot::fill(std::span<float> ballot) {
  const std::lock_guard lock(mutex_);
  agreement_.contribute(ballot.first(agreement_.slots()));
  counters_.contribute(ballot.subspan(agreement_.slots()));
}

void LiveBallot::read(std::span<const float> sum) {
  const std::lock_guard lock(mutex_);
  agreement_.tally(sum.first(agreement_.slots()));
  auto counted = counters_.tally(sum.subspan(agreement_.slots()));
  if (!counted || !controller_) return;
  counted->step += options_.first_step;
  controller_->counted(std::move(*counted));
}

void LiveBallot::counted(std::int64_t step, RankCounters counters) {
  if (counters_.slots() == 0) return;
  process_.start();
  const std::int64_t local = step - options_.first_step;
  const auto use =
      std::ranges::find(process_use_, local, &std::pair<std::int64_t, ProcessUse>::first);
  if (use != process_use_.end()) {
    counters.processor_ns = use->second.processor_ns;
    counters.sending_ns = use->second.sending_ns;
  }
  const std::lock_guard lock(mutex_);
  counters_.add(local, counters);
}

void LiveBallot::ranks_counted(CountedSteps counted) {
  const std::lock_guard lock(mutex_);
  if (controller_) controller_->counted(std::move(counted));
}

std::optional<LiveSetting> LiveBallot::step_ended() {
  if (counters_.slots() > 0) {
    if (const auto use = process_.step_ended(clock_.now_ns()))
      process_use_.emplace_back(steps_, *use);
    if (process_use_.size() > kProcessSteps) process_use_.pop_front();
  }
  ++steps_;
  std::optional<SwitchAgreement::Configuration> due;
  std::optional<ProfileOrder> profile;
  {
    const std::lock_guard lock(mutex_);
    if (options_.decides_alone) {
      if (controller_) tune();
      due = decide_alone();
    } else {
      HOCKET_CHECK(agreement_.ballots() >= steps_ - kStepsAhead, "a step has no ballot");
      due = agreement_.due(steps_);
      profile = agreement_.profile();
      if (controller_) tune();
    }
  }
  if (const auto wanted = std::exchange(wanted_profile_, std::nullopt))
    options_.on_profile(steps_, wanted->iterations);
  if (profile != told_profile_) {
    told_profile_ = profile;
    if (options_.on_profile) options_.on_profile(profile->first_step, profile->steps);
  }
  if (controller_) send_report();
  if (!due) return std::nullopt;
  ran_.emplace_back(steps_, due->id);
  auto setting = due->id == 0 ? LiveSetting{options_.tuning.config, options_.static_order}
                              : parse(due->payload);
  HOCKET_CHECK(setting, "a payload was accepted that cannot be read");
  running_ = setting->config;
  return std::move(*setting);
}

/// Holds as many ballots as a selection needs to take effect (switch_agreement.h), so that one made
/// before them does so now.
std::optional<SwitchAgreement::Configuration> LiveBallot::decide_alone() {
  constexpr int kBallotsToEffect = 3;
  std::vector<float> ballot(agreement_.slots());
  std::optional<SwitchAgreement::Configuration> last;
  for (int i = 0; i < kBallotsToEffect; ++i) {
    agreement_.contribute(ballot);
    agreement_.tally(ballot);
    if (auto due = agreement_.due(++ballots_)) last = std::move(due);
  }
  return last;
}

bool LiveBallot::measured(const std::string& name, double value) {
  const std::lock_guard lock(mutex_);
  return !controller_ || controller_->measured(name, value);
}

void LiveBallot::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (controller_) controller_->note(text);
}

void LiveBallot::program_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (controller_) controller_->program_step(step);
}

std::optional<JobProgress> LiveBallot::progress() const {
  const std::lock_guard lock(mutex_);
  return controller_ ? controller_->progress() : std::nullopt;
}

void LiveBallot::tune() {
  while (auto message = link_->take()) {
    const auto complete = [&](auto& received) {
      if constexpr (requires { received.config; })
        received.config = with_declared_defaults(std::move(received.config), options_.declared);
    };
    std::visit(complete, *message);
    const auto* const profile = std::get_if<ProfileMessage>(&*message);
    if (profile != nullptr && options_.decides_alone && options_.on_profile) {
      wanted_profile_ = *profile;
    } else {
      controller_->receive(*message);
    }
  }
  controller_->advance(clock_.now_ns());
}

void LiveBallot::iteration(std::int64_t step, std::int64_t wall_ns,
                           const std::optional<JobActivity>& activity) {
  if (!controller_) return;
  const std::int64_t local = step - options_.first_step;
  HOCKET_CHECK(local >= 0 && local <= steps_, "an iteration of a step that was not submitted");
  while (ran_.size() > 1 && ran_[1].first <= local) ran_.pop_front();
  const auto under_way = std::min<std::int64_t>(steps_ - local, std::numeric_limits<int>::max());
  const std::lock_guard lock(mutex_);
  controller_->iteration(step, ran_.front().second, wall_ns, static_cast<int>(under_way), activity);
}

void LiveBallot::finish() {
  if (!controller_) return;
  {
    const std::lock_guard lock(mutex_);
    controller_->finish();
  }
  send_report();
}

void LiveBallot::send_report() {
  const std::pair now(controller_->config(), controller_->version());
  if (now != told_) {
    link_->update(now.first, now.second);
    told_ = now;
  }
  if (auto report = controller_->take_report()) link_->report(std::move(*report));
}

Result<LiveSetting> LiveBallot::parse(const std::string& payload) {
  const auto document = parse_object(payload, "rank 0's configuration");
  HOCKET_TRY(document);
  JsonReader reader(*document);
  LiveSetting setting;
  reader.part("config", setting.config, read_schedule_config);
  reader.array("static_order", [&](const JsonValue& collective) {
    setting.static_order.push_back(
        static_cast<std::uint32_t>(collective.integer(0, SwitchAgreement::kMaxPayloadBytes)));
  });
  return reader.result(std::move(setting));
}

Result<void> LiveBallot::accept(const std::string& payload) const {
  const auto setting = parse(payload);
  HOCKET_TRY(setting);
  return options_.accept ? options_.accept(setting->config) : Result<void>();
}

Result<std::string> LiveBallot::payload_of(const ScheduleConfig& config) const {
  // Checked here as well as in accept(), so that rank 0's reason reaches the user.
  if (options_.accept) {
    HOCKET_TRY(options_.accept(config));
  }
  std::vector<std::uint32_t> order;
  if (config.order == CollectiveOrder::static_order) {
    if (!options_.static_order_of) {
      return failure(ErrorCode::invalid_argument,
                     "order=static: this job has no description of its step to make one from");
    }
    auto made = options_.static_order_of(config);
    if (!made) return failure(made.error().in("order=static"));
    order = std::move(*made);
  }
  return nlohmann::json{{"config", to_json(config)}, {"static_order", order}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hocket
