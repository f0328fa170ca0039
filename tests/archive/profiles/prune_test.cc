#include "archive/profiles/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>

#include "store/profile_folder.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/scoped_environment.h"
#include "tests/store/faulty_store.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kDayNs = 24LL * 3600 * 1'000'000'000;

std::vector<std::int64_t> ids_of(const std::vector<PruneDecision>& decisions) {
  std::vector<std::int64_t> ids;
  for (const auto& decision : decisions) ids.push_back(decision.profile.id);
  return ids;
}

PruneCandidate candidate(std::int64_t id, std::int64_t bytes = 0, bool kept = false) {
  return {id, "p" + std::to_string(id), id * kDayNs, bytes, kept};
}

TEST(DecidePrune, RemovesTheOldestFirst) {
  const std::vector<PruneCandidate> all = {candidate(3), candidate(1), candidate(2), candidate(4)};
  EXPECT_THAT(ids_of(decide_prune(all, {.newest = 2}, 10 * kDayNs)), ElementsAre(1, 2));
  EXPECT_THAT(ids_of(decide_prune(all, {.newest = 0}, 10 * kDayNs)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ids_of(decide_prune(all, {.newest = 9}, 10 * kDayNs)), IsEmpty());
  EXPECT_THAT(ids_of(decide_prune(all, {.older_than_ns = 7 * kDayNs}, 10 * kDayNs)),
              ElementsAre(1, 2));
  EXPECT_THAT(ids_of(decide_prune({}, {.newest = 0}, 0)), IsEmpty());
}

TEST(DecidePrune, OnceTheBytesDoNotSufficeWhatIsOlderGoes) {
  const std::vector<PruneCandidate> all = {candidate(1, 1), candidate(2, 50), candidate(3, 10),
                                           candidate(4, 10)};
  EXPECT_THAT(ids_of(decide_prune(all, {.total_bytes = 71}, 0)), IsEmpty());
  EXPECT_THAT(ids_of(decide_prune(all, {.total_bytes = 69}, 0)), ElementsAre(1, 2));
  const auto decisions = decide_prune(all, {.total_bytes = 19}, 0);
  EXPECT_THAT(ids_of(decisions), ElementsAre(1, 2, 3));
  EXPECT_THAT(decisions[0].reason, HasSubstr("10 bytes"));
}

TEST(DecidePrune, KeptOnesStayAndTheirBytesCount) {
  const std::vector<PruneCandidate> all = {candidate(1, 60, true), candidate(2, 30),
                                           candidate(3, 30)};
  EXPECT_THAT(ids_of(decide_prune(all, {.newest = 1}, 9 * kDayNs)), ElementsAre(2));
  EXPECT_THAT(ids_of(decide_prune(all, {.total_bytes = 100}, 9 * kDayNs)), ElementsAre(2));
  EXPECT_THAT(ids_of(decide_prune(all, {.older_than_ns = 1}, 9 * kDayNs)), ElementsAre(2, 3));
}

TEST(DecidePrune, WhatStaysKeepsTheRuleAndNothingGoesWithoutNeed) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    std::vector<PruneCandidate> all;
    for (std::int64_t i = 0; i < below(12); ++i) {
      all.push_back({i, "p", below(20) * kDayNs, below(100), below(4) == 0});
    }
    PruneRule rule;
    if (below(2) == 0) rule.newest = below(8);
    if (below(2) == 0) rule.older_than_ns = below(20) * kDayNs;
    if (below(2) == 0) rule.total_bytes = below(400);
    const std::int64_t now = 20 * kDayNs;
    std::set<std::int64_t> gone;
    for (const auto& decision : decide_prune(all, rule, now)) {
      EXPECT_FALSE(decision.profile.kept);
      EXPECT_TRUE(gone.insert(decision.profile.id).second);
    }
    std::int64_t stay = 0, bytes = 0, kept_bytes = 0, newest_gone = -1;
    for (const auto& each : all) {
      if (each.kept) kept_bytes += each.bytes;
      if (gone.contains(each.id)) {
        newest_gone = std::max(newest_gone, each.created_at_ns);
        continue;
      }
      bytes += each.bytes;
      if (each.kept) continue;
      ++stay;
      if (rule.older_than_ns) {
        EXPECT_LE(now - each.created_at_ns, *rule.older_than_ns);
      }
    }
    if (rule.newest) {
      EXPECT_LE(stay, *rule.newest);
    }
    if (rule.total_bytes) {
      EXPECT_LE(bytes, std::max(*rule.total_bytes, kept_bytes));
    }
    if (!rule.newest && !rule.older_than_ns && !rule.total_bytes) {
      EXPECT_TRUE(gone.empty());
    }
    for (const auto& each : all) {
      if (each.kept || gone.contains(each.id)) continue;
      EXPECT_GE(each.created_at_ns, newest_gone) << "an older one stays";
    }
  }
}

