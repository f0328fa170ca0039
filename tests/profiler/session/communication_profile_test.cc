#include "profiler/session/communication_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "core/sim/simulator.h"
#include "profiler/calibration/calibration.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// A layer of a framework's model: its times, and the gradient that it communicates.
struct Layer {
  std::int64_t forward_ns = 0, backward_ns = 0, bytes = 0;
};

/// A framework on a clock of its own, with one channel, whose next forward of a layer waits for
/// that layer alone.
class ModelFramework {
 public:
  ModelFramework(std::vector<Layer> layers, const ScheduleConfig& config, TraceSink* trace)
      : layers_(std::move(layers)),
        schedule_(CommunicationScheduleOptions{.config = config, .clock = clock_, .trace = trace}) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      tensors_.push_back(
          {"layer" + std::to_string(i), layers_[i].bytes, static_cast<std::uint32_t>(i)});
      EXPECT_TRUE(schedule_.add(tensors_.back()));
    }
  }

  static constexpr std::int64_t kPartNs = 20'000;
  static constexpr std::int64_t kByteNs = 1;

  /// Trains one step; returns how long it took.
  std::int64_t step() {
    const std::int64_t begin_ns = clock_.now;
    for (std::uint32_t i = 0; i < layers_.size(); ++i) {
      while (!schedule_.wait(i, 0)) run_until(end_of_part());
      run_until(clock_.now + layers_[i].forward_ns);
    }
    for (auto i = static_cast<std::uint32_t>(layers_.size()); i-- > 0;)
      EXPECT_TRUE(schedule_.enqueue(i));
    for (auto i = static_cast<std::uint32_t>(layers_.size()); i-- > 0;) {
      run_until(clock_.now + layers_[i].backward_ns);
      EXPECT_TRUE(schedule_.notify_ready(i));
    }
    EXPECT_TRUE(schedule_.end_step());
    return clock_.now - begin_ns;
  }

  const std::vector<ScheduledTensor>& tensors() const { return tensors_; }

 private:
  std::int64_t end_of_part() {
    begin_part();
    return part_end_ns_;
  }
  void begin_part() {
    if (part_) return;
    part_ = schedule_.next(0).value();
    if (part_) part_end_ns_ = clock_.now + kPartNs + kByteNs * part_->bytes;
  }
  /// Communicates until the framework has computed until `end_ns`.
  void run_until(std::int64_t end_ns) {
    for (begin_part(); part_ && part_end_ns_ <= end_ns; begin_part()) {
      clock_.now = part_end_ns_;
      EXPECT_TRUE(schedule_.notify_finish(*part_));
      part_.reset();
    }
    clock_.now = end_ns;
  }

  const std::vector<Layer> layers_;
  SetClock clock_;
  CommunicationSchedule schedule_;
  std::vector<ScheduledTensor> tensors_;
  std::optional<ScheduledPart> part_;
  std::int64_t part_end_ns_ = 0;
};

