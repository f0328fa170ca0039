#include "archive/profiles/import/import_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <random>
#include <sstream>

#include "archive/profiles/load_profile.h"
#include "archive/profiles/predict.h"
#include "profiler/formats/chrome_trace.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/profiler/formats/packed/packed_stream_writer.h"
#include "tests/store/sqlite/nsight_export.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A store and files to import.
class ImportProfile : public ::testing::Test {
 protected:
  std::string chrome_file(const std::string& name, const std::vector<RankTrace>& traces) {
    std::ostringstream text;
    ChromeTraceWriter writer(text);
    for (const RankTrace& trace : traces) writer.write(trace);
    must(writer.finish());
    write_bytes(job_.folder.file(name), text.str());
    return job_.folder.file(name);
  }

  std::string trace_file(const std::string& name, const RankTrace& trace) {
    const std::string path = job_.folder.file(name);
    const auto file = must(create_trace_file(path, trace));
    must(file->append(trace));
    must(file->finish());
    return path;
  }

  Result<ProfileRow> import(ImportRequest request) {
    return import_profile(*job_.store, job_.path, request);
  }

  std::size_t folders() const {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(job_.path + ".profiles", error)) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }

  ProfiledJob job_;
  const std::vector<SimulatedTrace> made_ = ProfiledJob::traces();
};

TEST_F(ImportProfile, ATimelineBecomesAProfileThatPredicts) {
  const auto path = chrome_file("both.json", {made_[0].trace, made_[1].trace});
  const auto row = must(import({.paths = {path}, .name = "mine"}));
  EXPECT_EQ(row.name, "mine");
  std::filesystem::remove(path);
  const auto loaded = must(load_profile(row));
  ASSERT_EQ(loaded.traces.size(), 2U);
  EXPECT_EQ(loaded.traces[1].records.size(), made_[1].trace.records.size());
  EXPECT_FALSE(must(job_.store->profile_metrics(row.id)).empty());
  const auto calibrated = must(calibrate_profile(loaded));
  EXPECT_NEAR(must(check_prediction(calibrated)).error(), 0, 0.1);
}

TEST_F(ImportProfile, TraceFilesOfRanksBecomeOneProfile) {
  const auto a = trace_file("a.sqlite", made_[0].trace), b = trace_file("b.sqlite", made_[1].trace);
  const auto row = must(import({.paths = {b, a}}));
  ASSERT_EQ(row.ranks.size(), 2U);
  const auto loaded = must(load_profile(row));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(loaded.traces[i].rank, made_[i].trace.rank);
    EXPECT_EQ(loaded.traces[i].step_starts, made_[i].trace.step_starts);
    EXPECT_NE(row.ranks[i].trace_path, a);
  }
}

TEST_F(ImportProfile, TakesAProfileAlongForItsOtherRank) {
  const auto first = must(import({.paths = {trace_file("a.sqlite", made_[0].trace)}}));
  EXPECT_TRUE(first.ranks.at(1).trace_path.empty()) << "the second is missing, and its row says so";
  EXPECT_THAT(notes_of(first), Contains(HasSubstr("rank 1 has no trace")));

  ProfiledJob other;
  auto with = made_;
  with.pop_back();
  const auto row = job_.add_traces(with, to_json(small_options().config));
  const auto both = must(import({.paths = {trace_file("b.sqlite", made_[1].trace)},
                                 .name = {},
                                 .step_range = {},
                                 .with = row.name}));
  EXPECT_EQ(both.config, row.config);
  EXPECT_EQ(both.structure, row.structure);
  ASSERT_EQ(both.ranks.size(), 2U);
  EXPECT_EQ(must(load_profile(both)).traces[1], made_[1].trace);
  EXPECT_TRUE(must(load_profile(row)).notes.empty()) << "the old one is as it was";
  EXPECT_THAT(message_of(import({.paths = {job_.folder.file("b.sqlite")}, .with = "none"})),
              HasSubstr("none"));
}

TEST_F(ImportProfile, TheSameFileTwiceMakesTwoProfiles) {
  const auto path = chrome_file("trace.json", {made_[0].trace, made_[1].trace});
  const auto first = must(import({.paths = {path}, .name = "twice"}));
  const auto second = must(import({.paths = {path}, .name = "twice"}));
  EXPECT_EQ(first.name, "twice");
  EXPECT_EQ(second.name, "twice-2");
  EXPECT_EQ(must(import({.paths = {path}, .name = "3 times"})).name, "3-times");
  EXPECT_THAT(message_of(import({.paths = {path}, .name = "33"})), HasSubstr("not only digits"));
  EXPECT_EQ(must(load_profile(first)).traces, must(load_profile(second)).traces);
  EXPECT_EQ(must(job_.store->profiles()).size(), 3U);
}

TEST_F(ImportProfile, APackedFileIsTheSameProfile) {
  const auto path = chrome_file("plain.json", {made_[0].trace, made_[1].trace});
  const auto plain = must(import({.paths = {path}}));
  EXPECT_THAT(plain.name, ::testing::StartsWith("plain-")) << "the file's name";
  const auto gz = job_.folder.file("packed.json.gz"), tar = job_.folder.file("both.tar.zst");
  write_bytes(gz, packed(read_bytes(path), "gzip"));
  const auto a = trace_file("a.sqlite", made_[0].trace), b = trace_file("b.sqlite", made_[1].trace);
  write_bytes(
      tar, archived({{"a.sqlite", read_bytes(a)}, {"b.sqlite", read_bytes(b)}}, "gnutar", "zstd"));
  const auto traces = must(load_profile(plain)).traces;
  EXPECT_EQ(must(load_profile(must(import({.paths = {gz}})))).traces, traces);
  EXPECT_EQ(must(load_profile(must(import({.paths = {tar}})))).traces.size(), 2U);
  write_bytes(gz, packed(read_bytes(path), "gzip").substr(0, 30));
  EXPECT_THAT(message_of(import({.paths = {gz}})), HasSubstr("packed.json.gz: it cannot be"));
}

