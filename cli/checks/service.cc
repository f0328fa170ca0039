#include "cli/checks/service.h"

#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/inputs/access/daemon_access.h"

namespace hocket {
namespace {

/// Connections that a daemon accepts by default, and other files that it has open.
constexpr std::uint64_t kDaemonFiles = 16'384 + 64;

constexpr const char* kShowUnit =
    "systemctl show --property=LoadState,ActiveState,UnitFileState hocket.service 2>/dev/null";

/// Returns what systemd says of the unit; nothing if it is not what runs this host.
std::optional<std::string> shown_unit() {
  std::error_code error;
  if (!std::filesystem::is_directory("/run/systemd/system", error)) return std::nullopt;
  std::FILE* const pipe = ::popen(kShowUnit, "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 1024> bytes{};
  for (std::size_t count; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) {
    text.append(bytes.data(), count);
  }
  if (::pclose(pipe) != 0) return std::nullopt;
  return text;
}

std::string property(const std::string& shown, const std::string& name) {
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

DoctorCheck check_daemon() {
  DoctorCheck check{.what = "daemon", .found = {}};
  const auto named = process_environment("HOCKET_DAEMON");
  if (!named || named->empty()) {
    check.state = CheckState::note;
    check.found = "HOCKET_DAEMON is not set: jobs take their configuration from the store";
    return check;
  }
  auto access = daemon_access({});
  if (access) {
    HttpClient client(std::move(*access));
    const auto answer = ask_daemon(client, "GET", "/v1/configs");
    if (answer) {
      check.found = *named + " answers";
      return check;
    }
    check.found = answer.error().message;
  } else {
    check.found = access.error().message;
  }
  check.state = CheckState::wrong;
  check.remedy = "start it (hocket serve), or correct HOCKET_DAEMON and the token";
  return check;
}

DoctorCheck check_open_files(std::uint64_t limit) {
  if (limit >= kDaemonFiles) {
    return {.what = "open files",
            .found = limit == RLIM_INFINITY ? "no limit" : "up to " + std::to_string(limit)};
  }
  return {.what = "open files",
          .state = CheckState::note,
          .found = "up to " + std::to_string(limit) + ", and a daemon here as many connections",
          .remedy =
              "for a daemon, raise the hard limit (ulimit -Hn) to " + std::to_string(kDaemonFiles)};
}

DoctorCheck check_unit(const std::optional<std::string>& shown) {
  DoctorCheck check{.what = "systemd unit", .state = CheckState::note, .found = {}};
  if (!shown) {
    check.found = "systemd does not run here";
    return check;
  }
  if (property(*shown, "LoadState") != "loaded") {
    check.state = CheckState::missing;
    check.found = "no hocket.service";
    check.remedy = "for a daemon on this host, install hocket-daemon";
    return check;
  }
  const std::string active = property(*shown, "ActiveState");
  check.found = "hocket.service is " + active + ", " + property(*shown, "UnitFileState");
  if (active == "active") {
    check.state = CheckState::ok;
  } else if (active == "failed") {
    check.state = CheckState::wrong;
    check.remedy = "journalctl -u hocket.service says why";
  } else {
    check.remedy = "systemctl enable --now hocket.socket hocket.service";
  }
  return check;
}

std::vector<DoctorCheck> check_service() {
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return {check_daemon(), check_open_files(is_known ? limit.rlim_max : RLIM_INFINITY),
          check_unit(shown_unit())};
}

}  // namespace hocket
