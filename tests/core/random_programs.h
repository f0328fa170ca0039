#pragma once

// Random programs and configurations for tests of partitioning, reproducible by seed.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/step/schedule_config.h"
#include "tests/core/step_program.h"

namespace hocket {

class DrawnProgram {
 public:
  explicit DrawnProgram(std::mt19937_64& random) : random_(random) {}

  /// Returns a program on 1, 2 or 4 ranks with up to 5 data, and tasks of which some belong to up
  /// to 3 micro-batches.
  StepProgram make() {
    StepDescription& step = program_.step;
    step.ranks = std::int64_t{1} << below(3);
    step.ranks_per_host = step.ranks == 4 ? std::int64_t{1} << below(3) : 1 + below(step.ranks);
    for (std::int64_t i = 2 + below(4); i > 0; --i) {
      step.data.push_back("d" + std::to_string(i));
      program_.elements.push_back(1 + below(below(3) == 0 ? 200 : 60));
    }
    for (std::int64_t m = 0, batches = below(4); m < batches; ++m) {
      if (m == 0) templates_ = 1 + below(4);
      add_micro_batch(static_cast<std::uint32_t>(m));
    }
    for (std::int64_t i = 1 + below(10); i > 0; --i) {
      below(2) == 0 ? add_collective() : add_computation();
    }
    return std::move(program_);
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  /// Adds a micro-batch, mostly with the same tasks as the previous one.
  void add_micro_batch(std::uint32_t name) {
    auto& tasks = program_.step.tasks;
    const std::size_t first = tasks.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(templates_); ++i) {
      if (name == 0 || below(5) == 0) {
        below(6) == 0 ? add_collective() : add_computation();
      } else {
        StepTask task = tasks[first - static_cast<std::size_t>(templates_) + i];
        task.name = next_name();
        tasks.push_back(std::move(task));
        program_.operations.push_back(
            program_.operations[first - static_cast<std::size_t>(templates_) + i]);
      }
      tasks.back().place.micro_batch = name;
    }
  }

  std::string next_name() { return "t" + std::to_string(program_.step.tasks.size()); }

  StepTask& add_task(ProgramOperation operation) {
    program_.operations.push_back(operation);
    StepTask task;
    task.name = next_name();
    task.priority = static_cast<std::uint32_t>(below(6));
    const char* const regions[] = {"", "a", "b", "c"};
    task.place.region = regions[below(4)];
    program_.step.tasks.push_back(std::move(task));
    return program_.step.tasks.back();
  }

  std::vector<DataId> some_data(std::int64_t count) {
    std::vector<DataId> all;
    for (std::uint32_t i = 0; i < program_.step.data.size(); ++i) all.push_back({i});
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(std::min(all.size(), static_cast<std::size_t>(count)));
    return all;
  }

  void add_collective() {
    StepTask& task = add_task({});
    const auto data = some_data(1 + below(5) / 4);
    task.accesses = {update(data[0])};
    if (data.size() > 1) task.accesses.push_back(read(data[1]));
    const std::int64_t bytes = program_.elements[data[0].index] * 4;
    task.bytes = bytes;
    const CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_reduce,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                                    CollectiveKind::broadcast};
    task.collective = kinds[below(5)];
    if (task.collective == CollectiveKind::all_reduce && below(8) == 0)
      task.bytes = below(bytes / 4 + 1) * 4;
    if (task.collective != CollectiveKind::broadcast && below(6) == 0)
      task.group = CollectiveGroup::inside;
  }

  void add_computation() { below(3) == 0 ? add_product() : add_mix(); }

  void add_mix() {
    StepTask& task = add_task({});
    for (const DataId data : some_data(1 + below(3)))
      task.accesses.push_back({data, static_cast<AccessMode>(below(3))});
    task.duration_ns = below(1000);
    if (below(3) == 0) add_normalized(task);
    if (below(4) == 0) return;
    ProgramOperation& operation = program_.operations.back();
    operation.along = static_cast<int>(task.place.dimensions.size());
    Dimension dimension{"units",
                        below(3) == 0 ? DimensionKind::contraction : DimensionKind::outer,
                        1 + below(7),
                        {}};
    for (const Access& access : task.accesses) {
      const bool sums =
          dimension.kind == DimensionKind::contraction && access.mode != AccessMode::read;
      if (below(4) == 0 || sums) continue;
      dimension.slices.push_back(slice_of(access.data, dimension.extent));
      if (below(5) == 0 && dimension.slices.back().begin_bytes > 0) {
        // The first unit also accesses the bytes in front of its slice.
        dimension.slices.push_back({access.data, 0,
                                    dimension.slices.back().begin_bytes / dimension.extent / 4 * 4,
                                    0, dimension.slices.back().of_block});
      }
    }
    task.place.dimensions.push_back(std::move(dimension));
    if (below(4) == 0) add_normalized(task);
  }

