#include "client/live/ab_window.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

constexpr double kTrimmed = 0.2;
/// Exponent of the number of looks. 1 would be Bonferroni's bound; looks at overlapping sets of
/// groups are correlated, so less suffices.
constexpr double kExponentOfLooks = 0.8;
/// A gain below kLeastGain is not worth further groups, at the first confidence; nor is one below
/// kFindable of what would be beyond the noise after the last look, at the second.
constexpr double kLeastGain = 0.02, kHopeConfidence = 0.9;
constexpr double kFindable = 0.6, kFindableConfidence = 0.8;
/// Gains by which the noise is known, and groups of a window from which on those before it count.
constexpr std::size_t kMostNoise = 32, kFewestWithBefore = 3;
const double kMostSaid = std::log(2);
const double kSuspect = std::log(1.25), kSlowAtOnce = std::log(1.5);
/// Iterations of the candidate on which the guard acts.
constexpr std::size_t kFewestSuspects = 2;

double log_of(std::int64_t ns) {
  return std::log(static_cast<double>(std::max<std::int64_t>(ns, 1)));
}

std::string percent_of(double share) {
  char text[400];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

/// Converts a gain to a share of the current configuration's time.
double share(double gain) {
  return -std::expm1(-gain);
}

/// Returns for example "7.2 % faster" or "slower by 12.0 %".
std::string by(double gain) {
  return gain >= 0 ? percent_of(share(gain)) + " faster" : "slower by " + percent_of(-share(gain));
}

std::size_t index_of(AbSide side) {
  return side == AbSide::current ? 0 : 1;
}

/// A mean without the kTrimmed lowest and highest values, how many were kept, and the scale of the
/// kept ones: its error is scale / √kept (Yuen).
struct TrimmedMean {
  double mean = 0, scale = 0, kept = 0;
};

double kept_of(std::size_t count) {
  return static_cast<double>(count) - 2 * std::floor(kTrimmed * static_cast<double>(count));
}

TrimmedMean trimmed_mean(std::vector<double> values) {
  const std::size_t n = values.size();
  TrimmedMean result{.kept = kept_of(n)};
  if (n < 2) return result;
  std::ranges::sort(values);
  const auto cut = (n - static_cast<std::size_t>(result.kept)) / 2;
  for (std::size_t i = cut; i < n - cut; ++i) result.mean += values[i] / result.kept;
  for (std::size_t i = 0; i < cut; ++i) {
    values[i] = values[cut];
    values[n - 1 - i] = values[n - 1 - cut];
  }
  result.scale =
      standard_deviation(values) * std::sqrt(static_cast<double>(n - 1) / (result.kept - 1));
  return result;
}

/// Returns the error rate of a look in each direction.
double level() {
  return AbWindow::kSearchError / AbWindow::kCandidates /
         std::pow(static_cast<double>(AbWindow::kLooks.size()), kExponentOfLooks);
}

}  // namespace

AbWindow::AbWindow(const AbWindowOptions& options, std::span<const std::int64_t> before_ns)
    : options_(options) {
  HOCKET_CHECK(options.block_iterations > 0 && options.dropped_iterations >= 0,
               "a window's blocks");
  const auto block = static_cast<std::size_t>(options.block_iterations);
  HOCKET_CHECK(before_ns.size() >= std::max(kFewestBefore, block), "measure the current first");
  std::mt19937_64 coin(options.seed);
  groups_.push_back({order_of(false)});
  while (groups_.size() <= kLooks.back()) groups_.push_back({order_of(coin() >> 63 == 1)});
  for (const auto ns : before_ns.last(std::min(before_ns.size(), kMostRecent))) {
    recent_current_.push_back(log_of(ns));
  }
  for (const auto ns : before_ns.last(block)) {
    measured_[0].push_back(ns);
    before_visit_.push_back(log_of(ns));
    measured(AbSide::current, log_of(ns));
  }
}

std::vector<AbSide> AbWindow::order_of(bool is_reverse) {
  constexpr auto a = AbSide::current, b = AbSide::candidate;
  return is_reverse ? std::vector{b, a, a, b} : std::vector{a, b, b, a};
}

void AbWindow::add(AbSide side, std::int64_t iteration_ns, int under_way) {
  if (verdict_) return;
  under_way_ = under_way;
  if (running_ != side) {
    // The window begins without a switch.
    since_switch_ = running_ || side == AbSide::candidate ? 0 : options_.dropped_iterations;
    running_ = side;
  }
  ++since_switch_;
  const double log = log_of(iteration_ns);
  if (side == AbSide::candidate && iteration_ns > options_.longest_ns) {
    measured_[1].push_back(iteration_ns);
    const double usual = median({recent_current_.begin(), recent_current_.end()});
    return end(false, true, by(usual - log) + " in a single iteration");
  }
  if (since_switch_ <= options_.dropped_iterations) return;
  measured_[index_of(side)].push_back(iteration_ns);
  guard(side, log);
  if (side == AbSide::current) {
    recent_current_.push_back(log);
    if (recent_current_.size() > kMostRecent) recent_current_.pop_front();
  }
  if (!verdict_) measured(side, log);
  if (is_suspect_ && side == AbSide::candidate && !verdict_) leave_candidate();
}

