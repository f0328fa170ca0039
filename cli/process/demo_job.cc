#include "cli/process/demo_job.h"

#include <system_error>

namespace hocket {
Result<std::vector<std::string>> demo_job(const std::filesystem::path& program) {
  const std::filesystem::path prefix = program.parent_path().parent_path();
  const std::filesystem::path job = prefix / "libexec/hocket/gpt2";
  std::error_code error;
  if (!std::filesystem::is_regular_file(job, error)) {
    return failure(ErrorCode::not_found, "the demo's job is not installed: there is no " +
                                             job.string() +
                                             "; pip install hocket, or the package hocket-demo, "
                                             "brings it");
  }
  // It trains on the documentation, which every installation of it has.
  return std::vector{job.string(), std::string("--text"),
                     (prefix / "share/doc/hocket/docs").string()};
}

}  // namespace hocket
