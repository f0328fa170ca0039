#include "client/live/live_controller.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// A candidate's iteration longer than this multiple of the usual time ends its window at once.
constexpr double kHopeless = 10;
/// Relative change of the usual iteration time beyond which earlier rejections no longer count.
constexpr double kOtherTime = 0.1;
/// Counted entries that say how the job does now.
constexpr std::size_t kMostRecentCounted = 50;
/// A window may take one in so many of the job's iterations so far, and at least the second number.
constexpr std::size_t kPartOfWindow = 4, kShortestWindow = 40;
/// Iterations that tell the noise before the first window.
constexpr std::size_t kMostCalm = 96;

std::string milliseconds(double ns) {
  char text[40];
  std::snprintf(text, sizeof text, ns < 1e6 ? "%.3f ms" : "%.1f ms", ns / 1e6);
  return text;
}

std::string value_text(const std::string& knob, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() && knob.ends_with("_bytes"))
    return size_with_unit(value.get<std::int64_t>());
  return value.dump();
}

/// Returns the knobs in which `to` differs, with their values: "streams 4, bucket_bytes 4 MiB".
std::string changes(const ScheduleConfig& from, const ScheduleConfig& to) {
  const auto values = knob_values(to);
  std::string text;
  for (const std::string& name : changed_knobs(from, to)) {
    // A knob of a region may no longer exist.
    const auto value = values.value(name, nlohmann::json("as elsewhere"));
    text += (text.empty() ? "" : ", ") + name + " " + value_text(name, value);
  }
  return text;
}

}  // namespace

LiveController::LiveController(LiveControllerOptions options, SwitchAgreement& agreement)
    : options_(std::move(options)),
      agreement_(agreement),
      budget_(options_.explore),
      current_{agreement.running().id, options_.config, options_.version},
      profiles_(agreement, options_.first_step),
      newest_version_(options_.version) {}

void LiveController::receive(const DaemonMessage& message) {
  if (const auto* push = std::get_if<ConfigMessage>(&message)) {
    const std::string origin = push->origin.empty() ? "" : " (" + push->origin + ")";
    receive_push({push->config,
                  push->version,
                  {},
                  "version " + std::to_string(push->version) + origin,
                  push->at_once});
  } else if (const auto* profile = std::get_if<ProfileMessage>(&message)) {
    receive_profile(*profile);
  } else {
    const auto& candidate = std::get<CandidateMessage>(message);
    receive_candidate(
        {candidate.config, {}, candidate.trial, "trial " + std::to_string(candidate.trial)});
  }
}

void LiveController::receive_push(Wish wish) {
  const std::int64_t version = *wish.version;
  if (push_ && push_->version == version) return;
  if (attempt_ && attempt_->wish.version == version) return;
  if (version < newest_version_) {
    return reject(wish, "it is older than version " + std::to_string(newest_version_) +
                            ", which came before it");
  }
  if (const auto why = objection(wish)) return reject(wish, *why);
  const std::string replaced = "replaced by version " + std::to_string(version);
  if (push_) reject(*push_, replaced);
  push_.reset();
  const bool runs_already = wish.config == current_.config;
  if (attempt_ && (!runs_already || attempt_->wish.version)) end_attempt(replaced);
  newest_version_ = version;
  if (runs_already) {
    take_over(wish, current_.id);
    return add_outcome(wish, ChangeStatus::applied, "it is what the job runs with");
  }
  push_ = std::move(wish);
}

void LiveController::receive_candidate(Wish wish) {
  if (attempt_ && attempt_->wish.trial == wish.trial) return;
  if (candidate_ && candidate_->trial == wish.trial) return;
  if (const auto why = objection(wish)) return reject(wish, *why);
  if (candidate_) reject(*candidate_, "replaced by " + wish.name);
  candidate_ = std::move(wish);
}

void LiveController::receive_profile(const ProfileMessage& message) {
  if (!options_.can_profile) {
    return say("profile request " + std::to_string(message.request) +
               " is not taken up: this job records no profiles while it trains");
  }
  if (const auto line = profiles_.ask(message)) say(*line);
}

std::optional<std::string> LiveController::objection(const Wish& wish) const {
  if (const auto valid = validate(wish.config); !valid) return valid.error().message;
  if (wish.trial && options_.explore == 0) {
    return "the job tries no candidates: its share of time for them is 0";
  }
  if (wish.trial && wish.config == current_.config) return "it is what the job runs with";
  const auto is_barred = [&](const Quarantined& entry) {
    return entry.config == wish.config && wish.version.value_or(0) <= entry.newest_version &&
           (recent_ns_.empty() || std::abs(usual_ns() / entry.usual_ns - 1) < kOtherTime);
  };
  if (std::ranges::any_of(quarantine_, is_barred)) return "it was tried in this job and slower";
  return std::nullopt;
}

