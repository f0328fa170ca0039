#include "client/live/switch_agreement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Returns `value` as an integer if it is a whole number within [low, high].
std::optional<int> whole(float value, int low, int high) {
  if (!(value >= static_cast<float>(low) && value <= static_cast<float>(high))) return std::nullopt;
  if (value != std::trunc(value)) return std::nullopt;
  return static_cast<int>(value);
}

float pair_at(const std::string& payload, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < payload.size() ? static_cast<unsigned char>(payload[i]) : 0;
  };
  return static_cast<float>(byte(at) + 256 * byte(at + 1));
}

}  // namespace

SwitchAgreement::SwitchAgreement(int rank, int world_size, Accept accept)
    : rank_(rank), world_size_(world_size), accept_(std::move(accept)) {
  HOCKET_CHECK(rank >= 0 && rank < world_size, "rank out of range");
}

void SwitchAgreement::contribute(std::span<float> ballot) const {
  HOCKET_CHECK(ballot.size() == slots(), "a ballot has slots() floats");
  std::ranges::fill(ballot, 0.0f);
  if (rank_ == 0) {
    ballot[kSelected] = static_cast<float>(selected_);
    if (ordered_ && ordered_->first_step - ballots_ >= kFewestStepsAhead) {
      ballot[kProfileAhead] = static_cast<float>(ordered_->first_step - ballots_);
      ballot[kProfileSteps] = static_cast<float>(ordered_->steps);
    }
    if (proposal_) {
      // All ranks have received the same bytes, so rank 0 continues after those it has received
      // itself.
      const bool begun = arriving_ && arriving_->configuration.id == proposal_->id;
      const std::size_t offset = begun ? arriving_->configuration.payload.size() : 0;
      ballot[kProposal] = static_cast<float>(proposal_->id);
      ballot[kTotalBytes] = static_cast<float>(proposal_->payload.size());
      ballot[kOffset] = static_cast<float>(offset);
      for (std::size_t i = 0; i < kChunk; ++i) {
        ballot[kHeader + i] = pair_at(proposal_->payload, offset + 2 * i);
      }
    }
  }
  const auto slot = kHeader + kChunk + static_cast<std::size_t>(rank_);
  if (arriving_) ballot[slot] = static_cast<float>(arriving_->own_answer);
}

std::optional<SwitchAgreement::Ballot> SwitchAgreement::read(std::span<const float> sum) {
  const auto most_bytes = static_cast<int>(kMaxPayloadBytes);
  const auto proposal = whole(sum[kProposal], 0, kMaxId);
  const auto total = whole(sum[kTotalBytes], 0, most_bytes);
  const auto offset = whole(sum[kOffset], 0, most_bytes);
  const auto selected = whole(sum[kSelected], 0, kMaxId);
  const auto ahead = whole(sum[kProfileAhead], 0, kMaxId);
  const auto steps = whole(sum[kProfileSteps], 0, kMaxProfiledSteps);
  if (!proposal || !total || !offset || !selected || !ahead || !steps) return std::nullopt;
  const bool orders = *steps > 0;
  if (orders ? *ahead < kFewestStepsAhead : *ahead != 0) return std::nullopt;
  const auto is_pair = [](float value) { return whole(value, 0, 0xffff).has_value(); };
  const auto is_answer = [](float value) { return whole(value, -kMaxId, kMaxId).has_value(); };
  if (!std::ranges::all_of(sum.subspan(kHeader, kChunk), is_pair)) return std::nullopt;
  if (!std::ranges::all_of(sum.subspan(kHeader + kChunk), is_answer)) return std::nullopt;
  return Ballot{*proposal,
                static_cast<std::size_t>(*total),
                static_cast<std::size_t>(*offset),
                *selected,
                *ahead,
                *steps};
}