void AbWindow::measured(AbSide side, double log) {
  if (side == side_of_open()) {
    auto& blocks = groups_[group_].blocks;
    if (blocks.size() == block_) blocks.emplace_back();
    blocks.back().push_back(log);
    if (std::ssize(blocks.back()) >= options_.block_iterations) close_block();
    return;
  }
  // The switch has not taken effect yet.
  const bool is_first = block_ == 0;
  if (is_first && group_ == 0) return;
  auto& last = is_first ? groups_[group_ - 1] : groups_[group_];
  const std::size_t index = is_first ? last.order.size() - 1 : block_ - 1;
  if (last.order[index] == side) last.blocks[index].push_back(log);
}

void AbWindow::close_block() {
  if (++block_ < groups_[group_].order.size()) return;
  block_ = 0;
  ++group_;
  const std::size_t iterations = measured_[0].size() + measured_[1].size();
  const bool is_last = group_ == kLooks.back() ||
                       (group_ >= kLooks.front() && iterations >= options_.most_iterations);
  const bool was_long = std::exchange(is_long_, iterations >= options_.usual_iterations);
  // One look more than kLooks has, at most.
  const bool is_look = std::ranges::find(kLooks, group_) != kLooks.end() || (is_long_ && !was_long);
  if (group_ >= kLooks.front() && (is_last || is_look)) judge(is_last, is_long_);
}

void AbWindow::guard(AbSide side, double log) {
  if (side == AbSide::candidate) {
    if (!after_visit_.empty() || visits_ == 0) {
      // The iterations after the last visit are those before this one.
      if (visits_++ > 0) before_visit_ = std::move(after_visit_);
      after_visit_.clear();
      visit_.clear();
      is_suspect_ = false;
    }
    visit_.push_back(log);
    const double usual = median({recent_current_.begin(), recent_current_.end()});
    is_suspect_ =
        visit_.size() >= kFewestSuspects && *std::ranges::min_element(visit_) > usual + kSuspect;
    return;
  }
  if (visits_ == 0) {
    before_visit_.push_back(log);
    return;
  }
  after_visit_.push_back(log);
  if (std::ssize(after_visit_) == std::max(options_.block_iterations, 2)) compare_visit();
}

void AbWindow::leave_candidate() {
  Group& group = groups_[group_];
  if (side_of_open() == AbSide::current) return;
  if (group.blocks.size() > block_) {
    // The open block has been measured in part.
    close_block();
    if (verdict_ || side_of_open() == AbSide::current) return;
    return leave_candidate();
  }
  if (block_ == 0) {
    group.order = order_of(false);
  } else if (group.order[block_ - 1] == AbSide::candidate) {
    group.order.erase(group.order.begin() + static_cast<std::ptrdiff_t>(block_));
  }
}

void AbWindow::compare_visit() {
  is_suspect_ = false;
  const double slowest =
      std::max(*std::ranges::max_element(before_visit_), *std::ranges::max_element(after_visit_));
  const double excess = *std::ranges::min_element(visit_) - slowest;
  const bool is_slow = visit_.size() >= kFewestSuspects && excess > kSuspect;
  slow_visits_ = is_slow ? slow_visits_ + 1 : 0;
  if (slow_visits_ < 2 && !(is_slow && visits_ == 1 && excess > kSlowAtOnce)) return;
  std::vector<double> around = before_visit_;
  around.insert(around.end(), after_visit_.begin(), after_visit_.end());
  end(false, true, by(median(std::move(around)) - median(visit_)));
}

std::vector<double> AbWindow::gains() const {
  std::vector<double> gains;
  for (std::size_t i = 0; i < group_; ++i) {
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (std::size_t block = 0; block < groups_[i].blocks.size(); ++block) {
      const std::size_t side = index_of(groups_[i].order[block]);
      sum[side] += median(groups_[i].blocks[block]);
      ++count[side];
    }
    gains.push_back(sum[0] / count[0] - sum[1] / count[1]);
  }
  return gains;
}

AbWindow::Gain AbWindow::gain() const {
  const TrimmedMean own = trimmed_mean(gains());
  const TrimmedMean all = trimmed_mean(noise());
  Gain result{.mean = own.mean, .degrees = own.kept - 1};
  result.error = std::max(own.scale / std::sqrt(own.kept), error_within_blocks());
  if (group_ >= kFewestWithBefore) {
    result.degrees = all.kept - 1;
    result.error = std::max(result.error, all.scale / std::sqrt(own.kept));
  }
  return result;
}