TEST(PruneProfiles, RemovesFilesAndRowsOfThoseAlone) {
  ProfiledJob job;
  const auto first = job.add(), second = job.add(), third = job.add();
  must(job.store->keep_profile(first.id, true));
  const auto candidates = must(prune_candidates(*job.store));
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_GT(candidates[1].bytes, 0);
  EXPECT_TRUE(candidates[0].kept);
  const auto decisions = decide_prune(candidates, {.newest = 1}, first.created_at_ns);
  const auto pruned = must(prune_profiles(*job.store, job.path, decisions));
  ASSERT_EQ(pruned.removed.size(), 1U);
  EXPECT_EQ(pruned.removed[0].profile.name, second.name);
  EXPECT_EQ(pruned.freed_bytes, candidates[1].bytes);
  EXPECT_THAT(pruned.notes, IsEmpty());
  EXPECT_EQ(code_of(job.store->profile(second.name)), ErrorCode::not_found);
  EXPECT_FALSE(
      std::filesystem::exists(std::filesystem::path(second.ranks[0].trace_path).parent_path()));
  for (const auto* row : {&first, &third}) {
    EXPECT_TRUE(job.store->profile(row->name));
    EXPECT_TRUE(std::filesystem::exists(row->ranks[0].trace_path));
    EXPECT_TRUE(std::filesystem::exists(row->ranks[1].trace_path));
  }
}

TEST(PruneProfiles, TracesThatADaemonServesAreLeftToIt) {
  ProfiledJob job;
  const TraceUrl url{"http://node7:7077", std::string(kTraceSetDigits, 'a'), 1};
  must(job.store->add_profile({.name = "far", .ranks = {{.rank = 1, .trace_path = url.text()}}}));
  EXPECT_EQ(must(prune_candidates(*job.store))[0].bytes, 0);
  const auto candidates = must(prune_candidates(
      *job.store, [&](const TraceUrl& served) { return served == url ? 1234 : 0; }));
  EXPECT_EQ(candidates[0].bytes, 1234);
  const auto decisions = decide_prune(candidates, {.total_bytes = 1233}, 0);
  const auto pruned = must(prune_profiles(*job.store, job.path, decisions));
  EXPECT_EQ(pruned.removed.size(), 1U);
  EXPECT_THAT(pruned.notes, IsEmpty());
  EXPECT_TRUE(must(job.store->profiles()).empty());
}

TEST(PruneProfiles, WhatIsGoneAlreadyIsFine) {
  ProfiledJob job;
  const auto row = job.add();
  const auto decisions = decide_prune(must(prune_candidates(*job.store)), {.newest = 0}, 0);
  std::filesystem::remove(row.ranks[0].trace_path);
  EXPECT_EQ(must(prune_profiles(*job.store, job.path, decisions)).removed.size(), 1U);
  EXPECT_THAT(must(prune_profiles(*job.store, job.path, decisions)).removed, IsEmpty());
  EXPECT_THAT(must(prune_profiles(*job.store, job.path, {})).removed, IsEmpty());
}

TEST(PruneProfiles, AProfileThatWasMarkedMeanwhileStays) {
  ProfiledJob job;
  const auto row = job.add();
  const auto decisions = decide_prune(must(prune_candidates(*job.store)), {.newest = 0}, 0);
  must(job.store->keep_profile(row.id, true));
  EXPECT_THAT(must(prune_profiles(*job.store, job.path, decisions)).removed, IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(row.ranks[0].trace_path));
}

TEST(PruneProfiles, FilesThatAreNotTheProfilesOwnAreLeft) {
  ProfiledJob job;
  NewProfile profile{.name = "strange"};
  const std::string precious = job.folder.file("precious");
  write_bytes(precious, "x");
  profile.ranks = {{.rank = 0, .trace_path = precious}};
  must(job.store->add_profile(profile));
  const auto decisions = decide_prune(must(prune_candidates(*job.store)), {.newest = 0}, 0);
  const auto pruned = must(prune_profiles(*job.store, job.path, decisions));
  EXPECT_TRUE(std::filesystem::exists(precious));
  EXPECT_THAT(pruned.notes, ElementsAre(HasSubstr("precious is left")));
  EXPECT_EQ(pruned.removed.size(), 1U);
}

