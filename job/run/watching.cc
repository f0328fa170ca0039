#include "job/run/watching.h"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/profiles/store_link.h"
#include "client/link/http_daemon_link.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

std::string new_job_id() {
  // The time makes the id unique when a process id is reused.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return "gpt2-" + std::to_string(getpid()) + "-" + std::to_string(now);
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

RunnableValues what_it_can_run(const JobKind& kind) {
  RunnableValues can_run;
  ValuesByKnob& start = can_run.start.emplace();
  for (const Knob& knob : schedule_knobs()) start[std::string(knob.name)] = {};
  for (const Knob& knob : region_knobs()) start[std::string(knob.name)] = {};
  start["group_ranks"].numbers = {1};
  if (kind.servers == 0) start["communication"].words = {"all_reduce"};
  if (kind.is_updated_by_servers) start["communication"].words = {"parameter_server"};
  if (kind.is_placed) {
    // All that partitions a step keeps its default.
    const ScheduleConfig defaults;
    for (const char* name : {"bucket_bytes", "primitive", "group_ranks", "launch", "compute_parts",
                             "compute_order", "micro_batches_kept"}) {
      const nlohmann::json value = knob_values(defaults).at(name);
      if (value.is_string()) {
        start[name].words = {value.get<std::string>()};
      } else {
        start[name].numbers = {value.get<std::int64_t>()};
      }
    }
  } else if (kind.ranks_per_host > 1) {
    start["group_ranks"].numbers.push_back(kind.ranks_per_host);
  }
  if (!kind.is_watched) return can_run;
  can_run.running = start;
  if (!kind.has_step) (*can_run.running)["order"].words = {"fifo", "negotiated"};
  return can_run;
}

Watch watch_store(const RunReport& report, const std::string& store_path,
                  const std::function<void(const std::string&)>& warn) {
  std::string id = new_job_id();
  auto link = open_store_link({.open = [store_path] { return open_for_requests(store_path); },
                               .job_id = id,
                               .job_name = report.workload.name,
                               .warn = warn});
  return {std::move(id), std::move(link)};
}

Watch watch_daemon(const RunReport& report, const FetchedConfig& fetched, double explore,
                   const std::optional<StepDescription>& step, RunnableValues can_run,
                   const std::function<void(const std::string&)>& warn) {
  auto daemon = daemon_from_environment();
  if (!daemon) {
    warn("the job goes on without the daemon: " + daemon.error().message);
    return {.job = new_job_id(), .link = nullptr};
  }
  JobDescription job{.id = new_job_id(),
                     .name = report.workload.name,
                     .host = host_name(),
                     .topology = report.topology,
                     .workload = report.workload,
                     .config = report.config,
                     .version = fetched.version,
                     .explore = explore,
                     .can_run = std::move(can_run),
                     .step = step};
  const bool has_servers =
      job.can_run.start && job.can_run.start->at("communication").words.empty();
  for (const Knob& knob : schedule_knobs()) {
    if (knob.searched || (has_servers && knob.name == "communication"))
      job.knobs.emplace_back(knob.name);
  }
  std::string id = job.id;
  return Watch{id, open_daemon_link({.daemon = std::move(*daemon),
                                     .job = std::move(job),
                                     .warn = warn,
                                     .seed = std::hash<std::string>()(id)})};
}

}  // namespace hocket
