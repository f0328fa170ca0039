#include "plugins/nccl/control/class_tuning.h"

#include <algorithm>
#include <utility>

#include "plugins/nccl/control/collective_trace.h"

namespace hocket::nccl {
namespace {

/// After a change, collectives that ran before it may still be reported for so long.
constexpr std::int64_t kSettleNs = 400'000'000;
/// Until the first measurement, for the program's start is not what it does later.
constexpr std::int64_t kFirstMeasureNs = 5'000'000'000;

bool is_same(const Setting& a, const Setting& b) {
  return a.choices == b.choices;
}

}  // namespace

Control::Control(ControlOptions options, Ranks& ranks, TableBoard& tables, JobClients& clients)
    : options_(std::move(options)),
      ranks_(ranks),
      tables_(tables),
      clients_(clients),
      guard_(options_.has_profiler && options_.steps_back),
      times_(options_.ranks) {}

void Control::add_call(const LoggedCall& call) {
  const bool had_period = finder_.calls_per_iteration() > 0;
  // Calls that were lost cannot be counted, and what is left would not be the loop's sequence.
  for (; calls_ < call.call; ++calls_) finder_.add(~calls_, call.ns);
  if (calls_ == 0) first_call_ns_ = call.ns;
  last_call_ns_ = call.ns;
  const auto ended = finder_.add(call.token, call.ns);
  ++calls_;
  if (ended) {
    iteration_calls_ = std::exchange(current_calls_, {});
    periods_ = static_cast<std::int64_t>(ended->periods);
    iteration_ns_ = ended->iteration_ns / periods_;
    for (auto& [index, calls] : iteration_calls_) calls /= ended->periods;
    iterations_.push_back(*ended);
  }
  const bool has_period = finder_.calls_per_iteration() > 0;
  if (has_period != had_period) current_calls_.clear();
  calls_without_period_ = finder_.has_period() ? 0 : calls_without_period_ + 1;
  if (call.class_index < 0) return;
  if (++current_calls_[call.class_index] == 1) tables_.ask(call.class_index);
}

void Control::advance(std::int64_t now_ns) {
  learn_outcome(now_ns);
  take_statistics();
  if (!guard_.must_be_off().empty()) return step_back(now_ns);
  if (!has_chosen_ && !iteration_calls_.empty() && finder_.calls_per_iteration() > 0) {
    kind_ = finder_.kind();
    of_other_kind_ = 0;
    choose_classes(iteration_calls_);
    measure_at_ns_ = now_ns + kFirstMeasureNs;
  } else if (!has_chosen_ && calls_without_period_ >= kCallsWithoutPeriod &&
             options_.has_profiler) {
    judges_collectives_ = true;
    guard_.cannot_compare();
    choose_classes(current_calls_);
  }
  // A loop whose period is found late is judged by its iterations after all.
  if (judges_collectives_ && !iterations_.empty() && trying() == nullptr)
    judges_collectives_ = false;
  for (; !iterations_.empty(); iterations_.pop_front()) {
    if (!judges_collectives_) pass(iterations_.front());
  }
  pass_collectives(now_ns);
  tell_measured(now_ns);
  tell_cost(now_ns);
  propose(now_ns);
}

void Control::take_statistics() {
  for (const auto& sent : ranks_.take_statistics()) {
    if (const auto device = decode_device(sent.bytes)) {
      guard_.add_device(sent.rank, *device);
    } else {
      times_.add(sent.rank, sent.bytes);
    }
  }
}

void Control::step_back(std::int64_t now_ns) {
  if (!std::exchange(steps_back_, true)) {
    options_.say("NCCL is left alone: " + guard_.must_be_off());
    jobs_.clear();
  }
  iterations_.clear();
  if (is_off() || pending_ || now_ns < not_before_ns_ || is_frozen()) return;
  Setting off;
  off.is_off = true;
  offer({off}, 0, now_ns);
}

bool Control::is_frozen() {
  const std::string why = ranks_.frozen();
  if (!why.empty() && !std::exchange(has_said_frozen_, true))
    options_.say("nothing is changed any more, since ranks could come to differ: " + why);
  return !why.empty();
}

void Control::learn_outcome(std::int64_t now_ns) {
  if (!pending_) return;
  const Outcome outcome = ranks_.outcome();
  const std::size_t gone = outcome.version == pending_->version ? outcome.gates_gone : 0;
  for (; pending_->gone < std::min(gone, pending_->calls.size()); ++pending_->gone) {
    timeline_.push_back({.first_call = pending_->calls[pending_->gone],
                         .setting = pending_->settings[pending_->gone]});
    changed_ns_ = now_ns;
    if (pending_->block > 0 && pending_->gone == 0) {
      block_ = pending_->block;
      tried_ = pending_->settings.front();
    }
    if (timeline_.size() > 2 * kMaxGates) timeline_.pop_front();
  }
  if (outcome.version == pending_->version && outcome.is_pending) return;
  if (outcome.has_stayed()) {
    not_before_ns_ = now_ns + kRetryNs;
    if (outcome.stayed != StayReason::passed) {
      options_.say("the ranks stay with their setting: " + std::string(text_of(outcome.stayed)) +
                   " (rank " + std::to_string(outcome.rank) + ")" +
                   (outcome.detail.empty() ? "" : ": " + outcome.detail));
    }
  }
  pending_.reset();
}

void Control::choose_classes(const CallsByClass& calls) {
  struct Weighed {
    CollectiveClass of;
    std::uint64_t calls = 0;
    double predicted_us = 0;
  };
  std::vector<Weighed> all;
  double sum_us = 0;
  for (const auto& [index, count] : calls) {
    auto table = tables_.find(index);
    if (!table) return;  // the table comes with the class's next call
    const Choice usual = cheapest(table->view());
    if (usual.algorithm < 0) continue;
    const double us = static_cast<double>(table->view().at(usual.algorithm, usual.protocol)) *
                      static_cast<double>(count);
    sum_us += us;
    all.push_back({class_at(index), count, us});
  }
  has_chosen_ = true;
  if (!judges_collectives_) {
    options_.say(
        "an iteration takes " + std::to_string(iteration_ns_ / 1000) + " us and has " +
        std::to_string(finder_.calls_per_iteration() / static_cast<std::size_t>(periods_)) +
        " collectives of " + std::to_string(calls.size()) + " classes" +
        (periods_ > 1 ? "; " + std::to_string(periods_) + " are measured together" : ""));
  }
  std::erase_if(all, [&](const Weighed& each) {
    return each.predicted_us < kLeastShare * sum_us ||
           (options_.is_reproducible && adds_values(each.of.function));
  });
  std::stable_sort(all.begin(), all.end(), [](const Weighed& a, const Weighed& b) {
    return a.predicted_us > b.predicted_us;
  });
  if (all.size() > kMostClasses) all.resize(kMostClasses);
  for (const Weighed& each : all)
    open(each.of, each.calls, options_.explore / static_cast<double>(all.size()));
  settled_ = chosen();
}

void Control::open(const CollectiveClass& of, std::uint64_t calls, double explore) {
  auto table = tables_.find(of.index());
  ClassJob job{.of = of, .ranks = options_.ranks, .nodes = options_.nodes};
  job.arms = arm_words(of.function, options_.all_arms);
  const Choice usual = cheapest(table->view());
  const float usual_us = table->view().at(usual.algorithm, usual.protocol);
  // Where nothing repeats, a step is kCollectivesPerStep collectives.
  const double collectives = static_cast<double>(judges_collectives_ ? kCollectivesPerStep : calls);
  const double rest_us = judges_collectives_ ? 0
                                             : static_cast<double>(iteration_ns_) / 1000 -
                                                   collectives * static_cast<double>(usual_us);
  job.allowed = job.tried = {"default"};
  for (const PredictedArm& arm : predicted(job.arms, table->view())) {
    const double us = std::max(rest_us, 0.0) + collectives * static_cast<double>(arm.us);
    const bool is_usual = arm.word == arm_word(usual.algorithm, usual.protocol);
    job.allowed.push_back(arm.word);
    if (!is_usual) job.tried.push_back(arm.word);
    job.predicted.push_back({is_usual ? "default" : arm.word,
                             std::max<std::int64_t>(static_cast<std::int64_t>(us * 1000), 1)});
  }
  job.explore = explore;
  job.may_try = [this] { return may_try(); };
  auto client = clients_.open(job);
  if (client) jobs_.push_back({.of = of, .client = std::move(client), .calls = calls});
}

Control::InForce* Control::in_force_throughout(const CallIteration& iteration) {
  const std::uint64_t end_call = iteration.first_call + iteration.calls;
  InForce* found = nullptr;
  for (InForce& each : timeline_) {
    // At a gate the host waits, which the iteration before it must not pay for.
    if (each.first_call > iteration.first_call && each.first_call <= end_call) return nullptr;
    if (each.first_call <= iteration.first_call) found = &each;
  }
  return found;
}

void Control::pass(const CallIteration& iteration) {
  of_other_kind_ = iteration.kind == kind_ ? 0 : of_other_kind_ + 1;
  if (of_other_kind_ >= kOfOtherKind && trying() == nullptr) {
    jobs_.clear();
    settled_ = {};
    has_chosen_ = false;
  }
  if (of_other_kind_ > 0) return;
  InForce* const held = in_force_throughout(iteration);
  if (held == nullptr) return;
  if (held->began_ns < 0) held->began_ns = iteration.began_ns;
  const bool is_drained = held->first_call == 0 || iteration.began_ns >= held->began_ns + kDrainNs;
  if (!is_drained || !is_same(held->setting, wanted())) return;
  const auto periods = static_cast<std::int64_t>(iteration.periods);
  const std::int64_t iteration_ns = iteration.iteration_ns / periods;
  const Events events = held->setting.events;
  if (trying() == nullptr) guard_.add_iterations(iteration_ns, periods, events);
  if (events != Events::timed && is_same(held->setting, chosen())) end_step(iteration_ns);
}

void Control::end_step(std::int64_t iteration_ns) {
  const Job* const before = trying();
  if (before == nullptr) ++plain_iterations_;
  for (Job& job : jobs_) {
    if (before == nullptr || &job == before) job.client->iteration_ended(iteration_ns);
  }
  after_step();
}

void Control::after_step() {
  if (trying() != nullptr) return;
  Setting now = chosen();
  if (is_same(now, settled_)) return;
  settled_ = now;
  plain_iterations_ = 0;
}

void Control::pass_collectives(std::int64_t now_ns) {
  const auto timed = times_.take();
  if (!judges_collectives_) return;
  if (!runs_as_wanted() || now_ns - changed_ns_ < kSettleNs) return;
  for (const TimedCollective& collective : timed) {
    for (Job& job : jobs_) {
      const Job* const before = trying();
      if (job.of != collective.of || (before != nullptr && before != &job)) continue;
      job.times_ns.push_back(collective.transfer_ns);
      if (job.times_ns.size() < kCollectivesPerStep) continue;
      std::int64_t sum_ns = 0;
      for (const std::int64_t ns : std::exchange(job.times_ns, {})) sum_ns += ns;
      if (before == nullptr) ++plain_iterations_;
      job.client->iteration_ended(std::max<std::int64_t>(sum_ns, 1));
      after_step();
      if (!runs_as_wanted()) return;
    }
  }
}

const Control::Job* Control::trying() const {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                  [](const Job& job) { return job.client->is_trying(); });
  return found == jobs_.end() ? nullptr : &*found;
}

