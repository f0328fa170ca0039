#include "tests/style/build_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace hocket::style {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BuildRules, FindSourcesThatNothingBuilds) {
  const SourceFile source = sample("core/host/link.cc", "");
  const auto problems = [&](std::string folder, const std::string& text) {
    return check_sources_are_built({source, sample(folder + "/CMakeLists.txt", text)}, Rooms());
  };
  EXPECT_THAT(problems("core/host", "hocket_library(x SOURCES link.cc\n  LINK y)\n"), IsEmpty());
  EXPECT_THAT(problems("core", "hocket_library(x SOURCES host/link.cc)\n"), IsEmpty());

  const auto missing = ElementsAre(HasSubstr("core/host/link.cc"));
  EXPECT_THAT(problems("core", "hocket_library(x SOURCES link.cc)\n"), missing);
  EXPECT_THAT(problems("core/host", "hocket_library(x SOURCES emulated_link.cc)\n"), missing);
  EXPECT_THAT(problems("core/host", "# link.cc\n"), missing);
  EXPECT_THAT(problems("store", "hocket_library(x SOURCES link.cc)\n"), missing);
  EXPECT_THAT(check_sources_are_built({sample("core/host/link.h", "")}, Rooms()), IsEmpty());
}

TEST(BuildRules, TakeSourcesOfRoomsForBuilt) {
  const Rooms rooms = read_rooms(
      "| room | holds | may include | public headers |\n|---|---|---|---|\n"
      "| `core/host` | hosts | | all |\n| `capi` | C | `core` | all |\n| `cli` | verbs | all | "
      "|\n");
  const auto problems = [&](std::string path) {
    return check_sources_are_built({sample(std::move(path), "")}, rooms);
  };
  EXPECT_THAT(problems("core/host/link.cc"), IsEmpty());
  EXPECT_THAT(problems("core/host/emulated/link.cc"), IsEmpty());
  for (const char* path :
       {"core/link.cc", "core/host/kernel.cu", "capi/client.cc", "cli/main.cc"}) {
    EXPECT_THAT(problems(path), ElementsAre(HasSubstr(path)));
  }
}

TEST(BuildRules, FindTestsThatMirrorNothing) {
  const auto problems = [](std::string path) {
    return check_tests_mirror_sources({sample("core/host/link.h", ""),
                                       sample("core/plan/plan.h", ""), sample("store/store.h", ""),
                                       sample("scripts/pack", "#!/bin/sh"),
                                       sample(std::move(path), "")});
  };
  EXPECT_THAT(problems("tests/core/host/link_test.cc"), IsEmpty());
  // A source of another part has that name.
  EXPECT_THAT(problems("tests/store/link_test.cc"), IsEmpty());
  EXPECT_THAT(problems("tests/core/plan/random_graphs_test.cc"), IsEmpty());
  EXPECT_THAT(problems("tests/style/rooms_test.cc"), IsEmpty());
  EXPECT_THAT(problems("tests/scripts/pack_test.cc"), IsEmpty());

  EXPECT_THAT(problems("tests/core/plan/link_test.cc"), ElementsAre(HasSubstr("is in core/host/")));
  EXPECT_THAT(problems("tests/core/host/plan_test.cc"), ElementsAre(HasSubstr("is in core/")));
  EXPECT_THAT(problems("tests/net/link_test.cc"), ElementsAre(HasSubstr("mirrors no folder")));
  EXPECT_THAT(problems("core/plan/plan_test.cc"), ElementsAre(HasSubstr("outside tests/")));
}

TEST(BuildRules, HoldInThisTree) {
  EXPECT_THAT(check_sources_are_built(this_tree(), rooms_of_this_tree()), IsEmpty());
  EXPECT_THAT(check_tests_mirror_sources(this_tree()), IsEmpty());
}

TEST(BuildRules, SeeTheWholeTree) {
  for (const char* path : {"core/plan/plan.h", "tests/style/build_rules_test.cc", "CMakeLists.txt",
                           "cmake/HocketOptions.cmake", "scripts/setup", ".ci/run"}) {
    const auto& tree = this_tree();
    EXPECT_EQ(1, std::count_if(tree.begin(), tree.end(),
                               [&](const SourceFile& file) { return file.path == path; }))
        << path;
  }
}

}  // namespace
}  // namespace hocket::style
