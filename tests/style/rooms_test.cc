#include "tests/style/rooms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace hocket::style {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kHeader =
    "| room | holds | may include | public headers |\n|---|---|---|---|\n";

/// A small house: two rooms of the ground, a library over them, a program, and the tests.
Rooms house() {
  return read_rooms("Floors:\n\n    cli\n    store   profiler\n    core\n\nRooms:\n\n" +
                    std::string(kHeader) +
                    "| `core/base` | values | | all |\n"
                    "| `core/plan` | decisions | `core/base` | `plan` |\n"
                    "\nAnd above them:\n\n" +
                    kHeader +
                    "| `store` | rows | `core` | `store` `trace/file` |\n"
                    "| `cli` | verbs | all | |\n"
                    "| `tests` | tests | all | |\n");
}

SourceFile including(std::string path, const std::string& header) {
  return sample(std::move(path), "#pragma once\n#include \"" + header + "\"\n");
}

/// Returns the problems of `path` if it includes the existing file `header`.
Problems own(std::string path, const std::string& header) {
  return check_own_includes(including(std::move(path), header), {sample(header, "")}, house());
}

TEST(Rooms, AreReadFromTheTables) {
  const Rooms rooms = house();
  EXPECT_THAT(rooms.problems, IsEmpty());
  ASSERT_EQ(rooms.rooms.size(), 5u);
  const Room& store = rooms.rooms.at("store");
  EXPECT_THAT(store.may_include, UnorderedElementsAre("core/base", "core/plan"));
  EXPECT_THAT(store.public_headers, UnorderedElementsAre("store.h", "trace/file.h"));
  EXPECT_FALSE(store.is_all_public);
  EXPECT_TRUE(rooms.rooms.at("core/base").is_all_public);
  EXPECT_TRUE(rooms.rooms.at("cli").includes_all);
}

TEST(Rooms, ThatCannotBeReadAreReported) {
  const Rooms rooms = read_rooms(std::string(kHeader) + "| core | no backticks | | all |\n");
  EXPECT_THAT(rooms.problems, ElementsAre(HasSubstr("not a row of a room")));
}

TEST(Rooms, HoldTheFilesBelowTheirFolder) {
  const Rooms rooms = house();
  EXPECT_EQ(room_of("core/plan/plan.h", rooms), "core/plan");
  EXPECT_EQ(room_of("store/sqlite/tables.h", rooms), "store");
  EXPECT_EQ(room_of("core/somewhere.h", rooms), "");
  EXPECT_EQ(room_of("storehouse/a.h", rooms), "");
  EXPECT_EQ(room_of("main.cc", rooms), "");
}

TEST(Rooms, LetIncludesRunDownwards) {
  EXPECT_THAT(own("core/plan/plan.cc", "core/base/check.h"), IsEmpty());
  EXPECT_THAT(own("core/plan/plan.cc", "core/plan/queue.h"), IsEmpty());
  EXPECT_THAT(own("store/sqlite/open.cc", "core/plan/plan.h"), IsEmpty());
  EXPECT_THAT(own("store/store.cc", "store/sqlite/tables.h"), IsEmpty());
  EXPECT_THAT(own("cli/verbs/tune.cc", "store/trace/file.h"), IsEmpty());
  EXPECT_THAT(own("tests/store/rows_test.cc", "store/sqlite/tables.h"), IsEmpty());
}

TEST(Rooms, RefuseArrowsThatRunBackUp) {
  EXPECT_THAT(own("core/base/check.h", "core/plan/plan.h"),
              ElementsAre(HasSubstr("may not include core/plan/")));
  EXPECT_THAT(own("core/plan/plan.cc", "store/store.h"),
              ElementsAre(HasSubstr("may not include store/")));
  EXPECT_THAT(own("store/store.cc", "cli/verbs/verb.h"),
              ElementsAre(HasSubstr("may not include cli/")));
  EXPECT_THAT(own("cli/verbs/verb.cc", "tests/mutate.h"),
              ElementsAre(HasSubstr("may not include tests/")));
}