void LiveController::iteration(std::int64_t step, int id, std::int64_t iteration_ns, int under_way,
                               const std::optional<JobActivity>& activity) {
  step_ = step;
  ++iterations_;
  since_switch_ = last_id_ && *last_id_ != id ? 1 : since_switch_ + 1;
  const bool settled = last_id_ && since_switch_ > options_.window.dropped_iterations;
  last_id_ = id;
  count_cost(id, iteration_ns, settled);
  if (id == current_.id && settled) {
    recent_ns_.push_back(iteration_ns);
    if (recent_ns_.size() > AbWindow::kMostRecent) recent_ns_.pop_front();
    calm_ns_.push_back(iteration_ns);
    if (calm_ns_.size() > kMostCalm) calm_ns_.pop_front();
    if (unreported_ns_.size() < kMaxReportedIterations) unreported_ns_.push_back(iteration_ns);
    if (activity) unreported_activity_.add(*activity, iteration_ns);
  }
  if (!attempt_ || !attempt_->window) return;
  if (id == attempt_->id) attempt_->window->add(AbSide::candidate, iteration_ns, under_way);
  if (id == current_.id) attempt_->window->add(AbSide::current, iteration_ns, under_way);
}

void LiveController::counted(CountedSteps counted) {
  if (!attempt_) {
    recent_counted_.push_back(counted);
    if (recent_counted_.size() > kMostRecentCounted) recent_counted_.pop_front();
  }
  counted_ranks_ += counted.ranks.size();
  counted_.push_back(std::move(counted));
  for (; counted_ranks_ > kMaxReportedCounters; counted_.pop_front())
    counted_ranks_ -= counted_.front().ranks.size();
}

void LiveController::count_cost(int id, std::int64_t iteration_ns, bool settled) {
  const bool exploring = tried_.contains(id) || (!tried_.empty() && !settled);
  if (exploring && !recent_ns_.empty()) {
    budget_.explored(iteration_ns, mean(std::vector<double>(recent_ns_.begin(), recent_ns_.end())));
  } else {
    budget_.trained(iteration_ns);
  }
}

double LiveController::usual_ns() const {
  return median({recent_ns_.begin(), recent_ns_.end()});
}

void LiveController::advance(std::int64_t now_ns) {
  if (attempt_ && !attempt_->window) await_agreement(now_ns);
  if (attempt_ && attempt_->window) {
    const auto verdict = attempt_->window->verdict();
    if (verdict) noise_ = attempt_->window->noise();
    if (verdict && verdict->keep) {
      keep(*verdict);
    } else if (verdict) {
      if (verdict->slower)
        quarantine_.push_back({attempt_->wish.config, newest_version_, usual_ns()});
      end_attempt(verdict->reason);
    } else {
      const bool candidate = attempt_->window->next() == AbSide::candidate;
      agreement_.select(candidate ? attempt_->id : current_.id);
    }
  }
  if (const auto line = profiles_.advance(!attempt_ && !(push_ && is_warm()))) say(*line);
  if (!attempt_) start_next(now_ns);
}

void LiveController::await_agreement(std::int64_t now_ns) {
  switch (agreement_.standing()) {
    case SwitchAgreement::Standing::agreed:
      return attempt_->wish.at_once ? take_at_once() : begin_window();
    case SwitchAgreement::Standing::refused:
      return end_attempt("rank " + std::to_string(agreement_.refused_by()) + " refused it");
    default:
      break;
  }
  if (now_ns - attempt_->asked_ns < options_.agreement_ns) return;
  end_attempt("not every rank accepted it within " +
              std::to_string(options_.agreement_ns / 1'000'000) + " ms");
}

