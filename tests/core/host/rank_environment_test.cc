#include "core/host/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hocket {
namespace {

Result<RankEnvironment> read(const std::map<std::string, std::string>& variables) {
  return read_rank_environment([&](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  });
}

TEST(RankEnvironment, WithoutALauncherThereIsOneRank) {
  const auto environment = read({});
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->world_size, 1);
}

TEST(RankEnvironment, UnderstandsEachLauncher) {
  const std::pair<const char*, const char*> launchers[] = {
      {"RANK", "WORLD_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank, size] : launchers) {
    const auto environment = read({{rank, "3"}, {size, "4"}, {"HOCKET_RENDEZVOUS", "tcp://a:1"}});
    ASSERT_TRUE(environment) << rank;
    EXPECT_EQ(environment->rank, 3);
    EXPECT_EQ(environment->world_size, 4);
    EXPECT_EQ(environment->rendezvous, "tcp://a:1");
  }
}

TEST(RankEnvironment, KnowsThePlaceOnThisHost) {
  const std::pair<std::map<std::string, std::string>, int> cases[] = {
      {{{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}}, 1},
      {{{"OMPI_COMM_WORLD_RANK", "3"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}},
       0},
      {{{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}}, 1},
      {{{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "2"}}, 2},
      {{{"RANK", "3"}, {"WORLD_SIZE", "4"}}, 3}};
  for (auto [variables, local_rank] : cases) {
    variables["HOCKET_RENDEZVOUS"] = "tcp://a:1";
    const auto environment = read(variables);
    ASSERT_TRUE(environment) << environment.error().message;
    EXPECT_EQ(environment->local_rank, local_rank);
  }
  EXPECT_THAT(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "x"}}).error().message,
              testing::HasSubstr("LOCAL_RANK: expected an integer from 0 to 0"));
}

/// Names of the variables with the rank, the number of ranks, and the local ones, per launcher.
struct LauncherNames {
  const char *rank, *size, *local_rank, *local_size;
};
constexpr LauncherNames kLauncherNames[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}};

Result<RankEnvironment> read_third_of_six(const LauncherNames& names, const char* local_rank,
                                          const char* local_size) {
  std::map<std::string, std::string> variables{
      {names.rank, "2"}, {names.size, "6"}, {"HOCKET_RENDEZVOUS", "tcp://a:1"}};
  if (local_rank) variables[names.local_rank] = local_rank;
  if (local_size) variables[names.local_size] = local_size;
  return read(variables);
}

TEST(RankEnvironment, KnowsHowManyRanksAHostHas) {
  for (const LauncherNames& names : kLauncherNames) {
    SCOPED_TRACE(names.local_size);
    EXPECT_EQ(read_third_of_six(names, "0", "2").value().ranks_per_host, 2);
    EXPECT_EQ(read_third_of_six(names, "2", "3").value().ranks_per_host, 3);
    EXPECT_EQ(read_third_of_six(names, "2", "6").value().ranks_per_host, 6);
    EXPECT_EQ(read_third_of_six(names, nullptr, "3").value().ranks_per_host, 3);
  }
}

TEST(RankEnvironment, HostsThatAreNotRowsOfRanksCountOneByOne) {
  for (const LauncherNames& names : kLauncherNames) {
    SCOPED_TRACE(names.local_size);
    EXPECT_EQ(read_third_of_six(names, "0", nullptr).value().ranks_per_host, 1) << "not told";
    EXPECT_EQ(read_third_of_six(names, "2", "4").value().ranks_per_host, 1) << "hosts differ";
    EXPECT_EQ(read_third_of_six(names, "1", "2").value().ranks_per_host, 1) << "host by host";
  }
}

TEST(RankEnvironment, RanksOfAHostThatCannotBeAreAnErrorThatNamesTheVariable) {
  for (const LauncherNames& names : kLauncherNames) {
    for (const char* wrong : {"0", "-1", "two", "", "99999999"}) {
      const auto environment = read_third_of_six(names, "0", wrong);
      ASSERT_FALSE(environment) << names.local_size << "=" << wrong;
      EXPECT_THAT(environment.error().message,
                  testing::StartsWith("environment variable " + std::string(names.local_size)));
    }
  }
  EXPECT_THAT(read_third_of_six(kLauncherNames[0], "0", "7").error().message,
              testing::HasSubstr("LOCAL_WORLD_SIZE: expected an integer from 1 to 6, found \"7\""));
  // Slurm's variable holds the requested number, which may exceed that of the job step.
  EXPECT_EQ(read_third_of_six(kLauncherNames[3], "0", "7").value().ranks_per_host, 1);
}

TEST(RankEnvironment, TakesTheMasterAddressOfTorchrun) {
  const auto environment =
      read({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->rendezvous, "tcp://host:29501");
}

TEST(RankEnvironment, KnowsTheSecretOfTheRendezvous) {
  const std::string secret = "between us ranks";
  EXPECT_EQ(read({{"HOCKET_RENDEZVOUS_SECRET", secret}}).value().secret, secret);
  EXPECT_EQ(read({}).value().secret, "");
}

TEST(RankEnvironment, KnowsTheParameterServersInOrder) {
  EXPECT_THAT(read({{"HOCKET_SERVERS", "a:1,[::1]:2,b:3"}}).value().servers,
              testing::ElementsAre("a:1", "[::1]:2", "b:3"));
  EXPECT_THAT(read({{"HOCKET_SERVERS", ""}}).value().servers, testing::IsEmpty());
  EXPECT_THAT(read({}).value().servers, testing::IsEmpty());
}

TEST(RankEnvironment, ErrorsNameTheVariable) {
  EXPECT_THAT(read({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).error().message,
              testing::HasSubstr("RANK: expected an integer from 0 to 1, found \"2\""));
  EXPECT_THAT(read({{"RANK", "0"}, {"WORLD_SIZE", "many"}}).error().message,
              testing::HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(read({{"RANK", "0"}, {"WORLD_SIZE", "2"}}).error().message,
              testing::HasSubstr("set HOCKET_RENDEZVOUS"));
}

}  // namespace
}  // namespace hocket
