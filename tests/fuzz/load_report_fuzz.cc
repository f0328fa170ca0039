// Lines that processes report to `hocket doctor` are each refused or read; whatever they are, the
// doctor comes to a conclusion.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/checks/load_checks.h"
#include "cli/checks/load_report.h"
#include "core/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  hocket::LaunchedJob job{.reports = hocket::parse_load_reports(text), .limit_ns = 1};
  const auto processes = hocket::processes_of(job.reports.all);
  HOCKET_CHECK(processes.size() <= job.reports.all.size(), "a process without a line");
  (void)hocket::have_all_reported(processes, "h");
  (void)hocket::have_all_reported(processes, std::nullopt);
  HOCKET_CHECK(!hocket::check_probe(processes, {}, {.version = "1"}).empty(), "nothing is said");
  HOCKET_CHECK(!hocket::check_launched_job(job, {.version = "1"}).empty(), "nothing is said");
  return 0;
}