TEST_F(ImportProfile, FilesThatDoNotSayWhoseTheyAreAreNumbered) {
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) {
    RankTrace alone = made_[0].trace;
    alone.rank = 0;
    alone.ranks = 1;
    paths.push_back(trace_file("alone" + std::to_string(i), alone));
  }
  const auto row = must(import({.paths = paths}));
  ASSERT_EQ(row.ranks.size(), 3U);
  EXPECT_EQ(row.ranks[2].rank, 2);
  EXPECT_EQ(must(load_profile(row)).traces[0].ranks, 3);
  EXPECT_THAT(notes_of(row), Contains(HasSubstr("ranks 0 to 2, by the numbers in")));
}

TEST_F(ImportProfile, ExportsOfNsightHaveARankAProcess) {
  const std::string both = job_.folder.file("both.sqlite"),
                    third = job_.folder.file("third.sqlite");
  write_database(both,
                 std::string(kNsightTables) + kNsightStrings + nsight_steps(5) + nsight_steps(9));
  write_database(third, nsight_export());
  const auto row = must(import({.paths = {both, third}, .step_range = "iteration"}));
  EXPECT_EQ(row.source, "nsight");
  ASSERT_EQ(row.ranks.size(), 3U);
  EXPECT_THAT(notes_of(row), Contains(HasSubstr("ranks 0 to 2 in the order")));
  const auto loaded = must(load_profile(row));
  EXPECT_EQ(loaded.traces[2].host, "node3");
  for (const RankTrace& trace : loaded.traces) {
    EXPECT_EQ(trace.ranks, 3);
    EXPECT_EQ(trace.step_starts.size(), 4U) << "three, and the end of the last";
  }
  for (const ProfileIteration& iteration : must(job_.store->profile_iterations(row.id))) {
    EXPECT_EQ(iteration.wall_ns, iteration.step == 9 ? 995 : 1000);
    EXPECT_EQ(iteration.compute_ns, 400);
    EXPECT_EQ(iteration.exposed_ns, 200);
  }
}

TEST_F(ImportProfile, RefusesWhatIsNoJobAndMakesNothing) {
  const auto a = trace_file("a.sqlite", made_[0].trace);
  RankTrace of_four = made_[1].trace;
  of_four.ranks = 4;
  const auto four = trace_file("four.sqlite", of_four);
  const auto again = trace_file("again.sqlite", made_[0].trace);
  write_bytes(job_.folder.file("text"), "no trace");
  write_bytes(job_.folder.file("empty"), "");
  write_bytes(job_.folder.file("half.gz"), "\x1f\x8b\x08");
  write_bytes(job_.folder.file("sqlite"), "SQLite format 3, but for the rest");
  struct Wrong {
    std::vector<std::string> paths;
    std::string said;
  };
  const std::vector<Wrong> wrongs = {
      {{a, again}, "rank 0, and so is"},
      {{a, four}, "of 4 ranks"},
      {{a, a}, "given twice"},
      {{}, "at least one file"},
      {{job_.folder.file("none")}, "No such file"},
      {{job_.folder.path().string()}, "rank 0, and so is"},
      {{job_.folder.file("text")}, "text"},
      {{job_.folder.file("empty")}, "empty: the file is empty; the other ranks can be imported"},
      {{"/dev/null"}, "/dev/null: the file is empty"},
      {{job_.folder.file("half.gz")}, "expected JSON trace events"},
      {{job_.folder.file("sqlite")}, "sqlite"},
      {{job_.path}, "store.db"},
      {{a, job_.folder.file("text")}, "text"},
  };
  for (const auto& [paths, said] : wrongs) {
    EXPECT_THAT(message_of(import({.paths = paths})), HasSubstr(said));
  }
  EXPECT_THAT(must(job_.store->profiles()), IsEmpty());
  EXPECT_EQ(folders(), 0U);
}

TEST_F(ImportProfile, HalfAFileIsReadAsFarAsItGoes) {
  const auto path = chrome_file("half.json", {made_[0].trace});
  const auto bytes = read_bytes(path);
  std::mt19937_64 random(11);
  for (int round = 0; round < 30; ++round) {
    const auto at = 1 + random() % (bytes.size() - 1);
    SCOPED_TRACE("cut off at " + std::to_string(at));
    write_bytes(path, bytes.substr(0, at));
    const auto row = import({.paths = {path}});
    if (!row) {
      EXPECT_THAT(row.error().message, HasSubstr("half.json"));
      continue;
    }
    EXPECT_LE(row->ranks.at(0).records, std::ssize(made_[0].trace.records));
    if (at < bytes.size() - 3) {
      EXPECT_FALSE(notes_of(*row).empty());
    }
  }
}

TEST_F(ImportProfile, StepsThatDoNotRepeatAreANote) {
  RankTrace odd = made_[0].trace;
  odd.ranks = 1;
  std::mt19937_64 random(3);
  for (TraceRecord& record : odd.records) record.bytes = static_cast<std::int64_t>(random() % 999);
  const auto row = must(import({.paths = {chrome_file("odd.json", {odd})}}));
  EXPECT_TRUE(row.structure.empty());
  EXPECT_THAT(notes_of(row), Contains(HasSubstr("nothing can be predicted")));
  EXPECT_FALSE(must(job_.store->profile_iterations(row.id)).empty());
}

}  // namespace
}  // namespace hocket
