#include "cli/files/own_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "client/start/last_good.h"
#include "core/files/private_file.h"
#include "core/files/scratch_folder.h"
#include "core/protocol/daemon_token.h"
#include "daemon/api/own_token.h"
#include "store/open.h"
#include "store/profile_folder.h"
#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::StartsWith;

const ConfigKey kOwnKey{fingerprint(sample_topology()), fingerprint(sample_workload())};

/// A user's folders with one file of each kind. The store is open.
class OwnFilesTest : public ::testing::Test {
 protected:
  OwnFilesTest() {
    fs::create_directories(places_.temporary_folder);
    must(open_own_token(places_.state_folder, 7077));
    must(write_last_good(places_.cache_folder, kOwnKey, {}));
    must(create_private_folders(served_traces() + "/0123456789abcdef0123456789abcdef"));
    must(create_private_file(served_traces() + "/0123456789abcdef0123456789abcdef/store", "here"));
    scratch_.emplace(must(ScratchFolder::make(places_.temporary_folder)));
    std::ofstream(scratch_->path() + "/report.json") << "12345";
  }

  std::vector<OwnFile> find() const { return find_own_files(places_, viewer_); }

  /// Returns what was found at `path`; ends the test if there is nothing, or more than one.
  OwnFile at(const std::string& path) const {
    OwnFile found;
    int count = 0;
    for (const OwnFile& file : find()) {
      if (file.path != path) continue;
      found = file;
      ++count;
    }
    EXPECT_EQ(count, 1) << path;
    return found;
  }

  std::string served_traces() const { return served_traces_folder(places_.state_folder); }
  std::string token() const { return daemon_token_path(places_.state_folder, 7077); }
  std::string last_good() const {
    return places_.cache_folder + "/" + to_string(kOwnKey) + ".json";
  }
  std::string profile_folder(const std::string& name) const {
    return must(profiles_folder(places_.store)) + "/" + name;
  }

  /// Lets it look as if nobody had touched what is at `path` for two days.
  static void age(const fs::path& path) {
    const auto then = fs::file_time_type::clock::now() - std::chrono::hours(48);
    if (fs::is_directory(path)) {
      for (const auto& entry : fs::recursive_directory_iterator(path)) {
        fs::last_write_time(entry, then);
      }
    }
    fs::last_write_time(path, then);
  }

  /// Makes the scratch folder of a process that was killed, and returns its path.
  std::string left_over_scratch() const {
    const std::string path = must(ScratchFolder::make(places_.temporary_folder)).path();
    EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
    std::ofstream(path + "/iterations") << "1\n";
    return path;
  }

  ProfiledJob job_;
  const std::string profile_ = job_.add().name;
  const OwnPlaces places_{.store = job_.path,
                          .is_store_shared = false,
                          .state_folder = job_.folder.file("state"),
                          .cache_folder = job_.folder.file("cache"),
                          .temporary_folder = job_.folder.file("temporary")};
  const FilesUser viewer_{::geteuid(), system_unix_ns()};
  std::optional<ScratchFolder> scratch_;
};

TEST_F(OwnFilesTest, EveryFileThatHocketHasWrittenIsInTheList) {
  const auto found = find();
  for (const auto& entry : fs::recursive_directory_iterator(job_.folder.path())) {
    if (entry.is_directory()) continue;
    const std::string path = entry.path().string();
    EXPECT_TRUE(std::ranges::any_of(found, [&](const OwnFile& file) {
      return path == file.path || path.starts_with(file.path + "/");
    })) << path;
  }
  for (const OwnKind kind : own_kinds()) {
    EXPECT_EQ(std::ranges::count(found, kind, &OwnFile::kind), kind == OwnKind::store ? 3 : 1)
        << to_string(kind);
  }
  for (const OwnFile& file : found) {
    EXPECT_EQ(file.state, file.kind == OwnKind::scratch ? OwnState::in_use : OwnState::ok)
        << file.path << ": " << file.advice;
  }
  EXPECT_EQ(at(scratch_->path()).bytes, 5);
  EXPECT_EQ(at(job_.path).bytes, static_cast<std::int64_t>(fs::file_size(job_.path)));
  EXPECT_GT(at(profile_folder(profile_)).bytes, 1000);
  EXPECT_GE(at(served_traces()).bytes, 4);
}

