#include "job/step/step_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

#include "core/partitioning/step_partition.h"
#include "tests/examples/gpt2/model/host_model.h"
#include "tests/job/step/submitters.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr Gpt2Config kRecordedModel{
    .layers = 2, .heads = 2, .d_model = 32, .sequence = 16, .batch = 2};
const Text kRecordedText("whoever rests while the others sing is part of the song all the same");

StepDescription record(TrainingOptions options = {}) {
  options.world_size = 4;
  options.ranks_per_host = 2;
  const HostModel model(kRecordedModel, options, kRecordedText);
  return record_step(*model);
}

const StepTask& find(const StepDescription& step, const std::string& name) {
  const auto found = std::ranges::find(step.tasks, name, &StepTask::name);
  EXPECT_NE(found, step.tasks.end()) << name;
  return found == step.tasks.end() ? step.tasks.front() : *found;
}

TEST(StepRecorder, EveryTaskHasItsRegion) {
  const StepDescription step = record();
  std::set<std::string> regions;
  for (const StepTask& task : step.tasks) regions.insert(task.place.region);
  EXPECT_EQ(regions,
            (std::set<std::string>{"forward_embedding", "forward_layer0", "forward_layer1",
                                   "forward_head", "backward_head", "backward_layer1",
                                   "backward_layer0", "backward_embedding", "update_embedding",
                                   "update_layer0", "update_layer1", "update_head"}));
  const std::pair<const char*, const char*> some[] = {
      {"batch", "forward_embedding"},     {"block.1.mlp.gelu", "forward_layer1"},
      {"loss", "forward_head"},           {"head.dx", "backward_head"},
      {"block.0.mlp", "backward_layer0"}, {"block.0.mlp.adamw", "update_layer0"},
      {"final_norm", "backward_head"},    {"embedding", "backward_embedding"}};
  for (const auto& [name, region] : some) EXPECT_EQ(find(step, name).place.region, region) << name;
}

