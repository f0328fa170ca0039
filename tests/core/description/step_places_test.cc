#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "core/description/step_description.h"
#include "core/step/schedule_config.h"
#include "tests/core/description/step_text.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPlaced =
    R"("device_memory_bytes":4096,"to_device":{"alpha_ns":10,"beta_ns_per_byte":0.5},)"
    R"("to_host":{"latency_ns":7},)"
    R"("tasks":[{"name":"a","duration_ns":5,"reads":["w.0","x"],"writes":["g"]},)"
    R"({"name":"b","duration_ns":6,"updates_layer":2,"host_duration_ns":90,"reads":["g"],)"
    R"("updates":["w"]},{"name":"c","reads":["v.0"]}],)"
    R"("data":[{"name":"v","bytes":70,"layer":3},{"name":"w","bytes":1000,"layer":2},)"
    R"({"name":"w.0","range_of":"w"},{"name":"g","bytes":50,"transient":true},)"
    R"({"name":"v.0","range_of":"v"}])";

TEST(StepPlaces, ReadsWhatPlacementNeedsToKnow) {
  const StepDescription step = parsed(document(kPlaced));
  EXPECT_EQ(step.device_memory_bytes, 4096);
  EXPECT_EQ(step.to_device, (PartCost{10, 0.5, 0}));
  EXPECT_EQ(step.to_host, (PartCost{0, 0, 7}));
  EXPECT_EQ(step.tasks[0].place.updates_layer, kNoLayer);
  EXPECT_EQ(step.tasks[0].host_duration_ns, 0);
  EXPECT_EQ(step.tasks[1].place.updates_layer, 2);
  EXPECT_EQ(step.tasks[1].host_duration_ns, 90);
  EXPECT_THAT(step.data, ElementsAre("w.0", "x", "g", "w", "v.0", "v")) << "v has no access";
  EXPECT_THAT(step.data_places,
              ElementsAre(DataPlace{.range_of = 3}, DataPlace{},
                          DataPlace{.bytes = 50, .is_transient = true},
                          DataPlace{.bytes = 1000, .layer = 2}, DataPlace{.range_of = 5},
                          DataPlace{.bytes = 70, .layer = 3}));
  EXPECT_EQ(parsed(to_json(step).dump()), step);
}

TEST(StepPlaces, AStepWithoutPlacesIsWrittenAsBefore) {
  const StepDescription step = parsed(with_tasks(R"({"name":"a","reads":["x"]})"));
  EXPECT_EQ(parsed(document(R"("collective":{},"tasks":[{"name":"a","reads":["x"]}],)"
                            R"("data":[{"name":"x"}],"to_host":{},"device_memory_bytes":0)")),
            step);
  EXPECT_TRUE(step.data_places.empty());
  const auto written = to_json(step);
  for (const char* field : {"data", "to_device", "to_host", "device_memory_bytes"})
    EXPECT_FALSE(written.contains(field)) << field;
  EXPECT_EQ(written.at("tasks").at(0).size(), 3U) << "name, kind and reads";
}

TEST(StepPlaces, OnlyWhatReadingTakesIsWritten) {
  StepDescription step = parsed(with_tasks(R"({"name":"a","reads":["x","y"]})"));
  step.data.push_back("unused");
  step.data_places = {{.bytes = 5}, {}, {.bytes = 7, .layer = 1}};
  EXPECT_EQ(validation_of(step), "no error");
  const auto written = to_json(step);
  EXPECT_EQ(written.at("data").dump(), R"([{"bytes":5,"name":"x"}])");
  EXPECT_THAT(parsed(written.dump()).data_places, ElementsAre(DataPlace{.bytes = 5}, DataPlace{}));
}