bool Control::may_try() const {
  return trying() == nullptr && may_choose() && plain_iterations_ >= kIterationsBefore &&
         ranks_.frozen().empty();
}

Setting Control::chosen() const {
  Setting setting;
  for (const Job& job : jobs_) setting.of(job.of) = job.client->choice();
  return setting;
}

bool Control::may_choose() const {
  // Without a profiler nothing is ever counted.
  return !options_.has_profiler || (!guard_.is_comparing() && in_force().events >= Events::counted);
}

Setting Control::wanted() const {
  Setting setting = may_choose() ? chosen() : Setting();
  setting.events = wanted_events();
  return setting;
}

Events Control::wanted_events() const {
  if (!options_.has_profiler) return Events::none;
  const Events wanted = judges_collectives_ ? Events::timed : guard_.events();
  return in_force().events == Events::none ? std::min(wanted, Events::asked) : wanted;
}

bool Control::runs_as_wanted() const {
  return timeline_.back().setting == wanted();
}

std::uint64_t Control::calls_per_step() const {
  if (finder_.calls_per_iteration() > 0) return finder_.calls_per_iteration();
  const Job* const job = trying();
  const std::uint64_t of_class = job == nullptr ? 1 : std::max<std::uint64_t>(job->calls, 1);
  return kCollectivesPerStep * std::max<std::uint64_t>(calls_without_period_ / of_class, 1);
}

