#include "core/scheduler/step_follower.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace hocket {

Result<void> StepFollower::configure(const ScheduleConfig& config) {
  if (state_ == State::learning) {
    config_ = config;
    return {};
  }
  auto partitioned = partition_step(learned_, config);
  if (!partitioned) return failure(partitioned.error());
  config_ = config;
  partition(std::move(*partitioned));
  return {};
}

bool StepFollower::is_next(const Task& task) const {
  if (position_ >= learned_.tasks.size()) return false;
  const StepTask& known = learned_.tasks[position_];
  const auto same = [](const Access& a, const Access& b) {
    return a.data == b.data && a.mode == b.mode;
  };
  return places_[position_] == task.place && known.priority == task.priority &&
         known.collective == task.collective && known.bytes == task.bytes &&
         known.name == task.name && std::ranges::equal(known.accesses, task.accesses, same);
}

void StepFollower::learn(const Task& task) {
  StepTask& learned = learned_.tasks.emplace_back();
  learned.name = task.name;
  learned.collective = task.collective;
  learned.bytes = task.bytes;
  learned.priority = task.priority;
  learned.accesses.assign(task.accesses.begin(), task.accesses.end());
  if (task.place != nullptr) learned.place = *task.place;
  places_.push_back(task.place);
  for (const Access& access : task.accesses) {
    while (learned_.data.size() <= access.data.index)
      learned_.data.push_back("data " + std::to_string(learned_.data.size()));
  }
}

StepFollower::Range StepFollower::submitted(const Task& task) {
  if (state_ == State::following && !is_next(task)) state_ = State::strayed;
  if (state_ == State::learning) learn(task);
  const std::uint32_t place = position_;
  if (state_ != State::strayed) ++position_;
  if (state_ != State::following) return {};
  return {first_piece_[place], first_piece_[place + 1]};
}

std::vector<StepFollower::Rest> StepFollower::rest() const {
  std::vector<Rest> rest;
  // Members of incomplete buckets.
  std::set<std::uint32_t> alone;
  const auto came = [&](std::uint32_t source) { return source < position_; };
  for (std::uint32_t i = first_piece_[position_]; i < partitioned_.origins.size(); ++i) {
    const std::vector<std::uint32_t>& sources = partitioned_.origins[i].sources;
    if (std::ranges::all_of(sources, came)) {
      rest.push_back({true, i});
      continue;
    }
    for (const std::uint32_t source : sources) {
      if (came(source) && alone.insert(source).second) rest.push_back({false, source});
    }
  }
  return rest;
}

Result<bool> StepFollower::end_step() {
  if (state_ == State::learning) {
    if (learned_.tasks.empty()) return false;
    learned_.ranks = grid_.ranks;
    learned_.ranks_per_host = grid_.ranks_per_host;
    auto partitioned = partition_step(learned_, *config_);
    if (!partitioned) return failure(partitioned.error());
    partition(std::move(*partitioned));
    ++learned_steps_;
    position_ = 0;
    state_ = State::following;
    return false;
  }
  const bool is_short = state_ == State::following && position_ < learned_.tasks.size();
  if (is_short) {
    state_ = State::strayed;
    return true;
  }
  if (state_ == State::strayed) {
    learned_ = {};
    places_.clear();
    state_ = State::learning;
  }
  position_ = 0;
  return false;
}

void StepFollower::partition(PartitionedStep partitioned) {
  partitioned_ = std::move(partitioned);
  ++version_;
  const auto pieces = static_cast<std::uint32_t>(partitioned_.origins.size());
  first_piece_.assign(learned_.tasks.size() + 1, pieces);
  first_piece_.front() = 0;
  // A piece is submitted with the last of the tasks that are sources of it or of a piece before it.
  std::uint32_t last_source = 0;
  for (std::uint32_t i = 0; i < pieces; ++i) {
    for (const std::uint32_t source : partitioned_.origins[i].sources) {
      for (; last_source < source; ++last_source) first_piece_[last_source + 1] = i;
    }
  }
  for (; last_source + 1 < learned_.tasks.size(); ++last_source)
    first_piece_[last_source + 1] = pieces;
}

}  // namespace hocket
