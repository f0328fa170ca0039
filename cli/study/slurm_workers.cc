#include "cli/study/slurm_workers.h"

#include <filesystem>
#include <ostream>

#include "cli/inputs/access/store_access.h"
#include "cli/process/own_program.h"
#include "store/store_uri.h"
#include "tuner/slurm/slurm_options.h"

namespace hocket {

Result<SlurmSubmission> slurm_workers(const OpenStudy& open, const std::string& store,
                                      std::ostream& err) {
  auto words = slurm_options(open.definition.slurm);
  if (!words) return failure(words.error().in("--slurm"));
  const std::int64_t tasks = open.definition.workers.value_or(0);
  if (tasks < 1) {
    return failure(ErrorCode::invalid_argument,
                   "--slurm: how many workers? Say --workers N, at least 1");
  }
  auto path = store_path(store);
  HOCKET_TRY(path);
  if (!is_postgres_uri(*path)) {
    std::error_code error;
    path = std::filesystem::absolute(*path, error).string();
    err << "note: the store is a file, so workers can run only on this host; for others it has to "
           "be "
           "a database of PostgreSQL (docs/guides/cluster.md)"
        << std::endl;
  }
  const auto program = own_program();
  HOCKET_TRY(program);
  return SlurmSubmission{
      .options = std::move(*words),
      .tasks = static_cast<int>(tasks),
      .job_name = "hocket-" + open.study.name,
      .command = {program->string(), "work", open.study.name},
      .output = open.definition.working_directory + "/hocket-" + open.study.name + "-%A_%a.log",
      .environment = {{"HOCKET_STORE", *path}}};
}

}  // namespace hocket
