#include "client/live/ab_window.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/check.h"
#include "core/base/rank_sum.h"
#include "core/base/statistics.h"
#include "core/protocol/promotion_rule.h"

namespace hocket {
namespace {

/// Confidence of the bound on the gain between pairs of blocks.
constexpr double kConfidenceOfPairs = 0.9;

std::string percent_of(double share) {
  char text[400];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

/// Returns for example "7.2 % faster" or "slower by 12.0 %". `gain` is the share of time saved.
std::string by(double gain) {
  return gain >= 0 ? percent_of(gain) + " faster" : "slower by " + percent_of(-gain);
}

std::size_t index_of(AbSide side) {
  return side == AbSide::current ? 0 : 1;
}

}  // namespace

AbWindow::AbWindow(const AbWindowOptions& options, std::span<const std::int64_t> before_ns)
    : options_(options) {
  HOCKET_CHECK(options.block_iterations > 0 && options.dropped_iterations >= 0,
               "a window's blocks");
  const auto block = static_cast<std::size_t>(options.block_iterations);
  HOCKET_CHECK(before_ns.size() >= std::max(kFewestBefore, block), "measure the current first");
  for (const auto ns : before_ns.last(std::min(before_ns.size(), kMostRecent))) {
    recent_current_.push_back(static_cast<double>(ns));
  }
  for (const auto ns : before_ns.last(block)) measured(AbSide::current, ns);
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
  if (side == AbSide::candidate && iteration_ns > options_.longest_ns) {
    measured_[1].push_back(iteration_ns);
    const double usual = median({recent_current_.begin(), recent_current_.end()});
    return end(false, true,
               by(1 - static_cast<double>(iteration_ns) / usual) + " in a single iteration");
  }
  if (since_switch_ <= options_.dropped_iterations) return;
  if (side == AbSide::current) {
    recent_current_.push_back(static_cast<double>(iteration_ns));
    if (recent_current_.size() > kMostRecent) recent_current_.pop_front();
  } else {
    candidate_.push_back(static_cast<double>(iteration_ns));
    guard();
  }
  if (!verdict_)
    measured(side, iteration_ns);
  else
    measured_[index_of(side)].push_back(iteration_ns);
}

void AbWindow::measured(AbSide side, std::int64_t iteration_ns) {
  measured_[index_of(side)].push_back(iteration_ns);
  if (side != side_of(blocks_)) return;
  block_.push_back(static_cast<double>(iteration_ns));
  if (std::ssize(block_) == options_.block_iterations) close_block();
}

void AbWindow::close_block() {
  medians_[index_of(side_of(blocks_))].push_back(median(block_));
  block_.clear();
  ++blocks_;
  if (blocks_ % 2 == 0) judge();
}

void AbWindow::guard() {
  const std::size_t looked = candidate_.size();
  if (looked < 2 || (looked & (looked - 1)) != 0) return;
  const std::vector<double> current(recent_current_.begin(), recent_current_.end());
  // Look k takes place after 2^k iterations.
  if (rank_sum_p(candidate_, current) > options_.guard_level / static_cast<double>(looked)) return;
  end(false, true, by(1 - median(candidate_) / median(current)));
}

void AbWindow::judge() {
  if (medians_[0].size() < kFewestPairs) return;
  const std::vector<double> current(measured_[0].begin(), measured_[0].end());
  const std::vector<double> candidate(measured_[1].begin(), measured_[1].end());
  const auto block = static_cast<std::size_t>(options_.block_iterations);
  // The noise is that of all iterations, because a straggler would distort that of a single block.
  const auto runs = [&](const std::vector<double>& medians, const std::vector<double>& all) {
    std::vector<ConfirmationRun> result;
    for (const double value : medians) result.push_back({value, spread(all), block});
    return result;
  };
  const PairedGain gain = paired_gain(runs(medians_[0], current), runs(medians_[1], candidate));
  const double level = look_level(options_.most_pairs);
  const double doubt = gain.doubt(kConfidenceOfPairs);
  if (gain.mean > doubt && rank_sum_p(current, candidate) <= level) {
    return end(true, false, by(gain.share(gain.mean)));
  }
  if (gain.mean < -doubt && rank_sum_p(candidate, current) <= level) {
    return end(false, true, by(gain.share(gain.mean)));
  }
  // Gain needed now so that, if it stays the same, it is significant after the last pair.
  const int iterations = 2 * options_.block_iterations * options_.most_pairs;
  const double needed = student_t_quantile(1 - level, iterations - 2) * gain.error *
                        std::sqrt(static_cast<double>(gain.pairs) / options_.most_pairs);
  const double awaited = options_.keep_undecided ? -gain.mean : gain.mean;
  const bool is_last = std::ssize(medians_[0]) >= options_.most_pairs;
  if (awaited > needed && !is_last) return;
  const double noise = std::max({needed, is_last ? doubt : 0, std::abs(gain.mean)});
  const double share = gain.share(gain.mean);
  end(options_.keep_undecided, false,
      percent_of(std::abs(share)) + (share >= 0 ? " faster" : " slower") +
          ", within the noise of " +
          percent_of(std::abs(gain.share(std::copysign(noise, gain.mean)))));
}

AbSide AbWindow::next() const {
  if (verdict_) return verdict_->keep ? AbSide::candidate : AbSide::current;
  const AbSide now = side_of(blocks_);
  // The iterations that run until a switch takes effect fill this block, and perhaps the next one
  // of the same side.
  std::int64_t missing = options_.block_iterations - std::ssize(block_);
  if (running_ == now) {
    missing += std::max(options_.dropped_iterations - since_switch_, 0);
    if (missing > under_way_) return now;
    if (side_of(blocks_ + 1) != now) return side_of(blocks_ + 1);
    return missing + options_.block_iterations > under_way_ ? now : side_of(blocks_ + 2);
  }
  return now;
}

}  // namespace hocket
