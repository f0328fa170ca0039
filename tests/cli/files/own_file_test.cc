#include "cli/files/own_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

namespace hocket {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kUser = 1000, kOther = 1001, kRoot = 0;

bool is_folder(OwnKind kind) {
  return kind == OwnKind::traces || kind == OwnKind::state_folder ||
         kind == OwnKind::served_traces || kind == OwnKind::cache_folder ||
         kind == OwnKind::scratch;
}

mode_t private_mode(OwnKind kind) {
  return is_folder(kind) ? S_IFDIR | 0700 : S_IFREG | 0600;
}

OwnFile judge(OwnKind kind, mode_t mode, uid_t owner = kUser, bool is_shared = false) {
  return judged_file(kind, "/a b", {.mode = mode, .owner = owner, .bytes = 7}, kUser, is_shared);
}

TEST(OwnFile, KindsAndStatesHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const OwnKind kind : own_kinds()) names.insert(to_string(kind));
  EXPECT_EQ(names.size(), own_kinds().size());
  EXPECT_EQ(to_string(OwnKind::scratch), "scratch");
  EXPECT_EQ(to_string(OwnState::left_over), "left over");
}

TEST(OwnFile, IsWellIfOnlyItsUserCanUseIt) {
  for (const OwnKind kind : own_kinds()) {
    SCOPED_TRACE(to_string(kind));
    EXPECT_EQ(judge(kind, private_mode(kind)), (OwnFile{kind, "/a b", 7, OwnState::ok, ""}));
    EXPECT_FALSE(is_wrong(OwnState::ok));
  }
}

TEST(OwnFile, MayBeMissing) {
  for (const OwnKind kind : own_kinds()) {
    const auto file = judged_file(kind, "/a", {}, kUser, false);
    EXPECT_EQ(file.state, OwnState::missing);
    EXPECT_FALSE(is_wrong(file.state));
  }
}

TEST(OwnFile, OfAnotherTypeIsUnusable) {
  for (const OwnKind kind : own_kinds()) {
    for (const mode_t type : {S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO}) {
      const auto file = judge(kind, type | 0600);
      const bool is_right = static_cast<mode_t>(type) == (is_folder(kind) ? S_IFDIR : S_IFREG);
      EXPECT_EQ(file.state, is_right ? OwnState::ok : OwnState::unusable);
      EXPECT_EQ(is_wrong(file.state), !is_right);
    }
  }
}

TEST(OwnFile, ThatEverybodyCanWriteIsWrongAndTokensThatOthersCanRead) {
  for (const OwnKind kind : own_kinds()) {
    SCOPED_TRACE(to_string(kind));
    const auto open = judge(kind, private_mode(kind) | 0002);
    EXPECT_EQ(open.state, OwnState::wrong_permissions);
    EXPECT_TRUE(is_wrong(open.state));
    EXPECT_THAT(open.advice, HasSubstr("chmod"));
    EXPECT_THAT(open.advice, HasSubstr("'/a b'"));
    const bool is_secret =
        kind == OwnKind::token || kind == OwnKind::served_traces || kind == OwnKind::scratch;
    for (const mode_t reading : {0040, 0004, 0050, 0005}) {
      EXPECT_EQ(judge(kind, private_mode(kind) | reading).state,
                is_secret ? OwnState::wrong_permissions : OwnState::ok);
    }
  }
}

TEST(OwnFile, OfAnotherUserIsWrongUnlessTheStoreIsShared) {
  for (const OwnKind kind : own_kinds()) {
    SCOPED_TRACE(to_string(kind));
    const bool may_be_shared = kind == OwnKind::store || kind == OwnKind::traces;
    for (const bool is_shared : {false, true}) {
      const bool is_right = may_be_shared && is_shared;
      const auto other = judge(kind, private_mode(kind), kOther, is_shared);
      EXPECT_EQ(other.state, is_right ? OwnState::ok : OwnState::wrong_owner);
      EXPECT_EQ(other.advice.find("chown 1000 '/a b'") != std::string::npos, !is_right);
      EXPECT_EQ(judge(kind, private_mode(kind), kRoot, is_shared).state,
                is_right || kind == OwnKind::token ? OwnState::ok : OwnState::wrong_owner);
    }
  }
}

TEST(OwnFile, UnfinishedIsLeftOverOnceItIsADayOld) {
  constexpr std::int64_t kNow = 40 * kLeftOverAfterNs;
  const auto after = [](std::int64_t age_ns) {
    return judged_unfinished(OwnKind::token, "/a", 3, kNow - age_ns, kNow);
  };
  for (const std::int64_t age_ns : {std::int64_t{-5}, std::int64_t{0}, kLeftOverAfterNs}) {
    EXPECT_EQ(after(age_ns).state, OwnState::in_use) << age_ns;
    EXPECT_THAT(after(age_ns).advice, HasSubstr("day"));
  }
  EXPECT_EQ(after(kLeftOverAfterNs + 1).state, OwnState::left_over);
  EXPECT_THAT(after(kLeftOverAfterNs + 1).advice, HasSubstr("hocket prune"));
  EXPECT_FALSE(is_wrong(OwnState::left_over));
  EXPECT_EQ(after(0).bytes, 3);
}

}  // namespace
}  // namespace hocket
