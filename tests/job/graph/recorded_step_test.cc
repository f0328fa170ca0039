#include "job/step/step_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "core/host/emulation/emulated_device.h"
#include "core/partitioning/step_partition.h"
#include "tests/job/graph/language_model.h"
#include "tests/job/step/submitters.h"

namespace hocket {
namespace {

using testing::HasSubstr;

StepDescription record(LanguageTraining training = {}) {
  training.grid = {4, 2};
  const LanguageModel model(small_gpt2(2, 32, 16), training);
  return record_step(*model);
}

const StepTask& find(const StepDescription& step, const std::string& name) {
  const auto found = std::ranges::find(step.tasks, name, &StepTask::name);
  EXPECT_NE(found, step.tasks.end()) << name;
  return found == step.tasks.end() ? step.tasks.front() : *found;
}

TEST(RecordedGraph, EveryTaskHasItsRegion) {
  const StepDescription step = record();
  std::set<std::string> regions;
  for (const StepTask& task : step.tasks) regions.insert(task.place.region);
  EXPECT_EQ(regions,
            (std::set<std::string>{
                "forward_input", "forward_embedding", "forward_block0", "forward_block1",
                "forward_head", "forward_loss", "forward_output", "backward_loss", "backward_head",
                "backward_block1", "backward_block0", "backward_embedding", "update_embedding",
                "update_block0", "update_block1", "update_head"}));
  const std::pair<const char*, const char*> some[] = {
      {"load tokens", "forward_input"},
      {"attention in block1.attention", "forward_block1"},
      {"gradients of block0.mlp", "backward_block0"},
      {"adamw of up.weight in block0.mlp/update", "update_block0"},
      {"gradient of up.weight in block0.mlp/backward", "backward_block0"},
      {"gradients of head", "backward_head"}};
  for (const auto& [name, region] : some) EXPECT_EQ(find(step, name).place.region, region) << name;
}

TEST(RecordedGraph, TheStepIsValidAndReadBackFromItsText) {
  for (const bool shards : {false, true}) {
    StepDescription step = record({.micro_batches = 3, .shards_optimiser = shards});
    step.collective.beta_ns_per_byte = 1;
    const auto ok = validate(step);
    ASSERT_TRUE(ok) << ok.error().message;
    EXPECT_EQ(step.ranks, 4);
    EXPECT_EQ(step.ranks_per_host, 2);
    EXPECT_GT(step.micro_batch_bytes, 0);
    EXPECT_GT(step.memory_limit_bytes, 3 * step.micro_batch_bytes);
    const auto read = parse_step_description(to_json(step).dump());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->tasks.size(), step.tasks.size());
    for (std::size_t i = 0; i < step.tasks.size(); ++i) {
      EXPECT_EQ(read->tasks[i].place.region, step.tasks[i].place.region);
      EXPECT_EQ(read->tasks[i].place.micro_batch, step.tasks[i].place.micro_batch);
      EXPECT_EQ(read->tasks[i].place.dimensions.size(), step.tasks[i].place.dimensions.size());
      EXPECT_EQ(read->tasks[i].collective, step.tasks[i].collective);
    }
  }
}

TEST(RecordedGraph, ComputationsOfPassesHaveTheirMicroBatchAndOthersNone) {
  const StepDescription step = record({.micro_batches = 3});
  std::vector<int> tasks(3);
  for (const StepTask& task : step.tasks)
    if (task.place.micro_batch != kNoMicroBatch) ++tasks.at(task.place.micro_batch);
  // The first overwrites what the others add to.
  EXPECT_GT(tasks[0], 50);
  EXPECT_EQ(tasks[1], tasks[2]);
  for (const StepTask& task : step.tasks)
    EXPECT_TRUE(task.place.micro_batch == kNoMicroBatch ||
                !(task.place.region.starts_with("update_") || task.collective))
        << task.name;
  for (const StepTask& task : record().tasks) EXPECT_EQ(task.place.micro_batch, kNoMicroBatch);
}

TEST(RecordedGraph, DataHaveNamesOfTheirOwnAndPlaces) {
  for (const int kept : {1, 2}) {
    const SteadyClock clock;
    const auto device = EmulatedDevice::create({.memory_bytes = 256}, clock).value();
    const StepDescription step =
        record({.micro_batches = 2, .micro_batches_kept = kept, .placed = device.get()});
    ASSERT_EQ(step.data_places.size(), step.data.size());
    const std::set<std::string> names(step.data.begin(), step.data.end());
    EXPECT_EQ(names.size(), step.data.size());
    const auto place = [&](const std::string& name) {
      const auto found = std::ranges::find(step.data, name);
      EXPECT_NE(found, step.data.end()) << name;
      return step.data_places.at(static_cast<std::size_t>(found - step.data.begin()));
    };
    constexpr std::int64_t kBytes = 32 * 4 * 32 * sizeof(float);
    for (const std::string of : {"first_moment/", "second_moment/"})
      EXPECT_EQ(place(of + "block0.mlp.up.weight"), (DataPlace{.bytes = kBytes, .layer = 1}));
    const auto groups = LanguageModel(small_gpt2(2, 32, 16), {}).workload().tensors;
    EXPECT_EQ(place("block0.mlp.gradients"),
              (DataPlace{.bytes = groups.at(2).bytes, .is_transient = true}));
    EXPECT_EQ(place("block0.mlp.parameters"), (DataPlace{.bytes = groups.at(2).bytes, .layer = 1}));
    const DataPlace range = place("block0.mlp.up.weight");
    EXPECT_EQ(range.bytes, 0);
    EXPECT_EQ(step.data.at(range.range_of), "block0.mlp.parameters");
    EXPECT_EQ(place("tokens"), DataPlace{});
    EXPECT_EQ(place("embedding.parameters").layer, 0);
    EXPECT_EQ(place("second_moment/head.norm.weight").layer, 3);
  }
}

TEST(RecordedGraph, UpdatesSayTheirLayerAndAccessTheirMoments) {
  const SteadyClock clock;
  const auto device = EmulatedDevice::create({.memory_bytes = 256}, clock).value();
  const StepDescription step = record({.placed = device.get()});
  for (const StepTask& task : step.tasks) {
    const bool updates = task.name.starts_with("adamw ");
    const bool loads =
        task.name.starts_with("load ") &&
        task.name.ends_with(" for layer " + std::to_string(task.place.updates_layer));
    EXPECT_EQ(task.place.updates_layer != kNoLayer, updates || loads) << task.name;
    if (!updates) continue;
    int of_layer = 0;
    for (const Access& access : task.accesses) {
      if (step.data_places[access.data.index].layer != task.place.updates_layer) continue;
      EXPECT_EQ(access.mode, AccessMode::update);
      ++of_layer;
    }
    EXPECT_EQ(of_layer, 3) << task.name;
  }
  // Steps that are not placed have no sides.
  for (const StepTask& task : record().tasks) EXPECT_EQ(task.place.updates_layer, kNoLayer);
}

TEST(RecordedGraph, WhatDoesNotFitTheStepIsRefusedByName) {
  const StepDescription step = record({.micro_batches = 3});
  const auto message = [&](const ScheduleConfig& config) {
    const auto partitioned = partition_step(step, config);
    return partitioned ? std::string() : partitioned.error().message;
  };
  ScheduleConfig region, dimension, group;
  region.regions["backward_blok1"].launch = CollectiveLaunch::deferred;
  EXPECT_THAT(message(region), HasSubstr("backward_blok1"));
  EXPECT_THAT(message(region), HasSubstr("backward_block1"));
  dimension.regions["backward_block1"].compute_parts = 2;
  dimension.regions["backward_block1"].dimension = "columns";
  EXPECT_THAT(message(dimension), HasSubstr("regions.backward_block1.dimension"));
  group.group_ranks = 3;
  EXPECT_THAT(message(group), HasSubstr("group_ranks"));
}

/// Checks that pieces write their declared slices of a group of gradients and nothing else.
class SliceChecker final : public Submitter {
 public:
  SliceChecker(const PreparedGraph& prepared, RankGrid grid, int rank)
      : prepared_(prepared), grid_(grid), rank_(rank) {}

