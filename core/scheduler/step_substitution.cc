#include "core/scheduler/step_substitution.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace hocket {

Result<void> StepSubstitution::configure(const ScheduleConfig& config) {
  if (state_ == State::recognising) {
    config_ = config;
    return {};
  }
  auto partitioned = partition_step(recognised_, config);
  HOCKET_TRY(partitioned);
  config_ = config;
  partition(std::move(*partitioned));
  return {};
}

bool StepSubstitution::is_next(const Task& task) const {
  if (position_ >= recognised_.tasks.size()) return false;
  const StepTask& known = recognised_.tasks[position_];
  const auto same = [](const Access& a, const Access& b) {
    return a.data == b.data && a.mode == b.mode;
  };
  return places_[position_] == task.place && known.priority == task.priority &&
         known.collective == task.collective && known.bytes == task.bytes &&
         known.name == task.name && std::ranges::equal(known.accesses, task.accesses, same);
}

void StepSubstitution::record(const Task& task) {
  StepTask& recorded = recognised_.tasks.emplace_back();
  recorded.name = task.name;
  recorded.collective = task.collective;
  recorded.bytes = task.bytes;
  recorded.priority = task.priority;
  recorded.accesses.assign(task.accesses.begin(), task.accesses.end());
  if (task.place != nullptr) recorded.place = *task.place;
  places_.push_back(task.place);
  for (const Access& access : task.accesses) {
    while (recognised_.data.size() <= access.data.index)
      recognised_.data.push_back("data " + std::to_string(recognised_.data.size()));
  }
}

StepSubstitution::Range StepSubstitution::submitted(const Task& task) {
  if (state_ == State::recognised && !is_next(task)) state_ = State::deviated;
  if (state_ == State::recognising) record(task);
  const std::uint32_t place = position_;
  if (state_ != State::deviated) ++position_;
  if (state_ != State::recognised) return {};
  return {first_piece_[place], first_piece_[place + 1]};
}

std::vector<StepSubstitution::Rest> StepSubstitution::rest() const {
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

Result<bool> StepSubstitution::end_step() {
  if (state_ == State::recognising) {
    if (recognised_.tasks.empty()) return false;
    recognised_.ranks = grid_.ranks;
    recognised_.ranks_per_host = grid_.ranks_per_host;
    auto partitioned = partition_step(recognised_, *config_);
    HOCKET_TRY(partitioned);
    partition(std::move(*partitioned));
    ++recognised_steps_;
    position_ = 0;
    state_ = State::recognised;
    return false;
  }
  const bool is_short = state_ == State::recognised && position_ < recognised_.tasks.size();
  if (is_short) {
    state_ = State::deviated;
    return true;
  }
  if (state_ == State::deviated) {
    recognised_ = {};
    places_.clear();
    state_ = State::recognising;
  }
  position_ = 0;
  return false;
}

void StepSubstitution::partition(PartitionedStep partitioned) {
  partitioned_ = std::move(partitioned);
  ++version_;
  const auto pieces = static_cast<std::uint32_t>(partitioned_.origins.size());
  first_piece_.assign(recognised_.tasks.size() + 1, pieces);
  first_piece_.front() = 0;
  // A piece is submitted with the last of the tasks that are sources of it or of a piece before it.
  std::uint32_t last_source = 0;
  for (std::uint32_t i = 0; i < pieces; ++i) {
    for (const std::uint32_t source : partitioned_.origins[i].sources) {
      for (; last_source < source; ++last_source) first_piece_[last_source + 1] = i;
    }
  }
  for (; last_source + 1 < recognised_.tasks.size(); ++last_source)
    first_piece_[last_source + 1] = pieces;
}

}  // namespace hocket