TEST(StepPlaces, WhatPlacementNeedsToKnowIsChecked) {
  const auto with_data = [](const std::string& data) {
    return document(R"("tasks":[{"reads":["x","y"]}],"data":[)" + data + "]");
  };
  EXPECT_EQ(step_error(with_data(R"({"name":"x","layer":99999})")), "no error");
  EXPECT_THAT(step_error(with_data(R"({"name":"x","layer":100000})")),
              HasSubstr(R"("data[0].layer": expected an integer from 0 to 99999, found 100000)"));
  EXPECT_THAT(step_error(with_data(R"({"name":"x","layer":-1})")), HasSubstr("data[0].layer"));
  EXPECT_THAT(step_error(with_data(R"({"name":"x","bytes":-1})")), HasSubstr("data[0].bytes"));
  EXPECT_THAT(step_error(with_data(R"({"name":"x","transient":1})")),
              HasSubstr("data[0].transient"));
  EXPECT_THAT(step_error(with_data(R"({"bytes":1})")), HasSubstr(R"("data[0].name" is missing)"));
  EXPECT_THAT(step_error(with_data(R"({"name":"x"},{"name":"z"})")),
              AllOf(HasSubstr(R"("data[1].name": expected the name of data that a task accesses)"),
                    HasSubstr(R"(found "z")")));
  EXPECT_THAT(step_error(with_data(R"({"name":"x"},{"name":"x"})")),
              HasSubstr(R"("data[1].name": expected data that are not listed before)"));
  EXPECT_THAT(step_error(with_data(R"({"name":"x","range_of":"z"})")),
              HasSubstr(R"("data[0].range_of")"));
  EXPECT_THAT(step_error(with_data(R"({"name":"x","range_of":"x"})")),
              HasSubstr(R"("data[0].range_of")"));
  EXPECT_THAT(step_error(with_data(R"({"name":"z"},{"name":"y","range_of":"z"},)"
                                   R"({"name":"x","range_of":"y"})")),
              AllOf(HasSubstr(R"("data[2].range_of")"), HasSubstr(R"(found "y")")));
  EXPECT_THAT(step_error(with_data(R"({"name":"x","bites":1})")), HasSubstr("did you mean"));
  EXPECT_THAT(step_error(document(R"("layers":[{}],"data":[{"name":"x"}])")),
              HasSubstr("data[0].name"));
  EXPECT_THAT(step_error(with_tasks(R"({"updates_layer":100000})")),
              HasSubstr("tasks[0].updates_layer"));
  EXPECT_THAT(step_error(with_tasks(R"({"host_duration_ns":-1})")),
              HasSubstr("tasks[0].host_duration_ns"));
  for (const char* field : {"updates_layer", "host_duration_ns"}) {
    EXPECT_THAT(step_error(with_tasks(R"({"kind":"all_reduce","bytes":1,")" + std::string(field) +
                                      R"(":1})")),
                HasSubstr("tasks[0]." + std::string(field)));
  }
  EXPECT_THAT(step_error(with_top(R"("device_memory_bytes":-1)")),
              HasSubstr("device_memory_bytes"));
  EXPECT_THAT(step_error(with_top(R"("to_device":{"alpha_ns":-1})")),
              HasSubstr("to_device.alpha_ns"));
}