  RankGrid grid() const override { return grid_; }
  DataId add_data(const DataPlace&, std::string_view name) override {
    const std::size_t end = name.rfind('.');
    if (name.ends_with(".gradients"))
      groups_.push_back({data_, prepared_.group(groups_.size() - parameters_)});
    if (name.ends_with(".parameters") && end != std::string_view::npos) {
      groups_.push_back({data_, prepared_.parameter_group(parameters_)});
      ++parameters_;
    }
    return {data_++};
  }
  void compute(const TaskOptions&, std::span<const Access>, TaskBody body) override { body(); }
  void compute_pieces(const TaskOptions& options, std::span<const Access>,
                      PieceBody body) override {
    SCOPED_TRACE(options.name);
    const Dimension& dimension = options.place->dimensions.front();
    const bool is_update = options.place->region.starts_with("update_");
    for (const Group& group : groups_) {
      const bool is_sliced = std::ranges::any_of(dimension.slices, [&](const DimensionSlice& each) {
        return each.data.index == group.data;
      });
      if (!is_sliced || is_update != (parameters_ > 0)) continue;
      for (const std::int64_t unit : {std::int64_t{0}, dimension.extent / 2, dimension.extent - 1})
        check(dimension, group, {0, unit, unit + 1}, body);
    }
    body({0, 0, dimension.extent});
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float>) override {}
  void reduce_scatter(const TaskOptions&, DataId, std::span<float>) override {}
  void all_gather(const TaskOptions&, DataId, std::span<float>) override {}

