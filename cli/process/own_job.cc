#include "cli/process/own_job.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace hocket {
namespace {

/// The beginnings of variables that Open MPI, MPICH and Intel MPI (PMI, Hydra), PMIx and torchrun
/// set for a rank. OMPI_MCA_* has the settings of Open MPI's users; only its runtime's are listed.
constexpr std::string_view kRankPrefixes[] = {"OMPI_COMM_WORLD_",
                                              "OMPI_UNIVERSE_",
                                              "OMPI_APP_CTX_",
                                              "OMPI_NUM_APP_CTX",
                                              "OMPI_FIRST_RANKS",
                                              "OMPI_FILE_LOCATION",
                                              "OMPI_ARGV",
                                              "OMPI_COMMAND",
                                              "OMPI_MCA_ess",
                                              "OMPI_MCA_orte",
                                              "OMPI_MCA_pmix",
                                              "OMPI_MCA_initial_wdir",
                                              "PMIX_",
                                              "PRTE_",
                                              "PMI_",
                                              "HYDI_",
                                              "HYDRA_",
                                              "MPI_LOCAL",
                                              "TORCHELASTIC_"};

constexpr std::string_view kRankNames[] = {
    "RANK",       "WORLD_SIZE",       "LOCAL_RANK",   "LOCAL_WORLD_SIZE",
    "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",    "ROLE_WORLD_SIZE",
    "ROLE_NAME",  "SLURM_PROCID",     "SLURM_LOCALID"};

/// Slurm sets these for an allocation and for each of its steps. An allocation's stay.
constexpr std::string_view kStepNames[] = {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE",
                                           "SLURM_NTASKS_PER_NODE"};

bool starts_with_any(std::string_view name, auto const& prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<std::string> rank_variables(const std::vector<std::string>& names) {
  const bool is_step = std::ranges::count(names, "SLURM_STEP_ID") > 0;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const bool is_of_step =
        is_step && (name.starts_with("SLURM_STEP_") || name.starts_with("SLURM_STEPID") ||
                    std::ranges::count(kStepNames, name) > 0);
    if (starts_with_any(name, kRankPrefixes) || std::ranges::count(kRankNames, name) > 0 ||
        is_of_step) {
      found.push_back(name);
    }
  }
  return found;
}

std::string rank_on_host() {
  for (const char* name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const char* rank = getenv(name)) return rank;
  }
  return "0";
}

void forget_rank() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : rank_variables(names)) unsetenv(name.c_str());
}

}  // namespace hocket
