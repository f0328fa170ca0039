#include "archive/profiles/save_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <random>

#include "archive/profiles/calibrate_profile.h"
#include "archive/profiles/profile_summary.h"
#include "core/sim/offload/offload_choice.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "store/trace_file.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/core/sim/random_placed_steps.h"
#include "tests/store/faulty_store.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kIterations = 5;

StepDescription step_of_two_ranks() {
  StepDescription step;
  step.layers = {{"a", 4'000'000, 200'000, 400'000}, {"b", 2'000'000, 300'000, 500'000}};
  step.collective = {20'000, 0.2, 0};
  step.ranks = 2;
  step.rank_compute_scale = {1, 1.25};
  return step;
}

/// A simulated job of two profiled ranks.
class SaveProfile : public testing::Test {
 protected:
  ProfileResult profile_rank(std::int64_t rank) {
    SimulationClock clock;
    ProfileSession session({.clock = clock,
                            .rank = rank,
                            .ranks = 2,
                            .host = "host",
                            .source = "simulator",
                            .realtime_ns = [&clock] { return clock.now_ns(); }});
    must(session.start({.first_step = 2, .steps = kIterations}));
    const auto simulation = must(simulate(step_of_two_ranks(), {.config = config_,
                                                                .iterations = kIterations + 8,
                                                                .trace = &session,
                                                                .observer = &session,
                                                                .clock = &clock,
                                                                .watched_rank = rank}));
    return session.take().value();
  }

  /// Returns a profile of both ranks, which share a clock.
  ProfileToSave profile() {
    ProfileToSave to_save{.folder = must(create_profile_folder(*store_, path_, "job")),
                          .ranks = {},
                          .config = to_json(config_)};
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      ProfileResult result = profile_rank(rank);
      if (rank == 0) to_save.structure = result.structure;
      to_save.ranks.push_back({std::move(result.trace)});
    }
    return to_save;
  }

  const TemporaryFolder dir_;
  const std::string path_ = dir_.file("hocket.db");
  const std::unique_ptr<Store> store_ = open_store_in_memory();
  const ScheduleConfig config_;
};

TEST_F(SaveProfile, TheStoreHasAllOfIt) {
  ProfileToSave to_save = profile();
  to_save.overhead = ProfileOverhead{1010, 1000, 7, 8, 10};
  to_save.notes = {"a note"};
  const auto traces = std::vector{to_save.ranks[0].trace, to_save.ranks[1].trace};
  const ProfileFolder folder = to_save.folder;
  const auto saved = must(save_profile(*store_, path_, std::move(to_save)));
  const ProfileRow row = must(store_->profile(folder.name));
  EXPECT_TRUE(row == saved);
  EXPECT_EQ(row.source, "simulator");
  EXPECT_EQ(row.config, to_json(config_));
  EXPECT_TRUE(must(step_structure_from_json(row.structure)).tasks.size() == 6);
  EXPECT_EQ(row.detail["overhead"]["plain"], 8);
  EXPECT_NEAR(row.detail["overhead"]["share"].get<double>(), 0.01, 1e-9);
  EXPECT_NEAR(row.detail["overhead"]["share_margin"].get<double>(), 0.0196, 1e-9);
  EXPECT_THAT(row.detail["notes"].dump(), HasSubstr("a note"));
  ASSERT_EQ(row.ranks.size(), 2u);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(row.ranks[rank].trace_path,
              trace_file_path(folder.path, static_cast<std::int64_t>(rank)));
    const auto file = must(open_trace_file(row.ranks[rank].trace_path));
    EXPECT_TRUE(must(file->read()) == traces[rank]);
    EXPECT_TRUE(must(file->summary()).is_finished);
    EXPECT_EQ(row.ranks[rank].records, std::ssize(traces[rank].records));
    EXPECT_TRUE(clock_fit_from_json(row.ranks[rank].clock_fit));
  }
  EXPECT_EQ(must(store_->profile_iterations(row.id)).size(), 2 * kIterations);
}