TEST(PruneProfiles, NothingBehindALinkIsRemoved) {
  ProfiledJob job;
  const auto row = job.add();
  const std::filesystem::path folder = std::filesystem::path(row.ranks[0].trace_path).parent_path();
  const std::string elsewhere = job.folder.file("elsewhere");
  std::filesystem::rename(folder, elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, folder);
  const auto decisions = decide_prune(must(prune_candidates(*job.store)), {.newest = 0}, 0);
  const auto pruned = must(prune_profiles(*job.store, job.path, decisions));
  EXPECT_EQ(pruned.removed.size(), 1U);
  EXPECT_EQ(pruned.freed_bytes, 0);
  EXPECT_FALSE(std::filesystem::is_symlink(folder));
  EXPECT_TRUE(std::filesystem::exists(elsewhere + "/rank-0.sqlite"));
}

TEST(PruneProfiles, OnlyTracesInAProfilesOwnFolderAreItsOwn) {
  const TemporaryFolder dir;
  const std::string store = dir.file("store.db"), profiles = store + ".profiles";
  EXPECT_TRUE(is_own_trace(store, profiles + "/p/rank-0.sqlite", "p"));
  EXPECT_TRUE(is_own_trace(store, "/old/place.db.profiles/p/rank-0.sqlite", "p"));
  for (const auto& [trace, name] :
       std::vector<std::pair<std::string, std::string>>{{profiles + "/../rank-0.sqlite", ".."},
                                                        {profiles + "/./rank-0.sqlite", "."},
                                                        {profiles + "/p/notes.txt", "p"},
                                                        {profiles + "/q/rank-0.sqlite", "p"},
                                                        {dir.file("p/rank-0.sqlite"), "p"}}) {
    EXPECT_FALSE(is_own_trace(store, trace, name)) << trace;
  }
}

TEST(PruneProfiles, TracesInTheFolderThatAllHostsSeeAreTheProfilesOwn) {
  ProfiledJob job;
  const std::string shared = job.folder.file("shared"), trace = shared + "/p1/rank-0.sqlite";
  const ScopedEnvironment environment("HOCKET_TRACES", shared.c_str());
  std::filesystem::create_directories(shared + "/p1");
  write_bytes(trace, "12345");
  NewProfile profile{.name = "p1"};
  profile.ranks = {{.rank = 0, .trace_path = trace}};
  must(job.store->add_profile(profile));
  const auto decisions = decide_prune(must(prune_candidates(*job.store)), {.newest = 0}, 0);
  const auto pruned = must(prune_profiles(*job.store, "postgresql://db.example/hocket", decisions));
  EXPECT_EQ(pruned.freed_bytes, 5);
  EXPECT_THAT(pruned.notes, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(shared + "/p1"));
}

TEST(PruneProfiles, AProfileThatAnotherProcessRemovesMeanwhileIsNotCounted) {
  ProfiledJob job;
  job.add();
  const auto decisions = decide_prune(must(prune_candidates(*job.store)), {.newest = 0}, 0);
  FaultyStore store(*job.store, 0);
  store.before_removal([&] { must(job.store->remove_profile(decisions[0].profile.id)); });
  EXPECT_THAT(must(prune_profiles(store, job.path, decisions)).removed, IsEmpty());
}

TEST(PruneProfiles, AFileThatCannotBeRemovedKeepsItsProfile) {
  ProfiledJob job;
  const auto row = job.add();
  std::filesystem::remove(row.ranks[1].trace_path);
  std::filesystem::create_directories(row.ranks[1].trace_path + "/sub");
  const auto decisions = decide_prune(must(prune_candidates(*job.store)), {.newest = 0}, 0);
  const auto pruned = must(prune_profiles(*job.store, job.path, decisions));
  EXPECT_THAT(pruned.removed, IsEmpty());
  EXPECT_THAT(pruned.notes, ElementsAre(HasSubstr("profile " + row.name + " stays")));
  EXPECT_TRUE(job.store->profile(row.name));
}

}  // namespace
}  // namespace hocket
