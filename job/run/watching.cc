#include "job/run/watching.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "archive/profiles/store_link.h"
#include "client/link/http_daemon_link.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

std::string new_job_id(const std::string& program) {
  // The time makes the id unique when a process id is reused.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return program + "-" + std::to_string(getpid()) + "-" + std::to_string(now);
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Result<void> check_daemon_to_watch() {
  const auto daemon = daemon_address_from_environment();
  if (daemon) return {};
  if (daemon.error().code != ErrorCode::not_found) return failure(daemon.error());
  return failure(ErrorCode::invalid_argument,
                 "--watch: HOCKET_DAEMON names no daemon; set it to the address of one, such as "
                 "http://127.0.0.1:7077 (hocket serve)");
}

JobWatch watch_store(const std::string& program, const RunReport& report,
                     const std::string& store_path,
                     const std::function<void(const std::string&)>& warn) {
  std::string id = new_job_id(program);
  auto link = open_store_link({.open = [store_path] { return open_for_requests(store_path); },
                               .job_id = id,
                               .job_name = report.workload.name,
                               .warn = warn});
  return {std::move(id), std::move(link)};
}

JobWatch watch_daemon(WatchOptions options, const RunReport& report, const FetchedConfig& fetched,
                      const std::function<void(const std::string&)>& warn) {
  std::string id = new_job_id(options.program);
  auto daemon = daemon_from_environment();
  if (!daemon) {
    warn("the job goes on without the daemon: " + daemon.error().message);
    return {.job = std::move(id), .link = nullptr};
  }
  JobDescription job{.id = id,
                     .name = report.workload.name,
                     .host = host_name(),
                     .topology = report.topology,
                     .workload = report.workload,
                     .config = report.config,
                     .version = fetched.version,
                     .explore = options.explore,
                     .can_run = std::move(options.can_run),
                     .step = std::move(options.step)};
  const bool has_servers =
      job.can_run.start && job.can_run.start->at("communication").words.empty();
  job.knobs = searched_knobs(has_servers);
  auto link = open_daemon_link({.daemon = std::move(*daemon),
                                .job = std::move(job),
                                .warn = warn,
                                .seed = std::hash<std::string>()(id)});
  return {std::move(id), std::move(link)};
}

}  // namespace hocket