TEST_F(SaveProfile, ItsSumsHold) {
  const auto row = must(save_profile(*store_, path_, profile()));
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> starts;
  for (const ProfileIteration& it : must(store_->profile_iterations(row.id))) {
    EXPECT_LE(it.exposed_ns, it.communication_ns);
    EXPECT_LE(it.compute_ns + it.exposed_ns, it.wall_ns);
    EXPECT_GT(it.compute_ns, 0);
    starts[{it.rank, it.step}] = it.begin_ns;
  }
  std::map<std::string, double> first;
  for (const ProfileMetric& metric : must(store_->profile_metrics(row.id))) {
    if (!metric.rank || *metric.rank == 0) first[metric.name] = metric.value;
  }
  // All steps of this job are equal, so medians add up as steps do.
  EXPECT_EQ(first["compute_ns"] + first["exposed_ns"] + first["other_ns"] + first["idle_ns"],
            first["iteration_ns"]);
  EXPECT_EQ(first["iterations"], kIterations);
  const auto simulation = must(simulate(step_of_two_ranks(), {.config = config_}));
  EXPECT_EQ(first["iteration_ns"], static_cast<double>(simulation.iteration_ns));
  ASSERT_TRUE(first.contains("bound_ns")) << row.detail.dump();
  EXPECT_NEAR(first["bound_ns"], static_cast<double>(simulation.bound_ns),
              0.02 * static_cast<double>(simulation.bound_ns));
}

TEST_F(SaveProfile, ARankWithoutATraceIsARowThatSaysWhy) {
  ProfileToSave to_save = profile();
  to_save.ranks.pop_back();
  to_save.missing = {{1, "its host does not see the folder"}};
  const auto row = must(save_profile(*store_, path_, std::move(to_save)));
  ASSERT_EQ(row.ranks.size(), 2u);
  EXPECT_TRUE(row.ranks[1].trace_path.empty());
  EXPECT_FALSE(row.ranks[0].trace_path.empty());
  EXPECT_THAT(row.detail["notes"].dump(), HasSubstr("rank 1 has no trace: its host does not see"));
}

TEST_F(SaveProfile, RanksWithoutATraceAreOneNoteForEachReason) {
  ProfileToSave to_save = profile();
  to_save.ranks.pop_back();
  to_save.missing = {{7, "it died"}};
  for (std::int64_t rank = 127; rank >= 1; --rank) {
    if (rank != 3 && rank != 7) to_save.missing.push_back({rank, "not asked"});
  }
  const auto row = must(save_profile(*store_, path_, std::move(to_save)));
  EXPECT_EQ(row.ranks.size(), 127U);
  const auto notes = row.detail["notes"].dump();
  EXPECT_THAT(notes, HasSubstr("\"rank 7 has no trace: it died\""));
  EXPECT_THAT(notes, HasSubstr("\"ranks 1 to 2, 4 to 6, 8 to 127 have no trace: not asked\""));
}

TEST_F(SaveProfile, ATraceThatCannotBeWrittenLeavesTheRest) {
  ProfileToSave to_save = profile();
  // A folder of another program occupies the trace's path.
  std::filesystem::create_directory(trace_file_path(to_save.folder.path, 1));
  const std::string folder = to_save.folder.path;
  const auto row = must(save_profile(*store_, path_, std::move(to_save)));
  ASSERT_EQ(row.ranks.size(), 2u);
  EXPECT_FALSE(row.ranks[0].trace_path.empty());
  EXPECT_TRUE(row.ranks[1].trace_path.empty());
  EXPECT_GT(row.ranks[1].records, 0);
  EXPECT_THAT(row.detail["notes"].dump(), HasSubstr("rank 1 has metrics and no trace"));
  EXPECT_EQ(must(store_->profile_iterations(row.id)).size(), 2 * kIterations);
}

