#include "plugins/nccl/tuning/period.h"

#include <algorithm>

#include "plugins/nccl/agreement/call_digest.h"

namespace hocket::nccl {
namespace {

constexpr std::size_t kFirstSearch = 24;
/// The calls are searched again when there are so many of their number more.
constexpr std::size_t kGrowth = 8;
constexpr std::size_t kJoinGrowth = 4;
/// Calls that are kept from before a change of the loop: runs of equal calls within an
/// iteration are mostly shorter.
constexpr std::size_t kKept = 512;
constexpr std::size_t kMostRecent = 2 * PeriodFinder::kRepeats * PeriodFinder::kMostCalls;

}  // namespace

std::optional<CallIteration> PeriodFinder::add(std::uint64_t token, std::int64_t now_ns) {
  const std::uint64_t call = calls_++;
  std::optional<CallIteration> ended;
  if (period_ > 0 && token != recent_[recent_.size() - period_].token) lose();
  if (period_ > 0 && call == begin_ + period_ * joined_) {
    const std::int64_t iteration_ns = now_ns - began_ns_;
    if (is_steady_) {
      ended = CallIteration{begin_, period_ * joined_, began_ns_, iteration_ns, joined_, kind_};
    } else {
      const std::size_t before = joined_;
      join(iteration_ns / static_cast<std::int64_t>(joined_), kJoinGrowth * before);
      is_steady_ = joined_ < kJoinGrowth * before && before <= 2 * joined_;
    }
    begin_ = call;
    began_ns_ = now_ns;
  }
  if (recent_.size() == kMostRecent) {
    recent_.erase(recent_.begin(), recent_.begin() + kMostRecent / 2);
    searched_ = std::min(searched_, recent_.size());
  }
  recent_.push_back({token, now_ns});
  if (period_ == 0) search(call);
  return ended;
}

std::uint64_t PeriodFinder::next_boundary(std::uint64_t call) const {
  if (call <= begin_) return begin_;
  const std::uint64_t length = calls_per_iteration();
  return begin_ + (call - begin_ + length - 1) / length * length;
}

void PeriodFinder::search(std::uint64_t call) {
  if (recent_.size() < std::max(kFirstSearch, searched_ + searched_ / kGrowth)) return;
  searched_ = recent_.size();
  period_ = shortest_period();
  if (period_ == 0) return;
  const std::int64_t period_ns =
      (recent_.back().ns - recent_[recent_.size() - 1 - (kRepeats - 1) * period_].ns) /
      static_cast<std::int64_t>(kRepeats - 1);
  join(period_ns, kJoinGrowth);
  // Periods that need not be joined are right at once.
  is_steady_ = joined_ == 1;
  kind_ = 0;
  for (std::size_t i = 0; i < period_; ++i)
    kind_ += call_digest::mix(recent_[recent_.size() - 1 - i].token);
  begin_ = call;
  began_ns_ = recent_.back().ns;
}

/// A burst makes a period look short, so the number grows step by step.
void PeriodFinder::join(std::int64_t period_ns, std::size_t most) {
  joined_ = static_cast<std::size_t>(
      period_ns >= kLeastNs ? 1 : 1 + kLeastNs / std::max<std::int64_t>(period_ns, 1));
  joined_ = std::min({joined_, most, std::max<std::size_t>(kMostCalls / period_, 1)});
}

std::size_t PeriodFinder::shortest_period() const {
  // Borders of the reversed sequence (Knuth, Morris and Pratt, "Fast Pattern Matching in Strings",
  // SIAM J. Comput. 1977): border[n] is the length of the longest proper prefix of its first n
  // tokens that is also their suffix, so n - border[n] is their shortest period.
  const std::size_t size = std::min(recent_.size(), kRepeats * kMostCalls);
  const auto token = [&](std::size_t i) { return recent_[recent_.size() - 1 - i].token; };
  std::vector<std::size_t> border(size + 1, 0);
  std::size_t length = 0, found = 0;
  for (std::size_t i = 1; i < size; ++i) {
    while (length > 0 && token(i) != token(length)) length = border[length];
    if (token(i) == token(length)) ++length;
    const std::size_t explained = i + 1;
    border[explained] = length;
    const std::size_t period = explained - length;
    if (period * kRepeats <= explained && 4 * explained >= 3 * size) found = period;
  }
  return found;
}

void PeriodFinder::lose() {
  const std::size_t kept = std::max(kKept, kRepeats * period_);
  if (recent_.size() > kept)
    recent_.erase(recent_.begin(), recent_.end() - static_cast<std::ptrdiff_t>(kept));
  searched_ = 0;
  period_ = 0;
  joined_ = 1;
  is_steady_ = false;
}

}  // namespace hocket::nccl