std::vector<Layer> random_layers(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  std::vector<Layer> layers(2 + random() % 8);
  for (Layer& layer : layers)
    layer = {10'000 + below(1'000'000), 10'000 + below(2'000'000), 64 * (1 + below(20'000))};
  return layers;
}

ScheduleConfig config_of(CollectiveOrder order, std::int64_t partition_bytes) {
  ScheduleConfig config;
  config.order = order;
  config.partition_bytes = partition_bytes;
  config.credit_bytes = partition_bytes;
  return config;
}

RankTrace head() {
  RankTrace trace;
  trace.source = "host";
  return trace;
}

TEST(CommunicationProfile, PredictsOtherConfigurationsOfTheFramework) {
  constexpr int kSteps = 10;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::vector<Layer> layers = random_layers(seed);
    CommunicationRecorder recorder;
    recorder.start(2, kSteps - 2);
    ModelFramework framework(layers, config_of(CollectiveOrder::fifo, 256 << 10), &recorder);
    for (int step = 0; step < kSteps; ++step) framework.step();
    std::int64_t dropped = 0;
    const auto events = recorder.take(dropped);
    EXPECT_EQ(dropped, 0);
    const auto profile = communication_profile(events, framework.tensors(), head());
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->trace.quarantined, 0);
    const ClockFit fit;
    const auto calibration = calibrate(profile->structure, {&profile->trace, 1}, {&fit, 1});
    ASSERT_TRUE(calibration) << calibration.error().message;
    for (const auto order : {CollectiveOrder::fifo, CollectiveOrder::negotiated}) {
      for (const std::int64_t parts : {64 << 10, 256 << 10, 4 << 20}) {
        const ScheduleConfig config = config_of(order, parts);
        ModelFramework other(layers, config, nullptr);
        std::int64_t truth_ns = 0;
        for (int step = 0; step < kSteps; ++step) truth_ns = other.step();
        const auto predicted = simulate(calibration->step, {.config = config});
        ASSERT_TRUE(predicted) << predicted.error().message;
        EXPECT_NEAR(static_cast<double>(predicted->iteration_ns) / static_cast<double>(truth_ns), 1,
                    0.03)
            << static_cast<int>(order) << ", " << parts;
      }
    }
  }
}

TEST(CommunicationProfile, HasWhatWasReadyWhenAndWhatRanWhen) {
  CommunicationRecorder recorder;
  recorder.start(1, 3);
  ModelFramework framework({{100'000, 300'000, 64'000}, {50'000, 200'000, 128'000}},
                           config_of(CollectiveOrder::fifo, 1 << 20), &recorder);
  for (int step = 0; step < 5; ++step) framework.step();
  std::int64_t dropped = 0;
  const auto events = recorder.take(dropped);
  const auto profile = communication_profile(events, framework.tensors(), head());
  ASSERT_TRUE(profile) << profile.error().message;
  std::vector<std::string> names;
  for (const StructureTask& task : profile->structure.tasks) names.push_back(task.name);
  EXPECT_THAT(names, testing::ElementsAre("forward layer0", "forward layer1", "backward layer1",
                                          "backward layer0", "rest", "layer1", "layer0"));
  for (const TraceRecord& record : profile->trace.records) {
    ASSERT_NE(record.task, kNoTask);
    const StructureTask& task = profile->structure.tasks[static_cast<std::size_t>(record.task)];
    EXPECT_EQ(profile->trace.names[record.name], task.name);
    EXPECT_EQ(record.kind == TraceKind::communication, task.collective.has_value());
    if (task.collective) {
      EXPECT_LE(record.ready_ns, record.begin_ns);
      EXPECT_GT(record.ready_ns, 0);
    }
  }
  EXPECT_EQ(profile->trace.step_starts.size(), 3U);
}

TEST(CommunicationProfile, StepsThatDifferFromMostHaveNoTasks) {
  const SetClock clock;
  CommunicationRecorder recorder;
  recorder.start(0, 10);
  CommunicationSchedule schedule(CommunicationScheduleOptions{.clock = clock, .trace = &recorder});
  const std::vector<ScheduledTensor> tensors{{"a", 64, 0}, {"b", 64, 1}};
  for (const auto& tensor : tensors) EXPECT_TRUE(schedule.add(tensor));
  const std::vector<std::vector<std::uint32_t>> steps{{0}, {0, 1}, {1, 0}, {0, 1}};
  for (const auto& step : steps) {
    for (const auto tensor : step) EXPECT_TRUE(schedule.enqueue(tensor));
    for (const auto tensor : step) EXPECT_TRUE(schedule.notify_ready(tensor));
    while (const auto part = schedule.next(0).value()) EXPECT_TRUE(schedule.notify_finish(*part));
    EXPECT_TRUE(schedule.end_step());
  }
  std::int64_t dropped = 0;
  const auto profile = communication_profile(recorder.take(dropped), tensors, head());
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->structure.tasks.size(), 5U);
  for (const TraceRecord& record : profile->trace.records)
    EXPECT_EQ(record.task == kNoTask, record.step == 0) << record.step;
}

TEST(CommunicationProfile, OfNothingSaysSo) {
  const auto profile = communication_profile({}, {}, head());
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message, HasSubstr("no step has ended"));
}

TEST(CommunicationRecorder, KeepsNoMoreThanItsCapacity) {
  CommunicationRecorder recorder(2);
  recorder.start(5, 2);
  for (std::int64_t step = 4; step < 8; ++step)
    for (int i = 0; i < 2; ++i) recorder.record({.name = "x", .step = step});
  std::int64_t dropped = 0;
  EXPECT_EQ(recorder.take(dropped).size(), 2U);
  EXPECT_EQ(dropped, 2);
  recorder.record({.name = "x", .step = 5});
  EXPECT_TRUE(recorder.take(dropped).empty());
}

}  // namespace
}  // namespace hocket