TEST_F(OwnFilesTest, WhatIsMissingIsSaid) {
  const TemporaryFolder empty;
  const auto found = find_own_files({.store = empty.file("hocket.db"),
                                     .state_folder = empty.file("state"),
                                     .cache_folder = empty.file("cache"),
                                     .temporary_folder = empty.path()},
                                    viewer_);
  ASSERT_EQ(found.size(), own_kinds().size());
  for (const OwnKind kind : own_kinds()) {
    const auto file = std::ranges::find(found, kind, &OwnFile::kind);
    ASSERT_NE(file, found.end()) << to_string(kind);
    EXPECT_EQ(file->state, OwnState::missing);
    EXPECT_THAT(file->path, StartsWith(empty.path().string()));
    EXPECT_FALSE(file->advice.empty());
  }
  EXPECT_TRUE(fs::is_empty(empty.path())) << "looking makes nothing";
}

TEST_F(OwnFilesTest, ATraceThatADaemonServesIsNotMissedHere) {
  const std::string place = "http://node7:7077/v1/traces/0123456789abcdef0123456789abcdef/0";
  must(job_.store->add_profile({.name = "elsewhere", .ranks = {{.trace_path = place}}}));
  for (const OwnFile& file : find()) EXPECT_NE(file.path, place);
}

TEST_F(OwnFilesTest, ATraceThatAProfileHasLostIsMissing) {
  const std::string trace = trace_file_path(profile_folder(profile_), 1);
  fs::remove(trace);
  EXPECT_EQ(at(trace).state, OwnState::missing);
  EXPECT_THAT(at(trace).advice, HasSubstr("hocket profiles rm " + profile_));
}

TEST_F(OwnFilesTest, ScratchOfAKilledProcessIsLeftOverAtOnce) {
  const std::string path = left_over_scratch();
  EXPECT_EQ(at(path).state, OwnState::left_over);
  EXPECT_EQ(at(scratch_->path()).state, OwnState::in_use);
  EXPECT_TRUE(must(remove_left_over(at(path), places_)));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(must(remove_left_over({OwnKind::scratch, scratch_->path()}, places_)));
  EXPECT_TRUE(fs::exists(scratch_->path()));
}

TEST_F(OwnFilesTest, UnfinishedFilesAreLeftOverAfterADay) {
  for (const std::string& path : {token() + ".123", last_good() + ".a1B2c3"}) {
    std::ofstream(path) << "half";
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_EQ(at(path).state, OwnState::in_use);
    age(path);
    EXPECT_EQ(at(path).state, OwnState::left_over);
    EXPECT_TRUE(must(remove_left_over(at(path), places_)));
    EXPECT_FALSE(fs::exists(path));
    EXPECT_FALSE(must(remove_left_over({OwnKind::token, path}, places_))) << "it is gone";
  }
  // Finished ones are never left over.
  for (const std::string& path : {token(), last_good()}) {
    age(path);
    EXPECT_EQ(at(path).state, OwnState::ok);
  }
}

TEST_F(OwnFilesTest, OtherPeoplesFilesAreNotListed) {
  const std::vector<std::string> others = {places_.state_folder + "/daemon-.token",
                                           places_.state_folder + "/daemon-7077.token.bak",
                                           places_.state_folder + "/notes",
                                           places_.cache_folder + "/notes.json",
                                           last_good() + ".bak",
                                           job_.path + ".bak",
                                           places_.temporary_folder + "/hocket-scratch"};
  for (const auto& path : others) {
    std::ofstream(path) << "text";
    age(path);
  }
  for (const OwnFile& file : find()) {
    EXPECT_EQ(std::ranges::count(others, file.path), 0) << file.path;
  }
}