TEST(Rooms, KeepPrivateHeadersToThemselves) {
  EXPECT_THAT(own("store/store.cc", "core/plan/queue.h"),
              ElementsAre(HasSubstr("private to core/plan/")));
  EXPECT_THAT(own("cli/verbs/best.cc", "store/sqlite/tables.h"),
              ElementsAre(HasSubstr("private to store/")));
  EXPECT_THAT(own("store/store.cc", "core/base/detail/bits.h"),
              ElementsAre(HasSubstr("private to core/base/")));
}

TEST(Rooms, RefusePathsThatAreNotFromTheRootAndUnknownFolders) {
  EXPECT_THAT(check_own_includes(including("core/plan/plan.cc", "task.h"),
                                 {sample("core/plan/task.h", "")}, house()),
              ElementsAre(HasSubstr("no path from the root")));
  EXPECT_THAT(own("util/a.cc", "core/base/check.h"), ElementsAre(HasSubstr("in no room")));
  EXPECT_THAT(own("core/plan/plan.cc", "util/a.h"), ElementsAre(HasSubstr("in no room")));
}

TEST(Rooms, SayNoMoreThanIsUsed) {
  const std::vector<SourceFile> tree = {
      sample("core/base/check.h", ""), sample("core/plan/plan.h", ""),
      including("store/store.h", "core/plan/plan.h"),
      including("cli/verbs/verb.h", "store/store.h"), sample("tests/mutate.h", "")};
  EXPECT_THAT(check_rooms(tree, house()),
              ElementsAre(HasSubstr("store/trace/file.h: public, but no other room")));

  Rooms circle = house();
  circle.rooms.at("core/base").may_include.insert("store");
  EXPECT_THAT(check_rooms(tree, circle), ::testing::Contains(HasSubstr("lead back")));
  Rooms empty = house();
  empty.rooms["plugins"].name = "plugins";
  EXPECT_THAT(check_rooms(tree, empty), ::testing::Contains("plugins: a room without files"));
}

TEST(Rooms, StandOnFloors) {
  EXPECT_THAT(house().floors, ElementsAre(ElementsAre("cli"), ElementsAre("profiler", "store"),
                                          ElementsAre("core")));
  const auto problems = [](std::string path, const std::string& header) {
    return check_floors({including(std::move(path), header)}, house());
  };
  EXPECT_THAT(problems("cli/verb.cc", "store/store.h"), IsEmpty());
  EXPECT_THAT(problems("store/a.cc", "store/store.h"), IsEmpty());
  EXPECT_THAT(problems("store/a.cc", "core/base/check.h"), IsEmpty());
  EXPECT_THAT(problems("tests/store/a.cc", "cli/verb.h"), IsEmpty());
  EXPECT_THAT(problems("core/base/check.cc", "store/store.h"),
              ElementsAre(HasSubstr("store/ is not on a floor below core/")));
  EXPECT_THAT(problems("store/a.cc", "profiler/metrics.h"),
              ElementsAre(HasSubstr("profiler/ is not on a floor below store/")));
  EXPECT_THAT(problems("attic/a.cc", "core/base/check.h"),
              ElementsAre("attic/a.cc: attic/ stands on no floor"));
}

TEST(Rooms, AreNotCrowded) {
  std::vector<SourceFile> tree;
  for (std::size_t i = 0; i < kMaxFilesInFolder; ++i) {
    tree.push_back(sample("core/plan/a" + std::to_string(i) + ".h", ""));
  }
  EXPECT_THAT(check_folder_size(tree), IsEmpty());
  tree.push_back(sample("core/plan/b.h", ""));
  EXPECT_THAT(check_folder_size(tree), ElementsAre(HasSubstr("core/plan/: 31 sources")));
}

TEST(Rooms, HoldInThisTree) {
  const auto& tree = this_tree();
  const Rooms& rooms = rooms_of_this_tree();
  ASSERT_GT(rooms.rooms.size(), 20u);
  ASSERT_GT(rooms.floors.size(), 5u);
  EXPECT_THAT(check_rooms(tree, rooms), IsEmpty());
  EXPECT_THAT(check_floors(tree, rooms), IsEmpty());
  EXPECT_THAT(check_folder_size(tree), IsEmpty());
  for (const SourceFile& file : tree) {
    EXPECT_THAT(check_own_includes(file, tree, rooms), IsEmpty());
  }
}

}  // namespace
}  // namespace hocket::style
