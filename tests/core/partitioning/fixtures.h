#pragma once

// Short ways to write tasks, for the tests of partitioning.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/description/step_description.h"
#include "core/partitioning/region_rules.h"
#include "core/partitioning/task_pieces.h"

namespace hocket::partitioning {

inline StepTask computation(std::string name, std::vector<Access> accesses,
                            std::string region = "") {
  StepTask task;
  task.name = std::move(name);
  task.duration_ns = 100;
  task.accesses = std::move(accesses);
  task.place.region = std::move(region);
  return task;
}

inline StepTask collective(std::string name, CollectiveKind kind, std::int64_t bytes,
                           std::vector<Access> accesses, std::string region = "") {
  StepTask task = computation(std::move(name), std::move(accesses), std::move(region));
  task.duration_ns = 0;
  task.collective = kind;
  task.bytes = bytes;
  return task;
}

inline StepTask all_reduce(std::string name, std::int64_t bytes, std::uint32_t data,
                           std::string region = "") {
  return collective(std::move(name), CollectiveKind::all_reduce, bytes, {update(DataId{data})},
                    std::move(region));
}

/// Returns a step with `data` data, named "a", "b", ….
inline StepDescription step_of(std::size_t data, std::vector<StepTask> tasks) {
  StepDescription step;
  for (std::size_t i = 0; i < data; ++i) step.data.emplace_back(1, static_cast<char>('a' + i));
  step.tasks = std::move(tasks);
  return step;
}

/// Returns rules that apply one rule to all tasks.
inline Rules rules_of(const StepDescription& step, Rule rule) {
  return {{std::move(rule)}, std::vector<std::uint32_t>(step.tasks.size(), 0)};
}

/// Returns one item per task.
inline std::vector<Sources> items_of(const StepDescription& step) {
  std::vector<Sources> items;
  for (std::uint32_t i = 0; i < step.tasks.size(); ++i) items.push_back({i});
  return items;
}

/// Returns "NAME: update a[0], read b".
inline std::string text_of(const StepTask& task, const std::vector<std::string>& data) {
  std::string text = task.name + ":";
  const char* separator = " ";
  for (const Access& access : task.accesses) {
    const char* const modes[] = {"read ", "write ", "update "};
    text += separator;
    text += modes[static_cast<std::size_t>(access.mode)] + data[access.data.index];
    separator = ", ";
  }
  return text;
}

inline std::vector<std::string> texts_of(const Pieces& made) {
  std::vector<std::string> texts;
  for (const Piece& piece : made.pieces) texts.push_back(text_of(piece.task, made.data));
  return texts;
}

}  // namespace hocket::partitioning
