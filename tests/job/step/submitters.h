#pragma once

// Replacements for the scheduler in tests: one runs tasks at once; one records them, so that a test
// can inspect them and run them in any order that their accesses allow. Single-threaded.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/step/submitter.h"

namespace hocket {

/// The replacement for a sum over ranks.
using Sum = std::function<void(std::span<float>)>;

/// Runs everything in the order of submission. On request divides divisible tasks along a random
/// dimension into random pieces.
class ImmediateSubmitter final : public Submitter {
 public:
  RankGrid grid() const override { return ranks; }
  DataId add_data(const DataPlace&, std::string_view) override { return {data_++}; }
  void compute(const TaskOptions& options, std::span<const Access>, TaskBody body) override {
    if (updates || !options.name.ends_with(".adamw")) body();
  }
  void compute_pieces(const TaskOptions& options, std::span<const Access>,
                      PieceBody body) override {
    ++divisible;
    if (!updates && options.name.ends_with(".adamw")) return;
    if (!random) return body({0, 0, options.place->dimensions.front().extent});
    for (const TaskPiece& piece : divide(*options.place)) body(piece);
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float> values) override {
    if (sum) sum(values);
  }
  void reduce_scatter(const TaskOptions&, DataId, std::span<float> values) override {
    if (sum) sum(values);
  }
  void all_gather(const TaskOptions&, DataId, std::span<float>) override {}

  Sum sum;
  bool updates = true;  ///< true: parameters are updated
  RankGrid ranks = {};
  /// Source of random divisions; null: nothing is divided.
  std::mt19937_64* random = nullptr;
  int divisible = 0;  ///< number of divisible tasks received

 private:
  /// Returns pieces in order, which a contraction requires.
  std::vector<TaskPiece> divide(const TaskPlace& place) {
    const auto dimension = static_cast<std::uint32_t>((*random)() % place.dimensions.size());
    const std::int64_t extent = place.dimensions[dimension].extent;
    std::vector<TaskPiece> pieces;
    for (std::int64_t begin = 0; begin < extent;) {
      const auto left = static_cast<std::uint64_t>(extent - begin);
      const auto size = 1 + static_cast<std::int64_t>((*random)() % left);
      pieces.push_back({dimension, begin, begin + size});
      begin += size;
    }
    return pieces;
  }

  std::uint32_t data_ = 0;
};

struct RecordedTask {
  std::string name;
  std::uint32_t priority = 0;
  TaskPlace place;
  std::vector<Access> accesses;
  TaskBody body;
  std::span<float> values;  ///< buffer of a collective
  int step = 0;
  std::vector<std::size_t> predecessors;

  bool collective() const { return !values.empty(); }
};

/// Records tasks with the earlier tasks that each must wait for: those that access the same data,
/// unless both only read it.
class RecordingSubmitter final : public Submitter {
 public:
  RankGrid grid() const override { return {}; }
  DataId add_data(const DataPlace&, std::string_view) override {
    accesses_.emplace_back();
    return {static_cast<std::uint32_t>(accesses_.size() - 1)};
  }
  void compute(const TaskOptions& options, std::span<const Access> accesses,
               TaskBody body) override {
    add(options, accesses).body = std::move(body);
  }
  void compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                      PieceBody body) override {
    const TaskPiece whole{0, 0, options.place->dimensions.at(0).extent};
    add(options, accesses).body = [body = std::move(body), whole] { body(whole); };
  }
  void reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values) override {
    all_reduce(options, data, values);
  }
  void all_gather(const TaskOptions& options, DataId data, std::span<float> values) override {
    all_reduce(options, data, values);
  }
  void all_reduce(const TaskOptions& options, DataId data, std::span<float> values) override {
    const Access access = update(data);
    add(options, {&access, 1}).values = values;
  }

  void end_step() { ++step_; }

  std::vector<RecordedTask>& tasks() { return tasks_; }

  /// Returns whether `later` waits for `earlier`, directly or through others; false if it was
  /// submitted before it.
  bool depends(std::size_t later, std::size_t earlier) const {
    if (earlier > later) return false;
    std::vector<bool> reached(later + 1, false);
    reached[later] = true;
    for (std::size_t task = later; task > earlier; --task) {
      if (!reached[task]) continue;
      for (const std::size_t predecessor : tasks_[task].predecessors) reached[predecessor] = true;
    }
    return reached[earlier];
  }

  /// Runs all tasks; `choose` picks one of the runnable tasks, at least one, in order of
  /// submission.
  void run(const std::function<std::size_t(std::span<const std::size_t>)>& choose, const Sum& sum) {
    std::vector<std::vector<std::size_t>> successors(tasks_.size());
    std::vector<std::size_t> waits(tasks_.size()), ready;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      waits[i] = tasks_[i].predecessors.size();
      for (const std::size_t predecessor : tasks_[i].predecessors)
        successors[predecessor].push_back(i);
      if (waits[i] == 0) ready.push_back(i);
    }
    for (std::size_t count = 0; count < tasks_.size(); ++count) {
      const std::size_t chosen = choose(ready);
      ready.erase(std::find(ready.begin(), ready.end(), chosen));
      RecordedTask& task = tasks_[chosen];
      task.collective() ? sum(task.values) : task.body();
      for (const std::size_t successor : successors[chosen]) {
        if (--waits[successor] > 0) continue;
        ready.insert(std::lower_bound(ready.begin(), ready.end(), successor), successor);
      }
    }
  }

 private:
  RecordedTask& add(const TaskOptions& options, std::span<const Access> accesses) {
    RecordedTask& task = tasks_.emplace_back();
    task.name = options.name;
    task.priority = options.priority;
    if (options.place) task.place = *options.place;
    task.accesses.assign(accesses.begin(), accesses.end());
    task.step = step_;
    for (const Access& access : accesses) {
      auto& earlier = accesses_.at(access.data.index);
      for (const auto& [index, mode] : earlier) {
        if (mode != AccessMode::read || access.mode != AccessMode::read)
          task.predecessors.push_back(index);
      }
      earlier.emplace_back(tasks_.size() - 1, access.mode);
    }
    return task;
  }

  int step_ = 0;
  std::vector<RecordedTask> tasks_;
  // By data, in order of submission.
  std::vector<std::vector<std::pair<std::size_t, AccessMode>>> accesses_;
};

}  // namespace hocket
