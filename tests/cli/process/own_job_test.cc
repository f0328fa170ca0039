#include "cli/process/own_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

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

TEST(OwnJob, LeavesAnAllocationOfSlurmButNotAStep) {
  EXPECT_THAT(rank_variables({"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"}),
              ElementsAre("SLURM_PROCID", "SLURM_LOCALID"));
  EXPECT_THAT(rank_variables({"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NTASKS", "SLURM_PROCID"}),
              ElementsAre("SLURM_STEP_ID", "SLURM_NTASKS", "SLURM_PROCID"));
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
