#include "tuner/client/window.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/check.h"
#include "core/rank_sum.h"
#include "core/statistics.h"

namespace hocket {
namespace {

std::string percent_of(double share) {
  char text[400];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

/// "7.2 % faster", "slower by 12.0 %"; `gain` is the share of the time that is saved.
std::string by(double gain) {
  return gain >= 0 ? percent_of(gain) + " faster" : "slower by " + percent_of(-gain);
}

std::size_t index_of(Side side) {
  return side == Side::current ? 0 : 1;
}

}  // namespace

Window::Window(const WindowOptions& options, std::span<const std::int64_t> before_ns)
    : options_(options) {
  HOCKET_CHECK(options.block_iterations > 0 && options.dropped_iterations >= 0,
               "a window's blocks");
  const auto block = static_cast<std::size_t>(options.block_iterations);
  HOCKET_CHECK(before_ns.size() >= std::max(kFewestBefore, block), "measure the current first");
  for (const auto ns : before_ns.last(std::min(before_ns.size(), kMostRecent))) {
    recent_current_.push_back(static_cast<double>(ns));
  }
  for (const auto ns : before_ns.last(block)) measured(Side::current, ns);
}

void Window::add(Side side, std::int64_t iteration_ns, int under_way) {
  if (verdict_) return;
  under_way_ = under_way;
  if (running_ != side) {
    // The window begins without a switch.
    since_switch_ = running_ || side == Side::candidate ? 0 : options_.dropped_iterations;
    running_ = side;
  }
  ++since_switch_;
  if (side == Side::candidate && iteration_ns > options_.longest_ns) {
    measured_[1].push_back(iteration_ns);
    const double usual = median({recent_current_.begin(), recent_current_.end()});
    return end(false, true,
               by(1 - static_cast<double>(iteration_ns) / usual) + " in a single iteration");
  }
  if (since_switch_ <= options_.dropped_iterations) return;
  if (side == Side::current) {
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

void Window::measured(Side side, std::int64_t iteration_ns) {
  measured_[index_of(side)].push_back(iteration_ns);
  if (side != side_of(blocks_)) return;
  block_.push_back(static_cast<double>(iteration_ns));
  if (std::ssize(block_) == options_.block_iterations) close_block();
}

void Window::close_block() {
  runs_[index_of(side_of(blocks_))].push_back({median(block_), spread(block_), block_.size()});
  block_.clear();
  ++blocks_;
  if (blocks_ % 2 == 0) judge();
}

void Window::guard() {
  const std::size_t looked = candidate_.size();
  if (looked < 2 || (looked & (looked - 1)) != 0) return;
  const std::vector<double> current(recent_current_.begin(), recent_current_.end());
  // Look k is at 2^k iterations.
  if (rank_sum_p(candidate_, current) > options_.guard_level / static_cast<double>(looked)) return;
  end(false, true, by(1 - median(candidate_) / median(current)));
}

void Window::judge() {
  const auto verdict = compare(runs_[0], runs_[1], options_.most_pairs);
  if (verdict.better) return end(true, false, by(verdict.gain));
  const auto reverse = compare(runs_[1], runs_[0], options_.most_pairs);
  if (reverse.better) return end(false, true, by(verdict.gain));
  const bool last = std::ssize(runs_[0]) >= options_.most_pairs;
  if (options_.keep_undecided && !last) return;
  if (!options_.keep_undecided && !last && !verdict.worse) return;
  end(options_.keep_undecided, false,
      (verdict.gain >= 0 ? percent_of(verdict.gain) + " faster"
                         : percent_of(-verdict.gain) + " slower") +
          ", within the noise of " + percent_of(std::max(verdict.noise, reverse.noise)));
}

Side Window::next() const {
  if (verdict_) return verdict_->keep ? Side::candidate : Side::current;
  const Side now = side_of(blocks_);
  // What runs until a switch takes effect fills this block, and perhaps the next of the same side.
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
