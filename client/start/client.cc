#include "client/start/client.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/start/daemon_config_source.h"
#include "client/start/site_configs.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/base/plain_text.h"
#include "core/files/regular_file.h"
#include "core/protocol/config_key.h"
#include "core/step/declared_knob.h"

namespace hocket {
namespace {

constexpr std::int64_t kFetchTimeoutNs = 2'000'000'000;
/// Left for the site's file when another source has used up its time.
constexpr std::int64_t kFewestSiteNs = 200'000'000;

/// Returns `fetched` with the default configuration and `why` as its detail and a warning.
FetchedConfig defaulted(FetchedConfig fetched, std::string why) {
  fetched.config = ScheduleConfig{};
  fetched.source = "default";
  fetched.detail = why;
  fetched.warnings.push_back(std::move(why));
  return fetched;
}

/// A job's description of itself when it asks for a configuration.
struct AskingJob {
  const Topology& topology;
  const Workload& workload;
  const RunnableValues& can_run;
  const AcceptConfig& accept;
};

/// Checks that a job can start with `config`, as far as it says what it can start with.
Result<void> check_stated(const AskingJob& job, const ScheduleConfig& config) {
  HOCKET_TRY(check_declared(config, job.workload.knobs));
  if (job.can_run.start) {
    HOCKET_TRY(check_start(job.can_run, config));
  }
  return job.accept ? job.accept(config) : Result<void>();
}

/// Takes what a source has found, unless the job cannot start with it.
void take_found(const AskingJob& job, const StoredConfig& found, FetchedConfig& fetched) {
  fetched.search = found.search;
  const ScheduleConfig config = with_declared_defaults(found.config, job.workload.knobs);
  fetched.warnings.insert(fetched.warnings.end(), found.warnings.begin(), found.warnings.end());
  if (const auto valid = validate(config); !valid) {
    fetched = defaulted(std::move(fetched),
                        "the stored configuration is not valid: " + valid.error().message);
    return;
  }
  // A daemon of an older version does not know what the job can run.
  if (const auto can_start = check_stated(job, config); !can_start) {
    fetched = defaulted(std::move(fetched),
                        "the stored configuration is not used: " + can_start.error().message);
    return;
  }
  fetched.config = config;
  fetched.source = found.source;
  fetched.detail = found.origin;
  fetched.version = found.version;
}

/// Asks `source`, whose name is `name` in messages. Returns whether it has nothing for the job's
/// key, now or ever, so that `fetched` has the default and the reason.
bool ask_source(const AskingJob& job, ConfigSource& source, const std::string& name,
                FetchedConfig& fetched) {
  const auto stored = source.find(job.topology, job.workload, kFetchTimeoutNs);
  if (!stored) {
    fetched = defaulted(std::move(fetched),
                        "the " + name + " could not be asked: " + stored.error().message);
    return true;
  }
  if (!*stored) {
    fetched.detail = "the " + name + " has nothing for this topology and workload";
    return true;
  }
  take_found(job, **stored, fetched);
  return (*stored)->is_unknown;
}

/// Takes what the site ships to its users. Where it has nothing, `fetched` stays as it is.
void ask_site(const AskingJob& job, const Environment& environment, std::int64_t timeout_ns,
              FetchedConfig& fetched) {
  const auto path = site_configs_path(environment);
  if (!path) return;
  const ConfigKey key{fingerprint(job.topology), fingerprint(job.workload)};
  const auto found = find_site_config(*path, key, timeout_ns);
  if (!found) {
    fetched.warnings.push_back(found.error().message);
  } else if (*found) {
    const std::string search = fetched.search;
    take_found(job, **found, fetched);
    fetched.search = search;
  }
}

/// Serializes errors as well: the other ranks must receive an answer, or they end with a misleading
/// error of their own.
std::string to_message(const Result<FetchedConfig>& fetched) {
  nlohmann::json message;
  if (fetched) {
    message["config"] = to_json(fetched->config);
    message["source"] = fetched->source;
    message["detail"] = fetched->detail;
    message["version"] = fetched->version;
    message["key"] = fetched->key;
  } else {
    message["error"] = fetched.error().message;
  }
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<FetchedConfig> from_message(const std::string& message) {
  const auto document = parse_object(message, "rank 0's configuration");
  HOCKET_TRY(document);
  JsonReader reader(*document);
  if (reader.has("error")) {
    std::string error;
    reader.text("error", error);
    if (reader.finish()) return failure(ErrorCode::invalid_argument, std::move(error));
  }
  FetchedConfig fetched;
  reader.part("config", fetched.config, read_schedule_config);
  reader.text("source", fetched.source);
  reader.text("detail", fetched.detail);
  reader.integer("version", fetched.version, 0, INT64_MAX);
  reader.text("key", fetched.key);
  return reader.result(std::move(fetched));
}

}  // namespace

Result<FetchedConfig> ask_for_config(const Topology& topology, const Workload& workload,
                                     ConfigSource* source, const Environment& environment,
                                     const RunnableValues& can_run, const AcceptConfig& accept) {
  FetchedConfig fetched;
  const AskingJob job{topology, workload, can_run, accept};
  if (const auto text = environment("HOCKET_CONFIG")) {
    auto config = parse_schedule_config(*text, &fetched.warnings);
    if (!config) return failure(config.error().in("HOCKET_CONFIG"));
    *config = with_declared_defaults(std::move(*config), workload.knobs);
    if (const auto can_start = check_stated(job, *config); !can_start) {
      return failure(can_start.error().in("HOCKET_CONFIG"));
    }
    fetched.config = std::move(*config);
    fetched.source = "trial";
    fetched.detail = "HOCKET_CONFIG";
  } else {
    const auto begin = std::chrono::steady_clock::now();
    bool is_unknown = true;
    if (const auto daemon = daemon_source_from_environment(environment, can_run)) {
      is_unknown = ask_source(job, *daemon, "daemon", fetched);
    } else if (source) {
      is_unknown = ask_source(job, *source, "store", fetched);
    } else {
      fetched.detail = "no store was given";
    }
    const std::int64_t used_ns =
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    if (is_unknown)
      ask_site(job, environment, std::max(kFetchTimeoutNs - used_ns, kFewestSiteNs), fetched);
  }
  fetched.config = with_declared_defaults(std::move(fetched.config), workload.knobs);
  fetched.key = to_string(ConfigKey{fingerprint(topology), fingerprint(workload)});
  // Jobs print these, and a store or a daemon has written them.
  for (std::string* text : {&fetched.source, &fetched.detail, &fetched.search})
    *text = plain_line(*text);
  for (std::string& warning : fetched.warnings) warning = plain_line(warning);
  return fetched;
}

Result<FetchedConfig> fetch_config(const Topology& topology, const Workload& workload,
                                   ConfigSource* source, Collective& collective,
                                   const Environment& environment, const RunnableValues& can_run) {
  if (collective.rank() != 0) {
    const auto message = collective.hear();
    if (!message) return failure(message.error().in("waiting for rank 0's configuration"));
    return from_message(*message);
  }
  auto fetched = ask_for_config(topology, workload, source, environment, can_run);
  HOCKET_TRY(collective.tell(to_message(fetched)));
  return fetched;
}

Result<void> write_report(const RunReport& report, const Environment& environment) {
  const auto path = environment("HOCKET_REPORT");
  if (!path) return {};
  const auto written = replace_file(
      *path, to_json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (!written) return failure(written.error().in("HOCKET_REPORT"));
  return {};
}

IterationLog::IterationLog(const Environment& environment) {
  const auto path = environment("HOCKET_ITERATIONS");
  if (!path) return;
  if (auto file = open_to_write(*path, Writing::at_end)) file_ = std::move(*file);
}

void IterationLog::add(std::int64_t wall_ns) {
  if (file_) (void)write_all(file_, std::to_string(wall_ns) + "\n", "");
}

}  // namespace hocket
