#include "tuner/study/time_budget.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/protocol/promotion_rule.h"
#include "tuner/study/study.h"

namespace hocket {
namespace {

/// Nobody divides more of the time than this share for confirmations that might not be needed.
constexpr std::int64_t kConfirmationParts = 3;
/// Processes of short runs begin and end more slowly on a busy host.
constexpr std::int64_t kRunAllowanceNs = 50'000'000;

std::string runs_text(std::int64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace

ConfirmationRuns confirmation_runs(const StudyDefinition& definition) {
  const auto pairs = static_cast<int>(std::min<std::int64_t>(definition.confirm_pairs, 1000));
  // The default, the winner, and another measured setting that may beat it.
  const int in_pair = definition.compares_measured ? 3 : 2;
  const int settings = definition.other_objectives.empty() ? in_pair : 1 + kMostFrontPoints;
  return {settings * std::min(pairs, kFewestPairs), settings * pairs};
}

void TimeBudget::took(std::int64_t run_ns) {
  longest_ns_ = std::max(longest_ns_, run_ns);
}

std::int64_t TimeBudget::expected_ns() const {
  return longest_ns_ == 0 ? 0 : longest_ns_ + longest_ns_ / 10 + kRunAllowanceNs;
}

int TimeBudget::runs_set_aside() const {
  const std::int64_t run_ns = std::max<std::int64_t>(expected_ns(), 1);
  if (longest_ns_ == 0 || total_ns_ / run_ns < confirmation_.fewest + 2) return 0;
  const std::int64_t fit = total_ns_ / kConfirmationParts / run_ns;
  return static_cast<int>(std::clamp<std::int64_t>(fit, confirmation_.fewest, confirmation_.most));
}

std::int64_t TimeBudget::deadline_ns(TrialPhase phase) const {
  if (phase == TrialPhase::confirm) return end_ns();
  return end_ns() - runs_set_aside() * expected_ns();
}

std::string TimeBudget::why_none_fits(TrialPhase phase, std::int64_t now_ns,
                                      std::int64_t searched) const {
  if (now_ns < end_ns() && now_ns + expected_ns() <= deadline_ns(phase)) return {};
  std::string text = "the " + time_span_text(total_ns_) + " of --max-time";
  if (phase == TrialPhase::confirm) {
    return text + " have no room for another confirmation run, which takes about " +
           time_span_text(expected_ns());
  }
  text += " have no room for another trial after " + runs_text(searched, "trial");
  if (const int runs = runs_set_aside(); runs > 0)
    text += ", with " + runs_text(runs, "confirmation run") + " set aside";
  return text;
}

std::string TimeBudget::outlook(std::int64_t now_ns) const {
  const std::string run = "a run takes about " + time_span_text(longest_ns_);
  const std::int64_t left_ns = deadline_ns(TrialPhase::search) - now_ns;
  const std::int64_t more =
      std::max<std::int64_t>(left_ns / std::max<std::int64_t>(expected_ns(), 1), 0);
  const std::string total = "the " + time_span_text(total_ns_) + " of --max-time";
  if (runs_set_aside() > 0 || confirmation_.fewest == 0) {
    std::string text = run + ": " + total + " have room for about " + runs_text(more, "more trial");
    if (runs_set_aside() > 0)
      text += ", and " + runs_text(runs_set_aside(), "confirmation run") + " set aside";
    return text;
  }
  const std::int64_t needed_ns = (confirmation_.fewest + 2) * expected_ns();
  return run + ": " + total + " have room for " + runs_text(more, "more trial") +
         " and no confirmation, so nothing will be promoted; the least with one is about " +
         time_span_text(needed_ns);
}

std::string time_span_text(std::int64_t ns) {
  char text[48];
  const double seconds = static_cast<double>(ns) / 1e9;
  if (seconds < 10) {
    std::snprintf(text, sizeof text, "%.2g s", seconds);
    return text;
  }
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const auto part = [](std::int64_t count, const char* unit) {
    return count == 0 ? std::string() : " " + std::to_string(count) + " " + unit;
  };
  std::string joined = part(whole / 3600, "h") + part(whole / 60 % 60, "min");
  if (whole < 3600) joined += part(whole % 60, "s");
  return joined.empty() ? "0 s" : joined.substr(1);
}

}  // namespace hocket