void LiveController::begin_window() {
  AbWindowOptions options = options_.window;
  const double usual = usual_ns();
  double longest_ns = kHopeless * usual;
  if (attempt_->wish.trial) {
    longest_ns = std::min(longest_ns, usual + budget_.left_ns());
  } else {
    options.keep_undecided = true;
  }
  options.longest_ns = static_cast<std::int64_t>(longest_ns);
  if (noise_.empty())
    noise_ = AbWindow::noise_of(std::vector<std::int64_t>(calm_ns_.begin(), calm_ns_.end()),
                                options.block_iterations);
  options.noise = noise_;
  // A job that has just begun learns more from several short windows.
  options.usual_iterations =
      std::clamp(iterations_ / kPartOfWindow, kShortestWindow, options.most_iterations);
  options.seed += static_cast<std::uint64_t>(tried_count_);
  attempt_->window.emplace(options,
                           std::vector<std::int64_t>(recent_ns_.begin(), recent_ns_.end()));
  tried_.insert(attempt_->id);
  if (first_usual_ns_ == 0) first_usual_ns_ = usual;
  ++tried_count_;
  const std::string changed = changes(current_.config, attempt_->wish.config);
  say("trying " + attempt_->wish.name + ": " + (changed.empty() ? "the same knobs" : changed));
}

void LiveController::take_at_once() {
  const Attempt attempt = *std::exchange(attempt_, std::nullopt);
  const std::string changed = changes(current_.config, attempt.wish.config);
  say("took " + attempt.wish.name + " at once: " + (changed.empty() ? "the same knobs" : changed));
  if (first_usual_ns_ == 0 && is_warm()) first_usual_ns_ = usual_ns();
  agreement_.select(attempt.id);
  take_over(attempt.wish, attempt.id);
  add_outcome(attempt.wish, ChangeStatus::applied, "an operator decided on it");
  // The times so far are those of the configuration before.
  recent_ns_.clear();
  unreported_ns_.clear();
  unreported_activity_.clear();
}

bool LiveController::is_warm() const {
  const auto block = static_cast<std::size_t>(options_.window.block_iterations);
  return recent_ns_.size() >= std::max(AbWindow::kFewestBefore, block);
}

void LiveController::start_next(std::int64_t now_ns) {
  if (!is_warm() && !(push_ && push_->at_once)) return;
  const bool is_measured = !(push_ && push_->at_once);
  if ((push_ || candidate_) && is_measured && options_.may_try && !options_.may_try()) return;
  if (push_) return start(*std::exchange(push_, std::nullopt), now_ns);
  if (!candidate_ || profiles_.is_busy()) return;
  // A decision made since the candidate arrived may exclude it.
  if (const auto why = objection(*candidate_)) {
    return reject(*std::exchange(candidate_, std::nullopt), *why);
  }
  // Detecting a candidate that is twice as slow costs the guard about one usual iteration time.
  if (budget_.may_start(usual_ns())) start(*std::exchange(candidate_, std::nullopt), now_ns);
}

void LiveController::start(Wish wish, std::int64_t now_ns) {
  auto payload = options_.payload_of(wish.config);
  if (payload && payload->size() > SwitchAgreement::kMaxPayloadBytes) {
    payload = failure(ErrorCode::invalid_argument,
                      "its order of collectives is too long to tell the other ranks (" +
                          std::to_string(payload->size()) + " B of at most " +
                          std::to_string(SwitchAgreement::kMaxPayloadBytes) +
                          " B); raise partition_bytes");
  }
  if (!payload) return reject(wish, payload.error().message);
  attempt_ = Attempt{std::move(wish), agreement_.propose(std::move(*payload)), now_ns};
}

void LiveController::reject(const Wish& wish, const std::string& why) {
  const bool was_tried = attempt_ && attempt_->window && attempt_->wish.version == wish.version &&
                         attempt_->wish.trial == wish.trial;
  if (!was_tried) ++left_out_;
  say(wish.name + " rejected: " + why);
  add_outcome(wish, ChangeStatus::rejected, why);
}

void LiveController::end_attempt(const std::string& why) {
  budget_.window_ended();
  agreement_.withdraw();
  agreement_.select(current_.id);
  // The end of the job is no verdict on a version, which would be withdrawn from all jobs.
  if (!has_measured() || (ends_ && attempt_->wish.version)) {
    reject(attempt_->wish, why);
  } else {
    say("back: " + why);
    add_outcome(attempt_->wish, ChangeStatus::rolled_back, why);
  }
  attempt_.reset();
}

bool LiveController::has_measured() const {
  return attempt_->window && !attempt_->window->candidate_ns().empty();
}

void LiveController::keep(const AbWindowVerdict& verdict) {
  ++kept_count_;
  budget_.window_ended();
  const std::string changed = changes(current_.config, attempt_->wish.config);
  say("kept " + (changed.empty() ? "the same knobs" : changed) + ", " + verdict.reason);
  add_outcome(attempt_->wish, ChangeStatus::applied, verdict.reason);
  agreement_.select(attempt_->id);
  tried_.erase(attempt_->id);
  take_over(attempt_->wish, attempt_->id);
  unreported_ns_.clear();
  unreported_activity_.clear();
  const auto& measured = attempt_->window->candidate_ns();
  recent_ns_.assign(measured.end() - std::min(std::ssize(measured),
                                              static_cast<std::ptrdiff_t>(AbWindow::kMostRecent)),
                    measured.end());
  attempt_.reset();
}