void SwitchAgreement::tally(std::span<const float> sum) {
  HOCKET_CHECK(sum.size() == slots(), "a ballot has slots() floats");
  if (const auto ballot = read(sum)) {
    run_selected(ballot->selected);
    if (ballot->profile_steps > 0) {
      profile_ = ProfileOrder{ballots_ + ballot->profile_ahead, ballot->profile_steps};
    }
    if (arriving_ && arriving_->configuration.id != ballot->proposal) arriving_.reset();
    // The answers in a ballot refer to the payload received before it.
    if (!decided(sum.subspan(kHeader + kChunk))) receive(*ballot, sum.subspan(kHeader, kChunk));
  }
  ++ballots_;
}

void SwitchAgreement::run_selected(int id) {
  if (!other_ || other_->id != id) return;
  std::swap(running_, *other_);
  switches_.push_back({ballots_, running_});
}

bool SwitchAgreement::decided(std::span<const float> answers) {
  if (!arriving_) return false;
  const int id = arriving_->configuration.id;
  const auto is = [&](int answer) {
    return [answer](float value) { return static_cast<int>(value) == answer; };
  };
  if (const auto refusal = std::ranges::find_if(answers, is(-id)); refusal != answers.end()) {
    refused_by_ = static_cast<int>(refusal - answers.begin());
    decide(Standing::refused);
  } else if (std::ranges::all_of(answers, is(id))) {
    other_ = std::move(arriving_->configuration);
    decide(Standing::agreed);
  }
  return !arriving_;
}

void SwitchAgreement::decide(Standing standing) {
  const int id = arriving_->configuration.id;
  arriving_.reset();
  if (!proposal_ || proposal_->id != id) return;  // not rank 0, or a newer proposal has replaced it
  proposal_.reset();
  standing_ = standing;
}

void SwitchAgreement::receive(const Ballot& ballot, std::span<const float> chunk) {
  if (ballot.proposal == 0) return;
  if (!arriving_ || arriving_->total_bytes != ballot.total_bytes) {
    arriving_ = Arriving{{ballot.proposal, ""}, ballot.total_bytes};
  }
  std::string& payload = arriving_->configuration.payload;
  if (arriving_->own_answer != 0 || ballot.offset != payload.size()) return;
  for (std::size_t i = 0; i < kChunkBytes && !arriving_->is_whole(); ++i) {
    const int pair = static_cast<int>(chunk[i / 2]);
    payload.push_back(static_cast<char>(static_cast<unsigned char>(i % 2 ? pair / 256 : pair)));
  }
  if (!arriving_->is_whole()) return;
  arriving_->own_answer = accept_(payload) ? ballot.proposal : -ballot.proposal;
}

std::optional<SwitchAgreement::Configuration> SwitchAgreement::due(std::int64_t step) {
  std::optional<Configuration> due;
  for (; !switches_.empty() && switches_.front().ballot + 2 <= step; switches_.pop_front()) {
    due = std::move(switches_.front().to);
  }
  return due;
}

int SwitchAgreement::propose(std::string payload) {
  HOCKET_CHECK(rank_ == 0 && payload.size() <= kMaxPayloadBytes, "rank 0 proposes, within limits");
  do {
    last_id_ = last_id_ % kMaxId + 1;
  } while (last_id_ == running_.id || (other_ && last_id_ == other_->id));
  proposal_ = Configuration{last_id_, std::move(payload)};
  standing_ = Standing::undecided;
  return last_id_;
}

void SwitchAgreement::withdraw() {
  if (standing_ != Standing::undecided) return;
  proposal_.reset();
  standing_ = Standing::none;
}

void SwitchAgreement::order_profile(std::int64_t first_step, int steps) {
  const std::int64_t ahead = first_step - ballots_;
  HOCKET_CHECK(rank_ == 0 && ahead > kFewestStepsAhead && ahead <= kMaxId && steps >= 1 &&
                   steps <= kMaxProfiledSteps,
               "rank 0 orders a profile of steps to come, within limits");
  ordered_ = ProfileOrder{first_step, steps};
}

}  // namespace hocket
