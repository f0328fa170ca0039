#include "core/host/launcher_variables.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "core/host/rank_environment.h"

namespace hocket {
namespace {

TEST(LauncherVariables, NoTwoLaunchersSetTheSame) {
  std::set<std::string> names;
  for (const LauncherVariables& launcher : launcher_variables()) {
    for (const char* name :
         {launcher.rank, launcher.size, launcher.local_rank, launcher.local_size}) {
      EXPECT_TRUE(names.insert(name).second) << name;
    }
    for (const std::string_view name : launcher.names) {
      EXPECT_TRUE(names.insert(std::string(name)).second) << name;
    }
  }
  EXPECT_GE(names.size(), 16u);
}

TEST(LauncherVariables, TheRanksOfEachLauncherAreRead) {
  for (const LauncherVariables& launcher : launcher_variables()) {
    const auto environment =
        read_rank_environment([&](const char* asked) -> std::optional<std::string> {
          const std::string_view name = asked;
          if (name == "HOCKET_RENDEZVOUS") return "tcp://a:1";
          if (name == launcher.rank) return "3";
          if (name == launcher.size) return "4";
          if (name == launcher.local_rank) return "1";
          if (name == launcher.local_size) return "2";
          return std::nullopt;
        });
    ASSERT_TRUE(environment) << environment.error().message;
    EXPECT_EQ(environment->rank, 3) << launcher.rank;
    EXPECT_EQ(environment->world_size, 4) << launcher.rank;
    EXPECT_EQ(environment->local_rank, 1) << launcher.rank;
    EXPECT_EQ(environment->ranks_per_host, 2) << launcher.rank;
  }
}

}  // namespace
}  // namespace hocket
