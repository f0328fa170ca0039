// The preview of a change of a key's configuration.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "archive/promotions/rollback.h"
#include "core/base/json_reader.h"
#include "core/step/hidden_knob.h"
#include "daemon/api/handlers/call.h"
#include "daemon/api/handlers/key_jobs.h"

namespace hocket {
namespace {

/// A change that somebody thinks of.
struct Intent {
  std::string action, to;
  std::optional<std::int64_t> version;
  std::optional<ScheduleConfig> config;
};

struct Preview {
  std::vector<std::string> says;
  nlohmann::json before = nullptr, after = nullptr;
};

Result<Intent> intent_of(const nlohmann::json& body) {
  Intent intent;
  JsonReader reader(body);
  reader.text("action", intent.action);
  reader.text("to", intent.to, "");
  reader.integer("version", intent.version, 1, std::numeric_limits<std::int64_t>::max());
  reader.object(
      "config", [&](JsonReader& fields) { read_schedule_config(fields, intent.config.emplace()); },
      kOptional);
  HOCKET_TRY(reader.done());
  return intent;
}

std::string count_text(std::size_t count, const char* one, const char* many) {
  return count == 1 ? std::string("1 ") + one : std::to_string(count) + " " + many;
}

/// Says what the jobs that run now get of a pushed version.
std::string push_text(const KeyJobs& jobs) {
  if (jobs.running == 0) {
    return "No job runs with this key: the version is released for jobs that start.";
  }
  if (jobs.can_change > 0) {
    const bool is_only = jobs.can_change == 1;
    std::string text = is_only ? std::string("A running job")
                               : "One of " + std::to_string(jobs.can_change) + " running jobs";
    text += " measures it first against what it runs with now, and keeps it unless it is slower.";
    if (!is_only) text += " If it keeps it, the others get it, and each measures it.";
    if (jobs.running > jobs.can_change) {
      text += " " + count_text(jobs.running - jobs.can_change, "job", "jobs") +
              " cannot change to it while training (" + jobs.reason + ").";
    }
    return text;
  }
  if (jobs.can_start > 0) {
    return "No running job can change to it while it trains (" + jobs.reason +
           "): the version is released for jobs that start.";
  }
  return "No running job could even start with it (" + jobs.reason +
         "): the version is held, and no job gets it.";
}

std::string at_once_text(const KeyJobs& jobs) {
  if (jobs.running == 0) return "No job runs with this key; jobs that start get it.";
  return count_text(jobs.running, "running job takes", "running jobs take") +
         " it at once, without measuring it, and jobs that start get it.";
}

Result<void> preview_push(const RouteCall& call, const ConfigKey& key, const Intent& intent,
                          Preview& preview) {
  if (!intent.config) {
    return failure(ErrorCode::invalid_argument, "field \"config\": a push needs a configuration");
  }
  HOCKET_TRY(check_own_knobs(call.parts.store, key, *intent.config));
  const auto state = call.parts.store.key_state(key.topology, key.workload);
  HOCKET_TRY(state);
  preview.after = to_json(*intent.config);
  for (const HiddenKnob& hidden : hidden_knobs(*intent.config))
    preview.says.push_back("Note: " + hidden.text + ".");
  if (state->frozen) {
    preview.says.emplace_back("The key is frozen: running jobs get nothing until it is unfrozen.");
    return {};
  }
  preview.says.push_back(push_text(jobs_of(call, key, *intent.config)));
  preview.says.emplace_back(
      "If jobs roll it back it is withdrawn, and they return to what they run with now.");
  return {};
}

Result<void> preview_pin(const RouteCall& call, const ConfigKey& key, const Intent& intent,
                         Preview& preview) {
  preview.says.emplace_back(
      "What studies and live tuning find from now on is recorded as held; no job gets it until the "
      "key is unpinned.");
  if (!intent.version) return {};
  const auto rows = call.parts.store.promotions({.key = key});
  HOCKET_TRY(rows);
  const auto wanted = std::ranges::find(*rows, *intent.version, &PromotionRow::id);
  if (wanted == rows->end()) {
    return failure(ErrorCode::not_found,
                   "key " + to_string(key) + " has no version " + std::to_string(*intent.version));
  }
  preview.after = wanted->config;
  if (wanted->config == preview.before) {
    preview.says.emplace_back("It is the current configuration, so no job is changed.");
  } else {
    preview.says.push_back(at_once_text(jobs_of(call, key, {})));
  }
  return {};
}

Result<void> preview_rollback(const RouteCall& call, const ConfigKey& key, const Intent& intent,
                              Preview& preview) {
  const auto target = parse_rollback_target(intent.to);
  if (!target) return failure(target.error().in("field \"to\""));
  const auto plan = plan_rollback(call.parts.store, key, *target);
  HOCKET_TRY(plan);
  preview.after = plan->config;
  for (const std::int64_t version : plan->withdrawn)
    preview.says.push_back("Version " + std::to_string(version) + " is withdrawn.");
  if (plan->is_there) {
    preview.says.emplace_back("Jobs start with their own default already.");
    return {};
  }
  if (plan->config.empty()) {
    preview.says.emplace_back(
        "Jobs that start take their own default, and running jobs go back to the scheduler's.");
  }
  preview.says.push_back(at_once_text(jobs_of(call, key, {})));
  return {};
}

Result<void> say(const RouteCall& call, const ConfigKey& key, const Intent& intent,
                 Preview& preview) {
  if (intent.action == "push") return preview_push(call, key, intent, preview);
  if (intent.action == "pin") return preview_pin(call, key, intent, preview);
  if (intent.action == "rollback") return preview_rollback(call, key, intent, preview);
  if (intent.action == "unpin") {
    preview.says.emplace_back("Studies and live tuning may change the configuration again.");
  } else if (intent.action == "freeze") {
    preview.says.push_back("Nothing is tried any more, and running jobs (" +
                           std::to_string(jobs_of(call, key, {}).running) +
                           ") receive nothing. Jobs that start get the current version.");
  } else if (intent.action == "unfreeze") {
    preview.says.emplace_back("Running jobs are tuned again and receive new versions.");
  } else {
    return failure(ErrorCode::invalid_argument,
                   "field \"action\": expected push, pin, unpin, freeze, unfreeze or rollback");
  }
  return {};
}

Result<ServiceReply> preview_config(const RouteCall& call) {
  const auto key = call.key();
  HOCKET_TRY(key);
  const auto body = call.body();
  HOCKET_TRY(body);
  const auto intent = intent_of(*body);
  HOCKET_TRY(intent);
  HOCKET_TRY(find_key_row(call.parts.store, *key));
  Preview preview;
  const auto current = call.parts.store.current_promotion(key->topology, key->workload);
  HOCKET_TRY(current);
  if (*current) preview.before = (*current)->config;
  HOCKET_TRY(say(call, *key, *intent, preview));
  return json_response(
      {{"says", preview.says}, {"before", preview.before}, {"after", preview.after}});
}

}  // namespace

std::span<const ApiRoute> preview_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"POST", "/v1/configs/{key}/preview", AccessRole::read, preview_config},
  };
  return kRoutes;
}

}  // namespace hocket