void Control::propose(std::int64_t now_ns) {
  if (pending_ || now_ns < not_before_ns_ || jobs_.empty() || is_frozen()) return;
  const Setting want = wanted();
  if (trying() != nullptr && !is_same(want, settled_)) return propose_block(want, now_ns);
  if (!(want == in_force())) return offer({want}, 0, now_ns);
  propose_measuring(now_ns);
}

void Control::propose_block(const Setting& tried, std::int64_t now_ns) {
  const std::uint64_t block =
      is_same(tried, tried_) ? std::min(2 * block_, kMostTried) : kFirstTried;
  std::uint64_t calls = block * calls_per_step();
  if (judges_collectives_ && last_call_ns_ > first_call_ns_) {
    const double calls_per_ns =
        static_cast<double>(calls_) / static_cast<double>(last_call_ns_ - first_call_ns_);
    calls += static_cast<std::uint64_t>(2 * kSettleNs * calls_per_ns);
  }
  Setting after = settled_;
  after.events = tried.events;
  offer({tried, after}, calls, now_ns);
  if (pending_) pending_->block = block;
}

void Control::propose_measuring(std::int64_t now_ns) {
  if (!options_.has_profiler || judges_collectives_ || guard_.is_comparing() ||
      trying() != nullptr || finder_.calls_per_iteration() == 0 || tell_at_ns_ != 0) {
    return;
  }
  if (wanted_iterations_ == 0) wanted_iterations_ = take_profile_request();
  if (!guard_.timing_cost().empty()) {
    const bool is_asked = std::exchange(wanted_iterations_, 0) > 0;
    if (!std::exchange(has_said_timing_cost_, true) || is_asked)
      options_.say("collectives are not timed any more: " + guard_.timing_cost());
    return;
  }
  const std::int64_t profiled = wanted_iterations_;
  if (now_ns < measure_at_ns_ && profiled == 0) return;
  measure_at_ns_ = now_ns + kMeasureEveryNs;
  Setting usual = settled_, timed = settled_;
  usual.events = Events::counted;
  timed.events = Events::timed;
  const std::int64_t all_ns = std::max<std::int64_t>(iteration_ns_ * periods_, 1);
  const std::int64_t iterations =
      profiled > 0 ? std::min((profiled + periods_ - 1) / periods_, kMostProfiled)
                   : std::clamp<std::int64_t>(kMeasureNs / all_ns, 2, 50);
  offer({timed, usual}, static_cast<std::uint64_t>(iterations) * finder_.calls_per_iteration(),
        now_ns);
  if (!pending_) return;
  wanted_iterations_ = 0;
  profiled_iterations_ = profiled > 0 ? iterations * periods_ : 0;
  tell_at_ns_ = now_ns + 2 * kMeasureNs + 2 * iterations * all_ns;
}

