#include "cli/inputs/access/daemon_access.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

constexpr std::int64_t kTimeoutNs = 10'000'000'000;
constexpr std::int64_t kHealthTimeoutNs = 2'000'000'000;

Result<nlohmann::json> ask_until(HttpClient& client, const HttpRequest& request,
                                 std::int64_t timeout_ns) {
  const auto response = client.send(request, deadline_after_ns(timeout_ns));
  HOCKET_TRY(response);
  auto answer = read_answer(*response);
  if (!answer) return failure(answer.error().in(client.name()));
  return answer;
}

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
  if (!options.address.empty()) {
    const auto address = parse_daemon_address(options.address);
    if (!address) return failure(address.error().in("--daemon"));
  }
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
  return ask_until(client,
                   {.method = method, .target = target, .body = body.is_null() ? "" : body.dump()},
                   kTimeoutNs);
}

bool answers(HttpClient& client) {
  return ask_until(client, {.method = "GET", .target = "/healthz"}, kHealthTimeoutNs).has_value();
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

}  // namespace hocket
