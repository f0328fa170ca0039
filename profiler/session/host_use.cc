#include "profiler/session/host_use.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/json.h"

namespace hocket {
namespace {

/// Takes the number at the begin of `text`, after blanks. Returns false if there is none.
bool take_number(std::string_view& text, std::int64_t& number) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Returns nothing for a thread that has ended meanwhile.
std::string text_of(const std::filesystem::path& path) {
  return read_file(path).value_or("");
}

double share(std::int64_t part, double whole) {
  return whole > 0 ? std::clamp(static_cast<double>(part) / whole, 0.0, 1.0) : 0;
}

}  // namespace

bool add_schedstat(std::string_view text, HostUse& use) {
  std::int64_t run = 0, wait = 0;
  if (!take_number(text, run) || !take_number(text, wait)) return false;
  return !__builtin_add_overflow(use.run_ns, run, &use.run_ns) &&
         !__builtin_add_overflow(use.wait_ns, wait, &use.wait_ns);
}

bool add_stat(std::string_view text, std::int64_t ticks_per_second, HostUse& use) {
  if (!text.starts_with("cpu ") || ticks_per_second <= 0) return false;
  std::string_view total = text.substr(4, text.find('\n') - 4);
  // user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); guests are within user.
  std::array<std::int64_t, 8> ticks{};
  for (std::int64_t& tick : ticks) {
    if (!take_number(total, tick)) return false;
  }
  const double busy = static_cast<double>(ticks[0]) + static_cast<double>(ticks[1]) +
                      static_cast<double>(ticks[2]) + static_cast<double>(ticks[5]) +
                      static_cast<double>(ticks[6]) + static_cast<double>(ticks[7]);
  use.busy_ns =
      static_cast<std::int64_t>(std::min(busy * 1e9 / static_cast<double>(ticks_per_second), 9e18));
  for (auto at = text.find("\ncpu"); at != text.npos; at = text.find("\ncpu", at + 1))
    ++use.processors;
  return use.processors > 0;
}

std::optional<HostUse> read_host_use() {
  HostUse use;
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/self/task", error);
  bool has_thread = false;
  for (; !error && threads != std::filesystem::directory_iterator(); threads.increment(error))
    has_thread = add_schedstat(text_of(threads->path() / "schedstat"), use) || has_thread;
  if (!has_thread || !add_stat(text_of("/proc/stat"), sysconf(_SC_CLK_TCK), use))
    return std::nullopt;
  use.at_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  return use;
}

std::optional<HostShares> shares_between(const HostUse& before, const HostUse& after) {
  const std::int64_t run = after.run_ns - before.run_ns, wait = after.wait_ns - before.wait_ns;
  const std::int64_t busy = after.busy_ns - before.busy_ns, wall = after.at_ns - before.at_ns;
  if (wall <= 0 || run < 0 || wait < 0 || busy < 0 || run + wait == 0) return std::nullopt;
  return HostShares{
      .waiting = share(wait, static_cast<double>(run) + static_cast<double>(wait)),
      .others = share(std::max<std::int64_t>(busy - run, 0),
                      static_cast<double>(wall) * static_cast<double>(after.processors))};
}

}  // namespace hocket