TEST_F(SaveProfile, WhatTheStoreRefusesLeavesNoFiles) {
  ProfileToSave to_save = profile();
  const std::string folder = to_save.folder.path;
  FaultyStore faulty(*store_, 1);
  const auto saved = save_profile(faulty, path_, std::move(to_save));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error(), FaultyStore::fault());
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(must(store_->profiles()).empty());
}

TEST_F(SaveProfile, ATraceThatIsWrittenAlreadyStaysWhereItIs) {
  ProfileToSave to_save = profile();
  const std::string path = dir_.file("elsewhere.sqlite");
  std::ofstream(path) << "written by its rank";
  to_save.ranks[0].trace_path = path;
  FaultyStore faulty(*store_, 1);
  ProfileToSave again = to_save;
  EXPECT_FALSE(save_profile(faulty, path_, std::move(to_save)));
  EXPECT_TRUE(std::filesystem::exists(path));
  again.folder = must(create_profile_folder(*store_, path_, "job"));
  const auto row = must(save_profile(*store_, path_, std::move(again)));
  EXPECT_EQ(row.ranks[0].trace_path, path);
}

/// Takes traces until `fails_at`, counted from 1, which fails.
class ScriptedTarget final : public TraceTarget {
 public:
  explicit ScriptedTarget(int fails_at = 0, bool takes = true)
      : fails_at_(fails_at), takes_(takes) {}

  Result<std::optional<TraceSet>> make_set() override {
    if (const auto ok = call(); !ok) return failure(ok.error());
    if (!takes_) return std::nullopt;
    return TraceSet{"http://node7", std::string(kTraceSetDigits, '0')};
  }
  Result<void> send(const std::string& path, const TraceUrl& url) override {
    if (auto ok = call(); !ok) return ok;
    EXPECT_TRUE(open_trace_file(path)) << path;
    sent.push_back(url.rank);
    return {};
  }

  std::vector<std::int64_t> sent;

 private:
  Result<void> call() {
    if (++calls_ == fails_at_) return failure(ErrorCode::unavailable, "the line is cut");
    return {};
  }

  const int fails_at_;
  const bool takes_;
  int calls_ = 0;
};

TEST_F(SaveProfile, TracesThatCannotBeSentStayFiles) {
  for (int fails_at = 1; fails_at <= 3; ++fails_at) {
    ScriptedTarget target(fails_at);
    ProfileToSave to_save = profile();
    to_save.target = &target;
    const ProfileFolder folder = to_save.folder;
    const auto row = must(save_profile(*store_, path_, std::move(to_save)));
    EXPECT_THAT(row.detail["notes"].dump(), HasSubstr("the line is cut"));
    for (const ProfileRank& rank : row.ranks) {
      const bool is_sent = rank.rank < fails_at - 2;
      EXPECT_EQ(parse_trace_url(rank.trace_path).has_value(), is_sent);
      EXPECT_EQ(std::filesystem::exists(trace_file_path(folder.path, rank.rank)), !is_sent);
    }
  }
}

