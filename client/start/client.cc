#include "client/start/client.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/start/daemon_config_source.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/base/plain_text.h"
#include "core/files/regular_file.h"
#include "core/protocol/config_key.h"
#include "core/step/declared_knob.h"

namespace hocket {
namespace {

constexpr std::int64_t kFetchTimeoutNs = 2'000'000'000;

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

/// Returns the answer of `source`, or the default. `name` is the name of the source in messages.
FetchedConfig ask_source(const AskingJob& job, ConfigSource& source, const std::string& name) {
  FetchedConfig fetched;
  const auto stored = source.find(job.topology, job.workload, kFetchTimeoutNs);
  if (!stored)
    return defaulted(fetched, "the " + name + " could not be asked: " + stored.error().message);
  if (!*stored) {
    fetched.detail = "the " + name + " has nothing for this topology and workload";
    return fetched;
  }
  const StoredConfig& found = **stored;
  fetched.search = found.search;
  const ScheduleConfig config = with_declared_defaults(found.config, job.workload.knobs);
  fetched.warnings = found.warnings;
  if (const auto valid = validate(config); !valid)
    return defaulted(fetched, "the stored configuration is not valid: " + valid.error().message);
  // A daemon of an older version does not know what the job can run.
  if (const auto can_start = check_stated(job, config); !can_start) {
    return defaulted(fetched, "the stored configuration is not used: " + can_start.error().message);
  }
  fetched.config = config;
  fetched.source = found.source;
  fetched.detail = found.origin;
  fetched.version = found.version;
  return fetched;
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
  } else if (const auto daemon = daemon_source_from_environment(environment, can_run)) {
    fetched = ask_source(job, *daemon, "daemon");
  } else if (source) {
    fetched = ask_source(job, *source, "store");
  } else {
    fetched.detail = "no store was given";
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