  int checked = 0;

 private:
  struct Group {
    std::uint32_t data;
    std::span<std::byte> bytes;
  };

  /// Runs a piece, and expects that it changes nothing outside of its slices of a group.
  void check(const Dimension& dimension, const Group& group, const TaskPiece& piece,
             const PieceBody& body) {
    const std::span<std::byte> bytes = group.bytes;
    const std::vector<std::byte> kept(bytes.begin(), bytes.end());
    if (parameters_ == 0) std::ranges::fill(bytes, std::byte{0x41});
    std::vector<std::byte> expected(bytes.begin(), bytes.end());
    body(piece);
    const std::vector<std::byte> found(bytes.begin(), bytes.end());
    std::ranges::copy(kept, bytes.begin());
    ++checked;
    for (const DimensionSlice& slice : dimension.slices) {
      if (slice.data.index != group.data) continue;
      std::int64_t begin = slice.begin_bytes + piece.begin * slice.bytes_per_unit;
      std::int64_t end = slice.begin_bytes + piece.end * slice.bytes_per_unit;
      if (piece.end == dimension.extent) end += slice.tail_bytes;
      if (slice.of_block) {
        const BlockRange block = block_range(std::ssize(bytes), grid_, rank_);
        begin = std::min(block.begin + begin, block.end);
        end = std::min(block.begin + end, block.end);
      }
      std::copy(found.begin() + begin, found.begin() + end, expected.begin() + begin);
    }
    EXPECT_EQ(found, expected) << "a piece from " << piece.begin;
  }

  const PreparedGraph& prepared_;
  const RankGrid grid_;
  const int rank_;
  std::uint32_t data_ = 0;
  std::vector<Group> groups_;
  std::size_t parameters_ = 0;  ///< groups of parameters
};

int check_slices(const RankGrid& grid, int rank, bool shards) {
  // Wide enough for products in several units.
  const LanguageModel model(small_gpt2(1, 512, 2),
                            {.rank = rank, .grid = grid, .shards_optimiser = shards});
  SliceChecker checker(model->prepared(), grid, rank);
  model->attach(checker);
  model.submit_step(0);
  return checker.checked;
}

TEST(RecordedGraph, PiecesWriteTheirSlicesAlone) {
  EXPECT_GE(check_slices({2, 2}, 0, false), 3 * 4) << "products";
  for (const int rank : {0, 1, 2}) {
    SCOPED_TRACE(rank);
    EXPECT_GE(check_slices({3, 3}, rank, true), 3 * 4);
  }
}

}  // namespace
}  // namespace hocket
