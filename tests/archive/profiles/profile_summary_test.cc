#include "archive/profiles/profile_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(ProfileSummary, SaysWhatTheCatalogueHas) {
  ProfiledJob job;
  const auto made = ProfiledJob::traces();
  auto row = job.add_traces(made, to_json(small_options().config));
  row.topology_id = must(job.store->upsert_topology(sample_topology()));
  row.workload_id = must(job.store->upsert_workload(sample_workload("net")));
  const auto summary = must(summarize_profile(*job.store, row));
  const auto simulation = must(simulate(small_step(), {.config = small_options().config}));
  EXPECT_EQ(summary.workload, "net");
  EXPECT_EQ(summary.topology, sample_topology());
  EXPECT_EQ(summary.tasks, std::ssize(made[0].structure.tasks));
  EXPECT_EQ(summary.iterations, 7);
  EXPECT_NEAR(summary.iteration_ns.value(), double(simulation.iteration_ns), 1);
  EXPECT_NEAR(summary.exposed_share.value(),
              double(simulation.exposed_ns) / double(simulation.iteration_ns), 0.01);
  EXPECT_EQ(summary.traces_there, 2);
  EXPECT_EQ(summary.trace_bytes, std::int64_t(std::filesystem::file_size(row.ranks[0].trace_path) +
                                              std::filesystem::file_size(row.ranks[1].trace_path)));
  const auto document = to_json(summary);
  EXPECT_EQ(document["profile"], row.name);
  EXPECT_EQ(document["ranks"].size(), 2U);
  EXPECT_EQ(document["iterations"], 7);
  EXPECT_TRUE(document["overhead"].is_null());

  std::filesystem::remove(row.ranks[0].trace_path);
  EXPECT_EQ(must(summarize_profile(*job.store, row)).traces_there, 1);
}

TEST(ProfileSummary, AnEmptyProfileHasNulls) {
  const auto store = open_store_in_memory();
  must(store->add_profile({.name = "bare"}));
  const auto all = must(summarize_profiles(*store));
  ASSERT_EQ(all.size(), 1U);
  const auto document = to_json(all[0]);
  for (const char* field : {"workload", "topology", "config", "iteration_ns", "exposed_share"}) {
    EXPECT_TRUE(document[field].is_null()) << field;
  }
}

TEST(ProfileFigures, AreTheStoresAndOfOneRankIfAsked) {
  ProfiledJob job;
  const auto row = job.add();
  const auto all = must(profile_figures(*job.store, row));
  EXPECT_EQ(all.metrics, must(job.store->profile_metrics(row.id)));
  EXPECT_EQ(all.iterations, must(job.store->profile_iterations(row.id)));
  const auto one = must(profile_figures(*job.store, row, 1));
  EXPECT_LT(one.metrics.size(), all.metrics.size());
  for (const auto& metric : one.metrics) EXPECT_EQ(metric.rank.value_or(1), 1);
  for (const auto& iteration : one.iterations) EXPECT_EQ(iteration.rank, 1);
  EXPECT_EQ(to_json(one)["iterations"].size(), one.iterations.size());
  EXPECT_EQ(to_json(one)["metrics"].size(), one.metrics.size());
  EXPECT_THAT(message_of(profile_figures(*job.store, row, 2)), HasSubstr("no rank 2"));
}

}  // namespace
}  // namespace hocket
