#include "cli/inputs/access/daemon_access.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/protocol/config_key.h"

namespace hocket {
namespace {

constexpr std::int64_t kTimeoutNs = 10'000'000'000;
constexpr std::size_t kDaemonAccessNameLimitBytes = 60;

}  // namespace

void add_daemon_option(CLI::App& verb, DaemonChoice& options) {
  verb.add_option(
      "--daemon", options.address,
      std::string("its address (default: $HOCKET_DAEMON, else ") + kDefaultDaemon + ")");
  add_plain_token_option(verb, options);
}

void add_plain_token_option(CLI::App& verb, DaemonChoice& options) {
  verb.add_flag("--allow-plain-token", options.allow_plain_token,
                "send the token over http to another host (default: $HOCKET_ALLOW_PLAIN_TOKEN)");
}

bool asks_daemon(const DaemonChoice& daemon, const std::string& store_option) {
  if (!daemon.address.empty()) return true;
  return store_option.empty() && !process_environment("HOCKET_DAEMON").value_or("").empty();
}

Result<DaemonAccess> daemon_access(const DaemonChoice& options) {
  const auto environment = [&](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "HOCKET_ALLOW_PLAIN_TOKEN" && options.allow_plain_token)
      return "1";
    auto value = process_environment(name);
    if (std::string_view(name) != "HOCKET_DAEMON") return value;
    if (!options.address.empty()) return options.address;
    return value && !value->empty() ? value : kDefaultDaemon;
  };
  return daemon_from_environment(environment);
}

Result<nlohmann::json> ask_daemon(HttpClient& client, const std::string& method,
                                  const std::string& target) {
  return ask_daemon(client, method, target, nullptr);
}

Result<nlohmann::json> ask_daemon(HttpClient& client, const std::string& method,
                                  const std::string& target, const nlohmann::json& body) {
  const auto response =
      client.send({.method = method, .target = target, .body = body.is_null() ? "" : body.dump()},
                  deadline_after_ns(kTimeoutNs));
  HOCKET_TRY(response);
  auto answer = read_answer(*response);
  if (!answer) return failure(answer.error().in(client.name()));
  return answer;
}

std::string url_encoded(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

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
    known += "\n  " + short_key(key) + "  " + printable(text, kDaemonAccessNameLimitBytes);
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
      return printable(workload, kDaemonAccessNameLimitBytes) + " (" + short_key(key) + ")";
    }
  }
  return short_key(key);
}

std::string text_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t integer_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

double number_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

bool flag_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::vector<nlohmann::json> list_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return {};
  std::vector<nlohmann::json> items;
  for (const auto& item : *found) {
    if (item.is_object()) items.push_back(item);
  }
  return items;
}

}  // namespace hocket
