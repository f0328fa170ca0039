#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "archive/profiles/traces/import_job_traces.h"
#include "capi/call_guard.h"
#include "capi/hocket_client.h"
#include "capi/open_client.h"
#include "core/step/schedule_config.h"
#include "store/open.h"

namespace hocket {
namespace {

Error wrong_traces(const std::string& why) {
  return {ErrorCode::invalid_argument, "hocket_client_save_traces: " + why};
}

/// Reads only members of the client that do not change once it is open.
Result<int> save_traces(const hocket_client* client, const char* const* files, std::size_t count,
                        const char* config_json) {
  if (client == nullptr || files == nullptr) return failure(wrong_traces("an argument is NULL"));
  if (client->rank > 0) return failure(wrong_traces("rank 0 saves the traces of all ranks"));
  const std::int64_t ranks = client->run.topology.world_size;
  if (static_cast<std::int64_t>(count) != ranks) {
    return failure(wrong_traces("there are " + std::to_string(count) + " files, one for each of " +
                                std::to_string(ranks) + " ranks is needed"));
  }
  JobTraces job{.paths = {},
                .topology = client->run.topology,
                .workload = client->run.workload,
                .config = {}};
  for (const char* const file : std::span(files, count))
    job.paths.emplace_back(file == nullptr ? "" : file);
  if (config_json != nullptr) {
    auto config = parse_schedule_config(config_json);
    if (!config) return failure(config.error().in("config_json"));
    job.config = std::move(*config);
  }
  const auto path = default_store_path();
  HOCKET_TRY(path);
  auto store = open_store(*path);
  HOCKET_TRY(store);
  HOCKET_TRY(import_job_traces(**store, *path, job));
  return 0;
}

}  // namespace
}  // namespace hocket

int hocket_client_save_traces(const hocket_client* client, const char* const* files,
                              std::size_t count, const char* config_json) {
  return hocket::guarded(-1,
                         [&] { return hocket::save_traces(client, files, count, config_json); });
}