TEST_F(SaveProfile, TracesThatWereSentLeaveNoFiles) {
  ScriptedTarget target, none(0, false);
  ProfileToSave to_save = profile(), stays = profile();
  const std::string folder = to_save.folder.path, other = stays.folder.path;
  to_save.target = &target;
  const auto row = must(save_profile(*store_, path_, std::move(to_save)));
  EXPECT_EQ(target.sent, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(row.ranks[1].trace_path,
            "http://node7/v1/traces/" + std::string(kTraceSetDigits, '0') + "/1");
  EXPECT_FALSE(std::filesystem::exists(folder));

  stays.target = &none;
  const auto stayed = must(save_profile(*store_, path_, std::move(stays)));
  EXPECT_THAT(stayed.detail["notes"].dump(), testing::Not(HasSubstr("daemon")));
  EXPECT_TRUE(std::filesystem::exists(trace_file_path(other, 1))) << "no daemon takes them";
}

TEST_F(SaveProfile, NothingMeasuredIsSaid) {
  ProfileToSave to_save = profile();
  for (RankToSave& rank : to_save.ranks) rank.trace.step_starts.clear();
  const auto row = must(save_profile(*store_, path_, std::move(to_save)));
  EXPECT_TRUE(must(store_->profile_iterations(row.id)).empty());
  EXPECT_THAT(row.detail["notes"].dump(), HasSubstr("no iteration is whole"));
}

/// Two layers whose parameters are on the host.
StepDescription offloaded_step() {
  std::mt19937_64 random(3);
  StepDescription step = described(step_of({.layers = 2}), random, false);
  for (StepTask& task : step.tasks) {
    task.duration_ns = 20'000;
    if (task.place.updates_layer != kNoLayer) task.host_duration_ns = 30'000;
  }
  return step;
}

/// Data have other numbers in a description that was read.
std::map<std::string, std::int64_t> places_by_name(const StepDescription& step) {
  std::map<std::string, std::int64_t> bytes;
  for (std::size_t i = 0; i < step.data.size(); ++i)
    bytes[step.data[i]] = step.data_places[i].bytes;
  return bytes;
}

TEST(SaveProfileOfAPlacedStep, HasIdleTimesOfItsLanes) {
  ProfiledJob job;
  const StepDescription step = offloaded_step();
  const SimulationOptions options{.config = {}, .iterations = 8};
  const ProfileRow row = job.add(step, options);
  const Simulation simulation = must(simulate(step, options));
  const auto iteration_ns = static_cast<double>(simulation.iteration_ns);
  std::map<std::string, double> figures;
  for (const ProfileMetric& metric : must(job.store->profile_metrics(row.id)))
    if (metric.rank == 0) figures[metric.name] = metric.value;
  const auto idle = [&](std::int64_t busy_ns) {
    return 1 - static_cast<double>(busy_ns) / iteration_ns;
  };
  EXPECT_NEAR(figures.at("device_idle_share"), idle(simulation.compute_ns), 1e-3);
  EXPECT_NEAR(figures.at("host_idle_share"), idle(simulation.host_ns), 1e-3);
  EXPECT_NEAR(figures.at("to_device_idle_share"), idle(simulation.to_device_ns), 1e-3);
  EXPECT_NEAR(figures.at("to_host_idle_share"), idle(simulation.to_host_ns), 1e-3);
  const auto& iterations = row.detail["idle"];
  ASSERT_EQ(iterations.size(), 8u);
  EXPECT_EQ(iterations[3]["step"], 3);
  EXPECT_NEAR(iterations[3]["host_idle_share"].get<double>(), idle(simulation.host_ns), 1e-3);
  EXPECT_EQ(to_json(must(summarize_profile(*job.store, row)))["idle"], iterations);
  const ProfileRow plain = job.add();
  EXPECT_FALSE(plain.detail.contains("idle"));
}

TEST(SaveProfileOfAPlacedStep, PredictsWithoutAWordOnPlacement) {
  ProfiledJob job;
  const StepDescription step = offloaded_step();
  const auto row = job.add(step, {.config = {.offload_k = 1}, .iterations = 8});
  const auto profile = must(calibrate_profile(must(load_profile(row))));
  EXPECT_EQ(profile.config.offload_k, 1);
  EXPECT_EQ(places_by_name(profile.calibration.step), places_by_name(step));
  EXPECT_EQ(profile.calibration.step.device_memory_bytes, step.device_memory_bytes);
  const auto choice = choose_offload(profile.calibration.step, profile.config);
  const auto expected = choose_offload(step, profile.config);
  ASSERT_TRUE(choice && expected);
  EXPECT_EQ(choice->candidates.size(), expected->candidates.size());
  EXPECT_EQ(choice->chosen().peak_bytes, expected->chosen().peak_bytes);
  EXPECT_NEAR(static_cast<double>(choice->chosen().iteration_ns),
              static_cast<double>(expected->chosen().iteration_ns),
              0.05 * static_cast<double>(expected->chosen().iteration_ns));
}

}  // namespace
}  // namespace hocket