TEST(StepPlaces, PlacesThatNoTextGaveAreChecked) {
  const StepDescription placed = parsed(document(kPlaced));
  const auto error_of = [&](auto change) {
    StepDescription step = placed;
    change(step);
    return validation_of(step);
  };
  EXPECT_EQ(error_of([](auto&) {}), "no error");
  EXPECT_THAT(error_of([](auto& step) { step.data_places.pop_back(); }),
              HasSubstr(R"(field "data": expected places of all 6 data)"));
  EXPECT_THAT(error_of([](auto& step) { step.data_places[3].layer = -2; }),
              HasSubstr("data[3].layer"));
  EXPECT_THAT(error_of([](auto& step) { step.data_places[3].layer = kAllLayers; }),
              HasSubstr("data[3].layer"));
  EXPECT_THAT(error_of([](auto& step) { step.data_places[3].bytes = -1; }),
              HasSubstr("data[3].bytes"));
  EXPECT_THAT(error_of([](auto& step) { step.data_places[0].range_of = 6; }),
              HasSubstr("data[0].range_of"));
  EXPECT_THAT(error_of([](auto& step) { step.data_places[0].range_of = 0; }),
              HasSubstr("data[0].range_of"));
  EXPECT_THAT(error_of([](auto& step) { step.data_places[3].range_of = 1; }),
              HasSubstr("data[0].range_of"))
      << "then a range of a range";
  EXPECT_THAT(error_of([](auto& step) { step.tasks[1].place.updates_layer = -2; }),
              HasSubstr("tasks[1].updates_layer"));
  EXPECT_THAT(error_of([](auto& step) { step.to_host.beta_ns_per_byte = std::nan(""); }),
              HasSubstr("to_host.beta_ns_per_byte"));
  const auto as_collective = [](StepDescription& step) {
    StepTask& task = step.tasks[1];
    task.collective = CollectiveKind::all_reduce;
    task.bytes = 1;
    task.duration_ns = 0;
  };
  EXPECT_THAT(error_of(as_collective), HasSubstr("tasks[1].updates_layer"));
  EXPECT_THAT(error_of([&](auto& step) {
                as_collective(step);
                step.tasks[1].place.updates_layer = kNoLayer;
              }),
              HasSubstr("tasks[1].host_duration_ns"));
}

TEST(StepPlaces, TheSizeOfAllDataAndTheTimeOfTheirCopiesAreBounded) {
  StepDescription step;
  step.tasks.resize(1);
  for (int i = 0; i < 257; ++i) {
    step.data.push_back("d" + std::to_string(i));
    step.tasks[0].accesses.push_back(read(DataId{static_cast<std::uint32_t>(i)}));
    step.data_places.push_back({.bytes = kMaxStepTaskBytes});
  }
  EXPECT_THAT(validation_of(step),
              HasSubstr(R"(field "data": expected at most 1125899906842624 bytes in all)"));
  step.data_places[256] = {.bytes = 1, .range_of = 0};
  EXPECT_EQ(validation_of(step), "no error") << "a range has no bytes of its own";
  step.to_device.beta_ns_per_byte = 1;
  EXPECT_THAT(validation_of(step), HasSubstr(R"(field "to_device": expected at most)"));
  step.to_device = {};
  step.to_host.beta_ns_per_byte = 0.1;
  EXPECT_EQ(validation_of(step), "no error");
  step.tasks.resize(10, step.tasks.front());
  EXPECT_THAT(validation_of(step), HasSubstr(R"(field "to_host")")) << "ten copies of each";

  step = StepDescription{};
  step.tasks.resize(300);
  for (StepTask& task : step.tasks) task.host_duration_ns = kMaxStepTaskNs;
  EXPECT_THAT(validation_of(step), HasSubstr("on the slowest rank"));
}

TEST(StepPlaces, StepsDifferByWhatPlacementNeedsToKnow) {
  const StepDescription step = parsed(document(kPlaced));
  const auto differs = [&](auto change) {
    StepDescription other = step;
    change(other);
    return !(other == step);
  };
  EXPECT_TRUE(differs([](auto& other) { other.device_memory_bytes = 1; }));
  EXPECT_TRUE(differs([](auto& other) { other.to_device.alpha_ns = 1; }));
  EXPECT_TRUE(differs([](auto& other) { other.to_host.alpha_ns = 1; }));
  EXPECT_TRUE(differs([](auto& other) { other.data_places[0].layer = 1; }));
  EXPECT_TRUE(differs([](auto& other) { other.tasks[0].place.updates_layer = 1; }));
  EXPECT_TRUE(differs([](auto& other) { other.tasks[0].host_duration_ns = 1; }));
  EXPECT_TRUE(differs([](auto& other) { other.tasks[0].lane = TaskLane::host; }));
}

}  // namespace
}  // namespace hocket
