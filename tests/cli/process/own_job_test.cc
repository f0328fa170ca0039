#include "cli/process/own_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/host/launcher_variables.h"
#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OwnJob, KnowsWhatLaunchersSayOfARank) {
  EXPECT_THAT(rank_variables({"OMPI_COMM_WORLD_RANK", "PATH", "PMIX_NAMESPACE", "PMI_RANK",
                              "MPI_LOCALRANKID", "RANK", "LOCAL_RANK", "OMPI_MCA_ess_base_jobid"}),
              ElementsAre("OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE", "PMI_RANK", "MPI_LOCALRANKID",
                          "RANK", "LOCAL_RANK", "OMPI_MCA_ess_base_jobid"));
  // Settings of the user, and what another program means by a similar name.
  EXPECT_THAT(rank_variables({"OMPI_MCA_btl", "RANKING", "HOCKET_CONFIG", "MASTER_ADDR"}),
              IsEmpty());
}

TEST(OwnJob, KnowsWhatElseBelongsToARank) {
  const std::vector<std::string> names{"GROUP_RANK",         "GROUP_WORLD_SIZE",
                                       "ROLE_RANK",          "ROLE_WORLD_SIZE",
                                       "ROLE_NAME",          "TORCHELASTIC_RUN_ID",
                                       "OMPI_UNIVERSE_SIZE", "OMPI_APP_CTX_NUM_PROCS",
                                       "OMPI_NUM_APP_CTX",   "OMPI_FIRST_RANKS",
                                       "OMPI_FILE_LOCATION", "OMPI_ARGV",
                                       "OMPI_COMMAND",       "OMPI_MCA_orte_x",
                                       "OMPI_MCA_pmix_x",    "OMPI_MCA_initial_wdir",
                                       "PRTE_LAUNCHED",      "PMI_FD",
                                       "HYDI_CONTROL_FD",    "HYDRA_ARGV"};
  EXPECT_EQ(rank_variables(names), names);
}

TEST(OwnJob, KnowsTheRanksOfEachLauncher) {
  for (const LauncherVariables& launcher : launcher_variables()) {
    SCOPED_TRACE(launcher.rank);
    std::vector<std::string> names{launcher.rank, launcher.local_rank};
    EXPECT_EQ(rank_variables(names), names);
    names = {launcher.size, launcher.local_size};
    if (launcher.step != nullptr) {
      EXPECT_THAT(rank_variables(names), IsEmpty()) << "they are the allocation's";
      names.emplace_back(launcher.step);
    }
    EXPECT_EQ(rank_variables(names), names);
    const ScopedEnvironment local(launcher.local_rank, "5");
    EXPECT_EQ(rank_on_host(), "5");
  }
}

TEST(OwnJob, LeavesAnAllocationOfSlurmButNotAStep) {
  EXPECT_THAT(rank_variables({"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"}),
              ElementsAre("SLURM_PROCID", "SLURM_LOCALID"));
  EXPECT_THAT(rank_variables({"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NTASKS", "SLURM_PROCID"}),
              ElementsAre("SLURM_STEP_ID", "SLURM_NTASKS", "SLURM_PROCID"));
  const std::vector<std::string> both{"SLURM_NPROCS", "SLURM_TASKS_PER_NODE", "SLURM_STEPID",
                                      "SLURM_STEP_NODELIST"};
  EXPECT_THAT(rank_variables(both), IsEmpty());
  auto step = both;
  step.emplace_back("SLURM_STEP_ID");
  EXPECT_EQ(rank_variables(step), step);
}

TEST(OwnJob, ForgetsTheRankOfThisProcess) {
  const ScopedEnvironment rank("PMI_RANK", "3"), local("MPI_LOCALRANKID", "1"),
      other("HOCKET_OTHER", "x");
  EXPECT_EQ(rank_on_host(), "1");
  forget_rank();
  EXPECT_EQ(std::getenv("PMI_RANK"), nullptr);
  EXPECT_EQ(rank_on_host(), "0");
  EXPECT_STREQ(std::getenv("HOCKET_OTHER"), "x");
}

}  // namespace
}  // namespace hocket
