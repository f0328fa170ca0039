#include "core/host/launcher_variables.h"

namespace hocket {
namespace {

using Names = std::string_view[];

constexpr Names kTorchrunNames = {"GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE",
                                  "ROLE_NAME"};
constexpr Names kTorchrunPrefixes = {"TORCHELASTIC_"};

/// With PMIx and PRRTE, which start its ranks. OMPI_MCA_* has the settings of Open MPI's users;
/// only its runtime's are listed.
constexpr Names kOpenMpiPrefixes = {"OMPI_COMM_WORLD_",
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
                                    "PRTE_"};

constexpr Names kHydraPrefixes = {"PMI_", "HYDI_", "HYDRA_", "MPI_LOCAL"};

/// Slurm sets these for an allocation and for each of its steps.
constexpr Names kStepNames = {"SLURM_NPROCS", "SLURM_TASKS_PER_NODE"};
constexpr Names kStepPrefixes = {"SLURM_STEP_", "SLURM_STEPID"};

constexpr LauncherVariables kLaunchers[] = {{.rank = "RANK",
                                             .size = "WORLD_SIZE",
                                             .local_rank = "LOCAL_RANK",
                                             .local_size = "LOCAL_WORLD_SIZE",
                                             .names = kTorchrunNames,
                                             .prefixes = kTorchrunPrefixes},
                                            {.rank = "OMPI_COMM_WORLD_RANK",
                                             .size = "OMPI_COMM_WORLD_SIZE",
                                             .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                                             .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
                                             .prefixes = kOpenMpiPrefixes},
                                            {.rank = "PMI_RANK",
                                             .size = "PMI_SIZE",
                                             .local_rank = "MPI_LOCALRANKID",
                                             .local_size = "MPI_LOCALNRANKS",
                                             .prefixes = kHydraPrefixes},
                                            {.rank = "SLURM_PROCID",
                                             .size = "SLURM_NTASKS",
                                             .local_rank = "SLURM_LOCALID",
                                             .local_size = "SLURM_NTASKS_PER_NODE",
                                             .local_size_is_a_wish = true,
                                             .step = "SLURM_STEP_ID",
                                             .step_names = kStepNames,
                                             .step_prefixes = kStepPrefixes}};

}  // namespace

std::span<const LauncherVariables> launcher_variables() {
  return kLaunchers;
}

}  // namespace hocket