  static void add_normalized(StepTask& task) {
    task.place.dimensions.push_back(
        {"row" + std::to_string(task.place.dimensions.size()), DimensionKind::normalized, 4, {}});
  }

  DimensionSlice slice_of(DataId data, std::int64_t extent) {
    DimensionSlice slice{data, 0, 0, 0, below(3) == 0};
    std::int64_t count = program_.elements[data.index];
    if (slice.of_block) count = std::min(count, block_bytes(count * 4, program_.step.ranks) / 4);
    const std::int64_t begin = below(2) == 0 ? 0 : below(count);
    slice.begin_bytes = begin * 4;
    slice.bytes_per_unit = (count - begin) / extent * 4;
    if (below(4) != 0) slice.tail_bytes = (count - begin) * 4 - slice.bytes_per_unit * extent;
    return slice;
  }

  void add_product() {
    const auto data = some_data(3);
    if (data.size() < 3) return add_mix();
    const auto elements = [&](std::size_t i) { return program_.elements[data[i].index]; };
    ProgramOperation o;
    o.kind = ProgramOperation::Kind::product;
    o.inner = 1 + below(std::min<std::int64_t>({elements(0), elements(1), 5}));
    o.rows = 1 + below(std::min<std::int64_t>(elements(0) / o.inner, 9));
    o.columns = 1 + below(std::min<std::int64_t>(elements(1) / o.inner, 9));
    while (o.rows * o.columns > elements(2)) (o.rows > o.columns ? o.rows : o.columns) -= 1;
    StepTask& task = add_task(o);
    task.accesses = {read(data[0]), read(data[1]),
                     below(2) == 0 ? write(data[2]) : update(data[2])};
    task.duration_ns = below(1000);
    task.place.dimensions = {
        {"rows",
         DimensionKind::outer,
         o.rows,
         {{data[0], 0, o.inner * 4, 0, false}, {data[2], 0, o.columns * 4, 0, false}}},
        {"inner", DimensionKind::contraction, o.inner, {{data[1], 0, o.columns * 4, 0, false}}},
        {"columns", DimensionKind::outer, o.columns, {}}};
    std::shuffle(task.place.dimensions.begin(), task.place.dimensions.end(), random_);
  }

  std::mt19937_64& random_;
  StepProgram program_;
  std::int64_t templates_ = 1;
};

/// Returns a configuration that fits the step's ranks per host but perhaps not other parts of the
/// step. Its partitions are smaller than any that validate() accepts, so that small data are
/// divided.
inline ScheduleConfig random_partitioning(std::mt19937_64& random, std::int64_t ranks_per_host) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto primitive = [&] { return static_cast<CollectivePrimitive>(below(2)); };
  const auto launch = [&] { return static_cast<CollectiveLaunch>(below(2)); };
  const auto group = [&] { return below(2) == 0 ? 1 : ranks_per_host; };
  ScheduleConfig config;
  config.partition_bytes = std::int64_t{64} << below(5);
  config.bucket_bytes = below(2) * 64 * below(20);
  config.streams = static_cast<int>(1 + below(3));
  config.primitive = primitive();
  config.group_ranks = group();
  config.launch = launch();
  config.compute_parts = static_cast<int>(1 + below(4));
  config.compute_order = static_cast<ComputeOrder>(below(2));
  config.micro_batches_kept = static_cast<int>(1 + below(3));
  for (const char* const name : {"a", "b"}) {
    if (below(2) == 0) continue;
    RegionOverrides& region = config.regions[name];
    if (below(3) == 0) region.partition_bytes = std::int64_t{64} << below(5);
    if (below(3) == 0) region.bucket_bytes = 64 * below(20);
    if (below(3) == 0) region.streams = static_cast<int>(1 + below(3));
    if (below(3) == 0) region.priority = below(10);
    if (below(3) == 0) region.primitive = primitive();
    if (below(3) == 0) region.group_ranks = group();
    if (below(3) == 0) region.launch = launch();
    if (below(3) == 0) region.compute_parts = static_cast<int>(1 + below(4));
    const char* const dimensions[] = {"units", "rows", "inner", "columns"};
    if (below(4) == 0) region.dimension = dimensions[below(4)];
  }
  return config;
}

}  // namespace hocket
