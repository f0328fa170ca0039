#include "cli/views/top/top_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/key_name.h"
#include "core/base/json_members.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kTopDataTextLimitBytes = 400;
/// Number of audit entries searched for the last push.
constexpr int kAuditEntries = 200;

std::string text_of(const nlohmann::json& object, const char* name) {
  return printable(text_member(object, name), kTopDataTextLimitBytes);
}

std::optional<TraceKind> kind_of(const std::string& text) {
  if (text == "compute") return TraceKind::compute;
  if (text == "communication") return TraceKind::communication;
  if (text == "copy") return TraceKind::copy;
  return std::nullopt;
}

/// Returns a number that JSON may have as anything, within what all uses of it can bear.
std::int64_t whole_member(const nlohmann::json& object, const char* name, std::int64_t otherwise) {
  constexpr double kMost = 1e15;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return otherwise;
  return std::llround(std::clamp(found->get<double>(), 0.0, kMost));
}

std::optional<TopPlacement> placement_of(const nlohmann::json& document) {
  const auto values = document.find("values"), config = document.find("config");
  if (values == document.end() || !values->is_object()) return std::nullopt;
  TopPlacement placement;
  for (const auto& [name, value] : kPlacementFields)
    placement.values.*value = whole_member(*values, std::string(name).c_str(), 0);
  if (placement.values.limit_bytes <= 0) return std::nullopt;
  if (config != document.end() && config->is_object()) {
    placement.kept_layers =
        std::min(whole_member(*config, "offload_k", 0), placement.values.layers);
    placement.streams = whole_member(*config, "streams", 1);
  }
  return placement;
}

TopJob job_of(const nlohmann::json& document) {
  TopJob job{.name = text_of(document, "name"),
             .ranks = integer_member(document, "world_size"),
             .step = integer_member(document, "step"),
             .iteration_ns = std::max(number_member(document, "iteration_ns"), 0.0),
             .version = integer_member(document, "version"),
             .last_change = text_of(document, "last_change"),
             .note = text_of(document, "note"),
             .connected = flag_member(document, "connected")};
  if (job.name.empty()) job.name = text_of(document, "job");
  job.placement = placement_of(document);
  const auto activity = document.find("activity");
  if (activity == document.end() || !activity->is_object()) return job;
  if (job.iteration_ns > 0) {
    const double share = number_member(*activity, "exposed_ns") / job.iteration_ns;
    job.exposed_share = std::clamp(share, 0.0, 1.0);
  }
  for (const auto& lane : list_member(*activity, "lanes")) {
    const auto kind = kind_of(text_member(lane, "kind"));
    if (!kind) continue;
    job.lanes.push_back(
        {*kind, integer_member(lane, "lane"), std::clamp(number_member(lane, "busy"), 0.0, 1.0)});
  }
  return job;
}

}  // namespace

std::vector<TopJob> top_jobs_of(const nlohmann::json& answer) {
  std::vector<TopJob> jobs;
  for (const auto& job : list_member(answer, "jobs")) jobs.push_back(job_of(job));
  return jobs;
}

std::optional<TopPush> last_push_of(const nlohmann::json& answer) {
  std::optional<TopPush> newest;
  for (const auto& entry : list_member(answer, "entries")) {
    const auto detail = entry.find("detail");
    if (text_member(entry, "action") != "promote" || detail == entry.end()) continue;
    if (!detail->is_object()) continue;
    newest =
        TopPush{.at_unix_ns = integer_member(entry, "at_ns"),
                .version = integer_member(*detail, "version"),
                .key = printable(short_key(text_member(entry, "subject")), kTopDataTextLimitBytes),
                .who = text_of(entry, "actor"),
                .origin = text_of(*detail, "origin"),
                .stage = text_of(*detail, "stage"),
                .note = text_of(*detail, "note")};
  }
  return newest;
}

Result<TopData> fetch_top(HttpClient& client) {
  const auto jobs = ask_daemon(client, "GET", "/v1/jobs");
  HOCKET_TRY(jobs);
  const auto audit = ask_daemon(client, "GET", "/v1/audit?limit=" + std::to_string(kAuditEntries));
  HOCKET_TRY(audit);
  return TopData{top_jobs_of(*jobs), last_push_of(*audit)};
}

}  // namespace hocket
