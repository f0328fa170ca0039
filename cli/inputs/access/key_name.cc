#include "cli/inputs/access/key_name.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/inputs/access/daemon_access.h"
#include "core/base/json_members.h"
#include "core/base/text.h"
#include "core/protocol/config_key.h"

namespace hocket {
namespace {

constexpr std::size_t kWorkloadLimitBytes = 60;

}  // namespace

std::string short_key(const std::string& key) {
  if (!parse_config_key(key)) return key;
  const auto dot = key.find('.');
  return key.substr(0, 8) + "." + key.substr(dot + 1, 8);
}

Result<std::string> find_key(HttpClient& client, const std::string& selector) {
  if (parse_config_key(selector)) return selector;
  std::map<std::string, KeyWorkload> workloads;  // indexed by key
  for (const char* list : {"configs", "jobs"}) {
    const auto answer = ask_daemon(client, "GET", std::string("/v1/") + list);
    HOCKET_TRY(answer);
    for (const auto& item : list_member(*answer, list)) {
      KeyWorkload& workload = workloads[text_member(item, "key")];
      workload.name = text_member(item, "workload");
      if (item.contains("program")) workload.program = text_member(item, "program");
    }
  }
  return choose_key(workloads, selector, "the daemon");
}

Result<std::string> choose_key(const std::map<std::string, KeyWorkload>& workloads,
                               const std::string& selector, const std::string& who) {
  std::vector<std::string> found;
  std::string known;
  for (const auto& [key, workload] : workloads) {
    const std::string& text = workload.program.empty() ? workload.name : workload.program;
    known += "\n  " + short_key(key) + "  " + printable(text, kWorkloadLimitBytes);
    const bool is_short = short_key(key) == selector;
    if (!selector.empty() && (key.starts_with(selector) || is_short || workload.name == selector ||
                              workload.program == selector)) {
      found.push_back(key);
    }
  }
  if (found.size() == 1) return found.front();
  const std::string all = known.empty() ? "; " + who + " knows none yet" : "; there are" + known;
  return failure(
      found.empty() ? ErrorCode::not_found : ErrorCode::invalid_argument,
      (found.empty() ? "no key is named \"" : "several keys are named \"") + selector + "\"" + all);
}

std::string key_name(HttpClient& client, const std::string& key) {
  // The name is for people alone; without it the key serves.
  const auto answer = ask_daemon(client, "GET", "/v1/configs");
  if (answer) {
    for (const auto& item : list_member(*answer, "configs")) {
      const auto workload = text_member(item, "workload");
      if (text_member(item, "key") != key || workload.empty()) continue;
      return printable(workload, kWorkloadLimitBytes) + " (" + short_key(key) + ")";
    }
  }
  return short_key(key);
}

}  // namespace hocket