void Control::offer(std::vector<Setting> settings, std::uint64_t return_after_calls,
                    std::int64_t now_ns) {
  Schedule schedule;
  for (const Setting& setting : settings) schedule.payloads.push_back(encode(setting));
  schedule.entries.push_back({.after_calls = 0, .payload = 0, .is_return = false});
  if (settings.size() > 1) {
    schedule.entries.push_back({.after_calls = std::max<std::uint64_t>(return_after_calls, 1),
                                .payload = 1,
                                .is_return = true});
  }
  schedule.period_calls = finder_.calls_per_iteration();
  if (schedule.period_calls > 0) schedule.boundary_call = finder_.next_boundary(calls_);
  const Proposed proposed = ranks_.propose(schedule);
  if (proposed.version == 0) {
    not_before_ns_ = now_ns + kRetryNs;
    return;
  }
  Pending pending{.version = proposed.version, .calls = {}, .settings = std::move(settings)};
  for (const Schedule::Entry& entry : schedule.entries)
    pending.calls.push_back(proposed.first_call + entry.after_calls);
  pending_ = std::move(pending);
}

std::int64_t Control::take_profile_request() {
  for (Job& job : jobs_) {
    const std::int64_t iterations = job.client->take_profile_request();
    if (iterations == 0) continue;
    profiled_class_ = job.of;
    return iterations;
  }
  return 0;
}

