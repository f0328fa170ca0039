#include "archive/studies/owner.h"

#include <pwd.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "core/base/json.h"

namespace hocket {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

/// Reads fields 3 and 22 of /proc/PID/stat (proc(5)); field 2, in parentheses, may contain
/// anything.
std::optional<std::string> live_start_time(const std::string& pid) {
  // A process may end while its file is read.
  const std::string text = read_file("/proc/" + pid + "/stat").value_or("");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  constexpr std::size_t kState = 0, kStartTime = 19;
  if (fields.size() <= kStartTime) return std::nullopt;
  // A zombie counts as ended; its parent has not waited for it yet.
  if (fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  return fields[kStartTime];
}

struct OwnerParts {
  std::string_view pid, host, boot, start;
};

/// Returns the parts of "PID@HOST BOOT/START".
std::optional<OwnerParts> owner_parts(std::string_view owner) {
  const auto at = owner.find('@'), space = owner.rfind(' '), slash = owner.rfind('/');
  if (at == std::string_view::npos || space == std::string_view::npos ||
      slash == std::string_view::npos || at > space || space > slash) {
    return std::nullopt;
  }
  return OwnerParts{owner.substr(0, at), owner.substr(at + 1, space - at - 1),
                    owner.substr(space + 1, slash - space - 1), owner.substr(slash + 1)};
}

}  // namespace

HostView this_host() {
  return {host_name(), boot_id(), live_start_time};
}

std::string owner_text() {
  const auto pid = std::to_string(getpid());
  const HostView host = this_host();
  return pid + "@" + host.name + " " + host.boot_id + "/" + host.start_time(pid).value_or("");
}

std::string actor_text() {
  const passwd* entry = getpwuid(geteuid());
  const std::string user = entry == nullptr ? std::to_string(geteuid()) : entry->pw_name;
  return user + "@" + host_name();
}

OwnerState owner_state(std::string_view owner, const HostView& host) {
  const auto parts = owner_parts(owner);
  if (!parts || parts->host != host.name) return OwnerState::unknown;
  if (parts->boot != host.boot_id) return OwnerState::gone;
  const std::string pid(parts->pid);
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) {
    return OwnerState::unknown;
  }
  const auto start = host.start_time(pid);
  return start && *start == parts->start ? OwnerState::alive : OwnerState::gone;
}

std::string_view owner_host(std::string_view owner) {
  const auto parts = owner_parts(owner);
  return parts ? parts->host : std::string_view();
}

}  // namespace hocket