std::vector<double> AbWindow::noise() const {
  std::vector<double> noise = options_.noise;
  if (group_ < kLooks.front()) return noise;
  const std::vector<double> latest = gains();
  // The middle of few gains is close to each of them.
  const double middle = median(latest),
               few = std::sqrt(static_cast<double>(group_) / static_cast<double>(group_ - 1));
  for (const double gain : latest) noise.push_back((gain - middle) * few);
  if (noise.size() > kMostNoise)
    noise.erase(noise.begin(), noise.end() - static_cast<std::ptrdiff_t>(kMostNoise));
  return noise;
}

std::vector<double> AbWindow::noise_of(std::span<const std::int64_t> iterations_ns,
                                       int block_iterations) {
  const auto block = static_cast<std::size_t>(block_iterations);
  const std::vector<AbSide> order = order_of(false);
  std::vector<double> noise;
  // The latest ones, for the first of a job are not like the others.
  for (std::size_t at = iterations_ns.size() % (block * order.size()); at < iterations_ns.size();) {
    double gain = 0;
    for (const AbSide side : order) {
      std::vector<double> logs;
      for (const auto ns : iterations_ns.subspan(at, block)) logs.push_back(log_of(ns));
      gain += (side == AbSide::current ? 1 : -1) * median(std::move(logs)) / 2;
      at += block;
    }
    noise.push_back(gain);
  }
  return noise;
}

double AbWindow::error_within_blocks() const {
  std::vector<double> residuals;
  double count[2] = {0, 0}, free = 0;
  for (std::size_t i = 0; i < group_; ++i) {
    for (std::size_t block = 0; block < groups_[i].blocks.size(); ++block) {
      const auto& logs = groups_[i].blocks[block];
      const double middle = median(logs);
      for (const double log : logs) residuals.push_back(log - middle);
      count[index_of(groups_[i].order[block])] += static_cast<double>(logs.size());
      free += static_cast<double>(logs.size()) - 1;
    }
  }
  if (free < 1) return 0;
  constexpr double kSpreadOfNormal = 0.6744897501960817;
  const double scale =
      spread(residuals) / kSpreadOfNormal * std::sqrt(static_cast<double>(residuals.size()) / free);
  return scale * std::sqrt(1 / count[0] + 1 / count[1]);
}

void AbWindow::judge(bool is_last, bool is_long) {
  const Gain found = gain();
  const double needed = student_t_quantile(1 - level(), found.degrees) * found.error;
  if (found.mean > needed) return end(true, false, by(found.mean));
  if (found.mean < -needed) return end(false, true, by(found.mean));
  const auto needed_after = [&](std::size_t groups) {
    const auto now = static_cast<double>(group_), then = static_cast<double>(groups);
    const double degrees = std::max(found.degrees, kept_of(groups) - 1);
    return student_t_quantile(1 - level(), degrees) * found.error * std::sqrt(now / then);
  };
  const auto hoped = [&](double confidence) {
    return (options_.keep_undecided ? -found.mean : found.mean) +
           student_t_quantile(confidence, found.degrees) * found.error;
  };
  if (!is_last && !is_long && hoped(kHopeConfidence) > kLeastGain &&
      hoped(kFindableConfidence) > kFindable * needed_after(kLooks.back())) {
    return;
  }
  // With half as many groups again it may be faster or slower beyond the noise, if its gain stays
  // the same.
  const bool may_change_the_end = !options_.keep_undecided || found.mean < 0;
  const auto soon = std::ranges::lower_bound(kLooks, group_ + (group_ + 1) / 2);
  if (!is_last && may_change_the_end && soon != kLooks.end() &&
      std::abs(found.mean) > needed_after(*soon)) {
    return;
  }
  // Two groups alone hardly tell what the noise is.
  const double noise = std::max(needed, std::abs(found.mean));
  const double gained = share(found.mean);
  const std::string within =
      noise < kMostSaid
          ? ", within the noise of " + percent_of(std::abs(share(std::copysign(noise, found.mean))))
          : std::string(", after too few iterations to tell the noise");
  end(options_.keep_undecided, false,
      percent_of(std::abs(gained)) + (gained >= 0 ? " faster" : " slower") + within);
}

AbSide AbWindow::next() const {
  if (verdict_) return verdict_->keep ? AbSide::candidate : AbSide::current;
  if (is_suspect_) return AbSide::current;
  // The iterations that run until a switch takes effect fill the open block, and perhaps later ones
  // of the same side. Right after a switch another one may be under way, which the guard asked for.
  const AbSide now = side_of_open();
  if (running_ != now || since_switch_ <= options_.dropped_iterations) return now;
  const auto& blocks = groups_[group_].blocks;
  std::int64_t missing = 0;
  if (blocks.size() > block_) missing -= std::ssize(blocks[block_]);
  std::size_t group = group_, block = block_;
  while (group < groups_.size() && groups_[group].order[block] == now) {
    missing += options_.block_iterations;
    if (missing > under_way_) return now;
    if (++block == groups_[group].order.size()) {
      block = 0;
      ++group;
    }
  }
  return group < groups_.size() ? groups_[group].order[block] : now;
}

}  // namespace hocket