void Control::save_profile(const std::vector<measure::RankCollectives>& collectives) {
  const std::int64_t iterations = std::exchange(profiled_iterations_, 0);
  if (iterations == 0) return;
  const auto traces = traces_of(collectives, options_.ranks, iterations);
  for (Job& job : jobs_)
    if (job.of == profiled_class_) job.client->save_profile(traces);
}

void Control::tell_cost(std::int64_t now_ns) {
  if (jobs_.empty() || now_ns < tell_cost_at_ns_) return;
  const double percent = options_.own_cost_percent();
  if (percent < 0) return;
  tell_cost_at_ns_ = now_ns + kTellCostEveryNs;
  for (Job& job : jobs_) job.client->costs(percent);
}

void Control::tell_measured(std::int64_t now_ns) {
  if (judges_collectives_ && tell_at_ns_ == 0) tell_at_ns_ = now_ns + kMeasureEveryNs;
  if (tell_at_ns_ == 0 || now_ns < tell_at_ns_) return;
  tell_at_ns_ = 0;
  const std::vector<measure::RankCollectives> all = times_.take_all();
  save_profile(all);
  const measure::MergedStatistics merged = measure::merge(all, options_.ranks);
  if (merged.late) {
    options_.say("rank " + std::to_string(merged.late->rank) + " comes late: it was the last in " +
                 std::to_string(merged.late->last_in) + " of " +
                 std::to_string(merged.late->collectives) + " collectives, and the others waited " +
                 std::to_string(merged.late->median_waiting_ns / 1000) + " us for it");
  }
  if (!judges_collectives_) {
    const auto waited_ns =
        measure::waiting_of(all, options_.ranks, std::max<std::int64_t>(iteration_ns_, 1));
    for (Job& job : jobs_) job.client->waited(waited_ns);
  }
  for (Job& job : jobs_) {
    for (const measure::ClassStatistics& each : merged.classes) {
      if (each.of != job.of || each.count == 0) continue;
      ClassMeasurement measurement;
      measurement.calls_per_iteration = judges_collectives_ ? 0 : job.calls;
      measurement.transfer_us = static_cast<double>(each.median_ns) / 1000;
      measurement.waiting_us = static_cast<double>(each.median_waiting_ns) / 1000;
      measurement.bytes = each.bytes / each.count;
      if (merged.late) measurement.late_rank = merged.late->rank;
      if (!each.ways.empty()) {
        const measure::WayThatRan& way = each.ways.front();
        measurement.channels = way.channels;
        measurement.ran = arm_word(way.algorithm, way.protocol) + ", " +
                          std::to_string(way.channels) +
                          (way.channels == 1 ? " channel" : " channels");
      }
      job.client->measured(measurement);
    }
  }
}

}  // namespace hocket::nccl
