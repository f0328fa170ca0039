#include "client/live/counter_exchange.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace hocket {
namespace {

constexpr std::int64_t kFineSlots = 1 << 22, kMostSlot = (1 << 23) - 1, kCoarseUs = 256;

constexpr std::array<std::int64_t RankCounters::*, CounterExchange::kCounters> kCounterMembers = {
    &RankCounters::waited_ns, &RankCounters::computed_ns, &RankCounters::processor_ns,
    &RankCounters::sending_ns};

}  // namespace

float slot_of_time(std::int64_t ns) {
  if (ns < 0) return 0;
  const std::int64_t us = ns / 1000;
  const std::int64_t slot = 1 + (us < kFineSlots ? us : kFineSlots + (us - kFineSlots) / kCoarseUs);
  return static_cast<float>(std::min(slot, kMostSlot));
}

std::int64_t time_of_slot(float slot) {
  if (!(slot >= 1 && slot <= static_cast<float>(kMostSlot)) || slot != std::trunc(slot))
    return kNotCounted;
  const auto us = static_cast<std::int64_t>(slot) - 1;
  return 1000 * (us < kFineSlots ? us : kFineSlots + (us - kFineSlots) * kCoarseUs);
}

CounterExchange::CounterExchange(int rank, int world_size) : rank_(rank), world_size_(world_size) {
  HOCKET_CHECK(rank >= 0 && rank < world_size, "rank out of range");
  if (slots() > 0) heard_.resize(static_cast<std::size_t>(world_size));
}

std::size_t CounterExchange::slots_for(int world_size) {
  const auto ranks = static_cast<std::size_t>(world_size);
  if (ranks < 2 || ranks > kMaxCountedRanks) return 0;
  return std::min(ranks, kRanksPerBallot) * kCounters;
}

std::int64_t CounterExchange::ballots_per_round() const {
  constexpr auto kRanks = static_cast<int>(kRanksPerBallot);
  return (world_size_ + kRanks - 1) / kRanks;
}

void CounterExchange::add(std::int64_t step, const RankCounters& counters) {
  if (slots() == 0) return;
  counted_.emplace_back(step, counters);
  // No ballot to come tells of an older one.
  const std::int64_t oldest = step - 2 * ballots_per_round() - kLag;
  while (counted_.front().first < oldest) counted_.pop_front();
}

std::optional<RankCounters> CounterExchange::means(std::int64_t round) const {
  const std::int64_t last = round * ballots_per_round() - kLag;
  std::array<std::int64_t, kCounters> sums = {}, counts = {};
  for (const auto& [step, counters] : counted_) {
    if (step > last || step <= last - ballots_per_round()) continue;
    for (std::size_t i = 0; i < kCounters; ++i) {
      const std::int64_t value = counters.*kCounterMembers[i];
      if (value < 0) continue;
      // A sum of a few times that a slot holds cannot overflow.
      sums[i] += std::min(value, time_of_slot(static_cast<float>(kMostSlot)));
      ++counts[i];
    }
  }
  std::optional<RankCounters> result;
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (counts[i] == 0) continue;
    if (!result) result.emplace();
    (*result).*kCounterMembers[i] = sums[i] / counts[i];
  }
  return result;
}

void CounterExchange::contribute(std::span<float> ballot) {
  HOCKET_CHECK(ballot.size() == slots(), "counters have slots() floats");
  if (ballot.empty()) return;
  std::ranges::fill(ballot, 0.0f);
  const std::int64_t turn = contributed_ % ballots_per_round();
  if (turn == 0) own_ = means(contributed_ / ballots_per_round());
  ++contributed_;
  const auto rank = static_cast<std::size_t>(rank_);
  if (!own_ || turn != static_cast<std::int64_t>(rank / kRanksPerBallot)) return;
  for (std::size_t i = 0; i < kCounters; ++i)
    ballot[rank % kRanksPerBallot * kCounters + i] = slot_of_time((*own_).*kCounterMembers[i]);
}

std::optional<CountedSteps> CounterExchange::tally(std::span<const float> sum) {
  HOCKET_CHECK(sum.size() == slots(), "counters have slots() floats");
  if (sum.empty()) return std::nullopt;
  const std::int64_t per_round = ballots_per_round(), turn = tallied_ % per_round;
  const std::int64_t round = tallied_++ / per_round;
  const std::size_t first = static_cast<std::size_t>(turn) * kRanksPerBallot;
  for (std::size_t rank = first; rank < std::min(first + kRanksPerBallot, heard_.size()); ++rank) {
    for (std::size_t i = 0; i < kCounters; ++i)
      heard_[rank].*kCounterMembers[i] = time_of_slot(sum[(rank - first) * kCounters + i]);
  }
  const std::int64_t last = round * per_round - kLag;
  const auto counts = [](const RankCounters& counters) { return counters != RankCounters{}; };
  if (turn + 1 < per_round || last < 0 || std::ranges::none_of(heard_, counts)) return std::nullopt;
  return CountedSteps{last, per_round, heard_};
}

}  // namespace hocket
