#include "client/live/profile_turn.h"

#include <utility>

namespace hocket {
namespace {

static_assert(SwitchAgreement::kMaxProfiledSteps == kMaxProfiledIterations);

std::string name_of(const ProfileMessage& message) {
  return "profile request " + std::to_string(message.request);
}

}  // namespace

std::optional<std::string> ProfileTurn::ask(const ProfileMessage& message) {
  const auto replaced = std::exchange(waiting_, message);
  if (!replaced) return std::nullopt;
  return name_of(*replaced) + " was replaced by request " + std::to_string(message.request);
}

std::optional<std::string> ProfileTurn::advance(bool may_begin) {
  const std::int64_t ballots = agreement_.ballots();
  if (order_ && !is_known_) {
    if (agreement_.profile() == order_) {
      is_known_ = true;
      const std::int64_t first = first_step_ + order_->first_step;
      return "profiling steps " + std::to_string(first) + " to " +
             std::to_string(first + order_->steps - 1) + " (request " +
             std::to_string(message_.request) + ")";
    }
    // Orders again: none of the ballots that could have shown the order was readable.
    if (ballots > order_->first_step - SwitchAgreement::kFewestStepsAhead) order();
  }
  if (order_ && is_known_ && ballots >= order_->first_step + order_->steps + kStepsAfter) {
    order_.reset();
  }
  if (!order_ && waiting_ && may_begin) {
    message_ = *std::exchange(waiting_, std::nullopt);
    order();
  }
  return std::nullopt;
}

void ProfileTurn::order() {
  order_ = ProfileOrder{agreement_.ballots() + kStepsAhead, static_cast<int>(message_.iterations)};
  is_known_ = false;
  agreement_.order_profile(order_->first_step, order_->steps);
}

std::optional<std::string> ProfileTurn::finish() {
  const auto left = order_ && !is_known_ ? std::optional(message_) : waiting_;
  order_.reset();
  waiting_.reset();
  if (!left) return std::nullopt;
  return name_of(*left) + " was not taken up: the job ended first";
}

}  // namespace hocket