void LiveController::take_over(const Wish& wish, int id) {
  current_ = {id, wish.config, wish.version.value_or(0)};
  recent_counted_.clear();
}

void LiveController::add_outcome(const Wish& wish, ChangeStatus status,
                                 const std::string& message) {
  ChangeOutcome outcome{wish.version, wish.trial, status, message};
  const bool is_of_attempt =
      attempt_ && attempt_->wish.version == wish.version && attempt_->wish.trial == wish.trial;
  if (is_of_attempt && has_measured()) {
    outcome.current_ns = attempt_->window->current_ns();
    outcome.candidate_ns = attempt_->window->candidate_ns();
    const auto& verdict = attempt_->window->verdict();
    outcome.slower = verdict && verdict->slower;
  }
  outcomes_.push_back(std::move(outcome));
}

void LiveController::finish() {
  const std::string why = "the job ended first";
  ends_ = true;
  const std::string why_nothing = why_nothing_was_tried();  // before what waits is turned away
  if (attempt_) end_attempt(why);
  for (auto* wish : {&push_, &candidate_}) {
    if (*wish) reject(**wish, why);
    wish->reset();
  }
  if (const auto line = profiles_.finish()) say(*line);
  if (options_.explore > 0 || tried_count_ + left_out_ > 0) options_.say(summary(why_nothing));
  finished_ = true;
}

std::optional<JobReport> LiveController::take_report() {
  const bool is_last = std::exchange(finished_, false);
  if (!is_last && outcomes_.empty() && unreported_ns_.size() < options_.report_iterations) {
    return std::nullopt;
  }
  std::vector<CountedSteps> counted(std::move_iterator(counted_.begin()),
                                    std::move_iterator(counted_.end()));
  counted_.clear();
  counted_ranks_ = 0;
  return JobReport{options_.job,
                   current_.version,
                   shown_step(),
                   std::exchange(unreported_ns_, {}),
                   std::exchange(outcomes_, {}),
                   explored(),
                   is_last,
                   unreported_activity_.take(),
                   values_,
                   note_,
                   std::move(counted)};
}

std::optional<JobProgress> LiveController::progress() const {
  if (recent_ns_.empty()) return std::nullopt;
  return JobProgress{.step = shown_step(),
                     .iteration_ns = usual_ns(),
                     .waiting = waiting_of(recent_counted_, usual_ns()),
                     .explored = explored(),
                     .tried = tried_count_,
                     .kept = kept_count_};
}

std::string LiveController::why_nothing_was_tried() const {
  if (left_out_ > 0) return "left out " + std::to_string(left_out_);
  if (push_ || attempt_) return "the job ended before it could switch";
  if (candidate_)
    return "the job ended before its budget of " + percent(options_.explore) + " allowed it";
  return "no candidate came";
}

std::string LiveController::summary(const std::string& why_nothing) const {
  const std::string left_out = left_out_ > 0 ? "; left out " + std::to_string(left_out_) : "";
  if (tried_count_ == 0)
    return "nothing was tried: " + why_nothing +
           (recent_ns_.empty() ? "" : "; iteration " + milliseconds(usual_ns()));
  const std::string changed = changes(options_.config, current_.config);
  std::string text =
      "settled on " + (changed.empty() ? "the configuration that it began with" : changed);
  if (!recent_ns_.empty()) {
    const double now = usual_ns(), before = first_usual_ns_ > 0 ? first_usual_ns_ : now;
    // Without a change the difference says nothing about the configuration.
    text +=
        ": iteration " + (changed.empty() ? "" : milliseconds(before) + " -> ") + milliseconds(now);
    if (!changed.empty())
      text += ", " + percent(std::abs(1 - now / before)) + (now <= before ? " faster" : " slower");
  }
  text += "; tried " + std::to_string(tried_count_) + ": kept " + std::to_string(kept_count_) +
          ", went back from " + std::to_string(tried_count_ - kept_count_);
  return text + left_out + "; trying took " + percent(explored()) + " of the time";
}

void LiveController::say(const std::string& text) const {
  options_.say("step " + std::to_string(shown_step()) + ": " + text);
}

}  // namespace hocket