TEST(StepRecorder, TheStepIsValidAndReadBackFromItsText) {
  for (const bool shards : {false, true}) {
    StepDescription step = record({.micro_batches = 3, .shard_optimizer = shards});
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

TEST(StepRecorder, ComputationsOfPassesHaveTheirMicroBatchAndOthersNone) {
  const StepDescription step = record({.micro_batches = 3});
  std::vector<int> tasks(3);
  for (const StepTask& task : step.tasks) {
    const bool is_update = task.place.region.starts_with("update_");
    EXPECT_EQ(task.place.micro_batch == kNoMicroBatch, is_update || task.collective.has_value())
        << task.name;
    if (task.place.micro_batch != kNoMicroBatch) ++tasks.at(task.place.micro_batch);
  }
  EXPECT_EQ(tasks, std::vector<int>(3, tasks[0]));
  for (const StepTask& task : record().tasks) EXPECT_EQ(task.place.micro_batch, kNoMicroBatch);
}

TEST(StepRecorder, DataHaveNamesOfTheirOwnAndPlaces) {
  for (const int kept : {1, 2}) {
    const StepDescription step = record({.micro_batches = 2, .micro_batches_kept = kept});
    ASSERT_EQ(step.data_places.size(), step.data.size());
    const std::set<std::string> names(step.data.begin(), step.data.end());
    EXPECT_EQ(names.size(), step.data.size());
    const auto place = [&](const std::string& name) {
      const auto found = std::ranges::find(step.data, name);
      EXPECT_NE(found, step.data.end()) << name;
      return step.data_places.at(static_cast<std::size_t>(found - step.data.begin()));
    };
    const auto bytes = workload(kRecordedModel).tensors.at(2).bytes;
    for (const char* kind : {"parameters", "first_moment", "second_moment"}) {
      EXPECT_EQ(place(std::string("block.0.mlp.") + kind), (DataPlace{.bytes = bytes, .layer = 1}));
    }
    EXPECT_EQ(place("block.0.mlp.gradients"), (DataPlace{.bytes = bytes, .is_transient = true}));
    const DataPlace range = place("block.0.mlp.gradients.1");
    EXPECT_EQ(range.bytes, 0);
    EXPECT_EQ(step.data.at(range.range_of), "block.0.mlp.gradients");
    EXPECT_EQ(place("block.1.qkv"),
              (DataPlace{.bytes = kRecordedModel.rows() * 3 * kRecordedModel.d_model * 4}));
    EXPECT_EQ(place("tokens 0"), DataPlace{});
    EXPECT_EQ(place("embedding.parameters").layer, 0);
    EXPECT_EQ(place("final_norm.second_moment").layer, kRecordedModel.layers + 1);
  }
}

TEST(StepRecorder, UpdatesSayTheirLayerAndAccessTheirMoments) {
  const StepDescription step = record();
  for (const StepTask& task : step.tasks) {
    const bool updates = task.name.ends_with(".adamw");
    EXPECT_EQ(task.place.updates_layer != kNoLayer, updates) << task.name;
    if (!updates) continue;
    int of_layer = 0;
    for (const Access& access : task.accesses) {
      if (step.data_places[access.data.index].layer != task.place.updates_layer) continue;
      EXPECT_EQ(access.mode, AccessMode::update);
      ++of_layer;
    }
    EXPECT_EQ(of_layer, 3) << task.name;
  }
}

TEST(StepRecorder, WhatDoesNotFitTheStepIsRefusedByName) {
  const StepDescription step = record({.micro_batches = 3});
  const auto message = [&](const ScheduleConfig& config) {
    const auto partitioned = partition_step(step, config);
    return partitioned ? std::string() : partitioned.error().message;
  };
  ScheduleConfig region, dimension, group;
  region.regions["backward_layr1"].launch = CollectiveLaunch::deferred;
  EXPECT_THAT(message(region), HasSubstr("backward_layr1"));
  EXPECT_THAT(message(region), HasSubstr("backward_layer1"));
  dimension.regions["backward_layer1"].compute_parts = 2;
  dimension.regions["backward_layer1"].dimension = "columns";
  EXPECT_THAT(message(dimension), HasSubstr("regions.backward_layer1.dimension"));
  group.group_ranks = 3;
  EXPECT_THAT(message(group), HasSubstr("group_ranks"));
}

/// Checks that pieces write their declared slices and nothing else.
class SliceChecker final : public Submitter {
 public:
  explicit SliceChecker(const TrainingOptions& options) : options_(options) {}

  RankGrid grid() const override { return options_.grid(); }
  DataId add_data(const DataPlace&, std::string_view) override { return {data_++}; }
  void compute(const TaskOptions&, std::span<const Access>, TaskBody body) override { body(); }
  void compute_pieces(const TaskOptions& options, std::span<const Access>,
                      PieceBody body) override {
    SCOPED_TRACE(options.name);
    const bool writes = checks_updates == options.name.ends_with(".adamw");
    for (std::uint32_t i = 0; i < options.place->dimensions.size(); ++i) {
      const Dimension& dimension = options.place->dimensions[i];
      if (dimension.kind != DimensionKind::outer || !writes) continue;
      for (const std::int64_t unit : {std::int64_t{0}, dimension.extent / 2, dimension.extent - 1})
        check(dimension, {i, unit, unit + 1}, body);
    }
    body({0, 0, options.place->dimensions.front().extent});
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float>) override {}
  void reduce_scatter(const TaskOptions&, DataId, std::span<float>) override {}
  void all_gather(const TaskOptions&, DataId, std::span<float>) override {}

  std::vector<Buffer> written;  ///< buffers that pieces may write
  bool checks_updates = false;  ///< checks updates only, otherwise all others
  int checked = 0;

 private:
  void check(const Dimension& dimension, const TaskPiece& piece, const PieceBody& body) {
    for (const DimensionSlice& slice : dimension.slices) {
      const auto buffer = std::ranges::find(written, slice.data, &Buffer::id);
      if (buffer == written.end()) continue;
      const std::span values(static_cast<float*>(buffer->memory), buffer->size);
      const std::vector<float> before(values.begin(), values.end());
      body(piece);
      const auto bytes = static_cast<std::int64_t>(values.size_bytes());
      std::int64_t begin = slice.begin_bytes + piece.begin * slice.bytes_per_unit;
      std::int64_t end = slice.begin_bytes + piece.end * slice.bytes_per_unit;
      if (piece.end == dimension.extent) end += slice.tail_bytes;
      if (slice.of_block) {
        const BlockRange block = block_range(bytes, grid(), options_.rank);
        begin = std::min(block.begin + begin, block.end);
        end = std::min(block.begin + end, block.end);
      }
      int inside = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i * sizeof(float));
        const bool changed = before[i] != values[i];
        const bool is_own = at >= begin && at < end;
        inside += changed && is_own;
        ASSERT_TRUE(is_own || !changed) << "element " << i << " of a piece from " << piece.begin;
      }
      // Some entries of a gradient may be 0.
      EXPECT_GE(2 * inside, (end - begin) / static_cast<std::int64_t>(sizeof(float)))
          << "a piece from " << piece.begin;
      std::copy(before.begin(), before.end(), values.begin());
      ++checked;
    }
  }

  const TrainingOptions options_;
  std::uint32_t data_ = 0;
};

/// Checks a model whose gradients have not been computed, so that each change is visible.
int check_slices(const TrainingOptions& options, bool parameters) {
  const HostModel model(kRecordedModel, options, kRecordedText);
  SliceChecker checker(options);
  checker.checks_updates = parameters;
  model->attach(checker);
  for (ParameterGroup& group : model->groups())
    checker.written.push_back(parameters ? group.parameters() : group.gradients());
  for (ParameterGroup& group : model->groups()) {
    if (!parameters) std::ranges::fill(floats(group.gradients()), 7.0f);
  }
  model->submit_step(0);
  return checker.checked;
}

TEST(StepRecorder, PiecesWriteTheirSlicesAlone) {
  EXPECT_EQ(check_slices({}, false), 3 * (4 * 2 + 1 + 2 * 2 + 1)) << "products and norms";
  EXPECT_EQ(check_slices({}, true), 3 * 6) << "updates of six groups";
  for (const int rank : {0, 1, 2}) {
    SCOPED_TRACE(rank);
    EXPECT_EQ(check_slices({.rank = rank, .world_size = 3, .shard_optimizer = true}, true), 3 * 6);
  }
}

}  // namespace
}  // namespace hocket