TEST_F(OwnFilesTest, TracesWithoutAProfileAreLeftOverADayAfterTheirLastChange) {
  const std::string path = profile_folder(profile_);
  age(path);
  EXPECT_EQ(at(path).state, OwnState::ok);
  must(job_.store->remove_profile(must(job_.store->profile(profile_)).id));
  EXPECT_EQ(at(path).state, OwnState::left_over);
  EXPECT_GT(at(path).bytes, 1000);
  // A rank still writes.
  std::ofstream(trace_file_path(path, 1), std::ios::app) << "more";
  EXPECT_EQ(at(path).state, OwnState::in_use);
  age(path);
  EXPECT_TRUE(must(remove_left_over(at(path), places_)));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(OwnFilesTest, TracesStayWithWhatHocketDidNotWrite) {
  const std::string path = profile_folder(profile_);
  must(job_.store->remove_profile(must(job_.store->profile(profile_)).id));
  std::ofstream(path + "/notes") << "mine";
  age(path);
  const auto file = at(path);
  EXPECT_EQ(file.state, OwnState::left_over);
  EXPECT_FALSE(must(remove_left_over(file, places_)));
  EXPECT_TRUE(fs::exists(path + "/notes"));
}

TEST_F(OwnFilesTest, TracesOfAProfileThatWasSavedMeanwhileStay) {
  const OwnFile stale{OwnKind::traces, profile_folder(profile_), 1, OwnState::left_over, ""};
  EXPECT_FALSE(must(remove_left_over(stale, places_)));
  EXPECT_TRUE(fs::exists(trace_file_path(stale.path, 0)));
}

TEST_F(OwnFilesTest, WithoutAReadableStoreNoTracesAreLeftOver) {
  const std::string path = profile_folder(profile_);
  age(path);
  job_.store.reset();
  for (const char* text : {"not a store, but long enough to be looked at as one", ""}) {
    fs::remove(job_.path);
    if (*text != '\0') std::ofstream(job_.path) << std::string(600, 'x') << text;
    EXPECT_EQ(at(path).state, OwnState::unusable);
    const auto store = at(job_.path);
    EXPECT_EQ(store.state, *text != '\0' ? OwnState::unusable : OwnState::missing);
    EXPECT_FALSE(remove_left_over({OwnKind::traces, path}, places_));
    EXPECT_TRUE(fs::exists(trace_file_path(path, 0)));
  }
}

TEST_F(OwnFilesTest, ALinkToAStoreIsFollowedAndATokenIsNoLink) {
  const std::string link = job_.folder.file("link.db"), other = token() + ".real";
  ASSERT_EQ(::symlink(job_.path.c_str(), link.c_str()), 0);
  OwnPlaces linked = places_;
  linked.store = link;
  EXPECT_EQ(find_own_files(linked, viewer_).front().path, fs::canonical(job_.path));
  fs::rename(token(), other);
  ASSERT_EQ(::symlink(other.c_str(), token().c_str()), 0);
  EXPECT_EQ(at(token()).state, OwnState::unusable);
}

TEST(OwnPlaces, FollowTheEnvironment) {
  std::map<std::string, std::string> variables = {{"HOME", "/h"}};
  const auto environment = [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  auto places = own_places("/h/.local/state/hocket/hocket.db", environment);
  EXPECT_EQ(places.state_folder, "/h/.local/state/hocket");
  EXPECT_EQ(places.cache_folder, "/h/.cache/hocket");
  EXPECT_FALSE(places.is_store_shared);
  variables = {{"HOME", "/h"}, {"XDG_STATE_HOME", "/s"}, {"XDG_CACHE_HOME", "/c"}};
  places = own_places("/team/hocket.db", environment);
  EXPECT_EQ(places.state_folder, "/s/hocket");
  EXPECT_EQ(places.cache_folder, "/c/hocket");
  EXPECT_TRUE(places.is_store_shared);
  EXPECT_FALSE(places.temporary_folder.empty());
}

}  // namespace
}  // namespace hocket
