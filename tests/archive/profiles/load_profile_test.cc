#include "archive/profiles/load_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <random>

#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void cut(const std::string& path, std::uintmax_t bytes) {
  std::filesystem::resize_file(path, bytes);
}

TEST(LoadProfile, GivesBackWhatWasSaved) {
  ProfiledJob job;
  const auto made = ProfiledJob::traces();
  const auto row = job.add_traces(made);
  const auto loaded = must(load_profile(row));
  ASSERT_EQ(loaded.traces.size(), 2U);
  ASSERT_EQ(loaded.fits.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(loaded.traces[i], made[i].trace);
    EXPECT_EQ(to_json(loaded.fits[i]), row.ranks[i].clock_fit);
  }
  EXPECT_EQ(loaded.structure, made[0].structure);
  EXPECT_THAT(loaded.notes, IsEmpty());
  EXPECT_THAT(loaded.windows, IsEmpty());
}

TEST(LoadProfile, GivesOneRankAlone) {
  ProfiledJob job;
  const auto row = job.add();
  const auto loaded = must(load_profile(row, {.rank = 1}));
  ASSERT_EQ(loaded.traces.size(), 1U);
  EXPECT_EQ(loaded.traces[0].rank, 1);
  EXPECT_THAT(message_of(load_profile(row, {.rank = 2})), HasSubstr("no rank 2; it has 2 ranks"));
}

TEST(LoadProfile, AnIterationIsTheSameTimeOnAllClocks) {
  constexpr std::int64_t kOffset = 123'456'789;
  ProfiledJob job;
  const auto row = job.add(small_step(), small_options(), kOffset);
  const auto loaded = must(load_profile(row, {.step = 3}));
  ASSERT_EQ(loaded.windows.size(), 2U);
  const auto& starts = loaded.traces[0].step_starts;
  EXPECT_EQ(loaded.windows[0].begin_ns, starts[3].begin_ns);
  EXPECT_EQ(loaded.windows[0].end_ns, starts[4].begin_ns);
  // Equal within the fit's accuracy, since this job's ranks do the same at the same time.
  EXPECT_NEAR(double(loaded.windows[1].begin_ns), double(starts[3].begin_ns + kOffset), 2);
  EXPECT_NEAR(double(loaded.windows[1].end_ns), double(starts[4].begin_ns + kOffset), 2);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(loaded.traces[i].records.empty());
    for (const TraceRecord& record : loaded.traces[i].records) {
      EXPECT_LT(record.begin_ns, loaded.windows[i].end_ns);
      EXPECT_GE(record.end_ns, loaded.windows[i].begin_ns);
    }
  }
}

TEST(LoadProfile, AClockThatIsNotComparedShowsItsOwnIteration) {
  ProfiledJob job;
  auto row = job.add(small_step(), small_options(), 1'000'000'000);
  row.ranks[1].clock_fit = to_json(ClockFit{});
  const auto loaded = must(load_profile(row, {.step = 3}));
  EXPECT_EQ(loaded.windows[1].begin_ns, loaded.traces[1].step_starts[3].begin_ns);
  EXPECT_THAT(loaded.notes, ElementsAre(HasSubstr("rank 1: its clock is not compared")));
}

TEST(LoadProfile, AnUnknownIterationNamesThoseThereAre) {
  ProfiledJob job;
  const auto row = job.add();
  // The last iteration has no end.
  EXPECT_THAT(message_of(load_profile(row, {.step = 7})),
              AllOf(HasSubstr("no iteration 7"), HasSubstr("0 to 6")));
}

TEST(LoadProfile, WhatIsMissingIsANoteAndTheRestIsThere) {
  ProfiledJob job;
  auto row = job.add();
  std::filesystem::remove(row.ranks[0].trace_path);
  const auto without_file = must(load_profile(row));
  ASSERT_EQ(without_file.traces.size(), 1U);
  EXPECT_EQ(without_file.traces[0].rank, 1);
  EXPECT_THAT(without_file.notes, ElementsAre(AllOf(HasSubstr("rank 0 is left out"),
                                                    HasSubstr(row.ranks[0].trace_path))));
  row.ranks[0].trace_path.clear();
  EXPECT_THAT(must(load_profile(row)).notes,
              ElementsAre("rank 0 is left out: its trace is missing"));
  row.ranks[1].trace_path.clear();
  EXPECT_THAT(message_of(load_profile(row)),
              AllOf(HasSubstr("no trace can be read"), HasSubstr("ranks 0 to 1 are left out")));
}

TEST(LoadProfile, AFileThatIsCutOffIsReadAsFarAsItGoesOrIsANote) {
  ProfiledJob job;
  const auto row = job.add();
  const std::string path = row.ranks[1].trace_path;
  const auto bytes = read_bytes(path);
  const auto whole = must(load_profile(row)).traces[1].records.size();
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    const auto at = random() % bytes.size();
    SCOPED_TRACE("cut off at " + std::to_string(at));
    write_bytes(path, bytes);
    cut(path, at);
    const auto loaded = must(load_profile(row));
    ASSERT_FALSE(loaded.traces.empty());
    EXPECT_EQ(loaded.traces[0].rank, 0);
    EXPECT_FALSE(loaded.notes.empty());
    if (loaded.traces.size() == 2) {
      EXPECT_LE(loaded.traces[1].records.size(), whole);
    }
  }
}

TEST(LoadProfile, ForeignFilesAreNotes) {
  ProfiledJob job;
  auto row = job.add();
  write_bytes(row.ranks[1].trace_path, "no trace");
  EXPECT_THAT(must(load_profile(row)).notes, ElementsAre(HasSubstr("rank 1 is left out")));
  row.ranks[1].trace_path = job.path;  // the store is an SQLite database, too
  EXPECT_THAT(must(load_profile(row)).notes, ElementsAre(HasSubstr("rank 1 is left out")));
  row.structure = {{"format", "hocket-structure"}, {"version", 99}};
  EXPECT_FALSE(must(load_profile(row)).structure);
}

TEST(LoadProfile, AsJsonItHasTheRecords) {
  ProfiledJob job;
  const auto loaded = must(load_profile(job.add(), {.step = 2}));
  const auto document = to_json(loaded);
  ASSERT_EQ(document["ranks"].size(), 2U);
  const auto& rank = document["ranks"][1];
  EXPECT_EQ(rank["records"].size(), loaded.traces[1].records.size());
  EXPECT_EQ(rank["window"]["begin_ns"], loaded.windows[1].begin_ns);
  const TraceRecord& record = loaded.traces[1].records[0];
  EXPECT_EQ(rank["records"][0]["name"], loaded.traces[1].names[record.name]);
  EXPECT_EQ(rank["records"][0]["begin_ns"], record.begin_ns);
}

TEST(TypicalStep, IsNearestToTheMedianOfTheLowestRank) {
  const auto of = [](std::int64_t rank, std::int64_t step, std::int64_t wall_ns) {
    return ProfileIteration{.rank = rank, .step = step, .wall_ns = wall_ns};
  };
  EXPECT_FALSE(typical_step({}));
  const std::vector<ProfileIteration> iterations = {of(1, 9, 20), of(0, 4, 100), of(0, 5, 21),
                                                    of(0, 6, 20), of(0, 7, 20),  of(0, 8, 1)};
  EXPECT_EQ(typical_step(iterations), 6);
}

}  // namespace
}  // namespace hocket
