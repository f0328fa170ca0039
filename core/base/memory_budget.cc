#include "core/base/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace hocket {
namespace {

constexpr std::int64_t kMib = 1 << 20;
/// Assumed to be left where nothing says how much it is.
constexpr std::int64_t kUnknownMemoryBytes = std::int64_t{4} << 30;
/// Always allowed, unless a limit is set.
constexpr std::int64_t kLittleBytes = 8 * kMib;
constexpr const char* kRaise = "; HOCKET_READING_MIB allows more, in MiB";

std::string memory_text(std::int64_t bytes) {
  char text[40];
  const bool is_large = bytes >= 1024 * kMib;
  std::snprintf(text, sizeof text, is_large ? "%.1f GiB" : "%.0f MiB",
                static_cast<double>(bytes) / static_cast<double>(is_large ? 1024 * kMib : kMib));
  return text;
}

std::optional<std::int64_t> leading_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end != text.data();
  return is_number ? std::optional(value) : std::nullopt;
}

/// Returns the number in a file of one line; nothing for "max", or without the file.
std::optional<std::int64_t> number_in_file(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return leading_integer(word);
}

/// Returns the number behind a name in a file of "NAME NUMBER" or "NAME: NUMBER kB".
std::optional<std::int64_t> named_number(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string word;
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

/// Returns what a control group leaves. The kernel drops files that nobody used lately when a group
/// needs memory.
std::optional<std::int64_t> left_in_group(const std::string& folder, const char* limit,
                                          const char* use, const char* unused_files) {
  const auto most = number_in_file(folder + limit), used = number_in_file(folder + use);
  if (!most || !used) return std::nullopt;
  const auto unused = named_number(folder + "/memory.stat", unused_files).value_or(0);
  return std::max<std::int64_t>(0, *most - std::max<std::int64_t>(0, *used - unused));
}

void keep_least(std::optional<std::int64_t>& least, std::optional<std::int64_t> other) {
  if (other) least = std::min(least.value_or(*other), *other);
}

/// Returns the memory that is resident, the first of the kernel's numbers but one.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

MemoryBudget::MemoryBudget(std::optional<std::int64_t> most_bytes, Meter meter)
    : most_bytes_(most_bytes),
      meter_(meter ? std::move(meter) : resident_bytes),
      begin_bytes_(meter_()) {}

std::int64_t MemoryBudget::most_bytes() {
  if (most_bytes_) return *most_bytes_;
  const char* const given = std::getenv(kReadingMemoryVariable);
  const auto mib = leading_integer(given == nullptr ? "" : given);
  most_bytes_ = mib && *mib > 0 && *mib < INT64_MAX / kMib
                    ? *mib * kMib
                    : available_memory_bytes().value_or(kUnknownMemoryBytes) / 2;
  return *most_bytes_;
}

std::optional<std::string> MemoryBudget::problem(std::optional<std::int64_t> packed_bytes) {
  const std::int64_t used = meter_() - begin_bytes_;
  if (!most_bytes_ && used <= kLittleBytes) return std::nullopt;
  if (used > most_bytes()) {
    return "reading it has taken " + memory_text(used) + " of memory, and at most " +
           memory_text(most_bytes()) + " are allowed here" + kRaise;
  }
  if (!packed_bytes || used <= kPackedMemoryBytes || used / kMemoryForPackedByte <= *packed_bytes)
    return std::nullopt;
  return "reading its first " + std::to_string(*packed_bytes) + " packed bytes has taken " +
         memory_text(used) + " of memory, over " + std::to_string(kMemoryForPackedByte) +
         " times as much, which no trace does; unpack it if you trust it, and import its files";
}

std::optional<std::int64_t> available_memory_bytes(const std::string& root) {
  std::optional<std::int64_t> least;
  if (const auto kib = named_number(root + "/proc/meminfo", "MemAvailable:")) least = *kib * 1024;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/a/b" in the second version, "4:memory:/a/b" in the first.
    const auto colon = line.find(':'), second = line.find(':', colon + 1);
    if (second == std::string::npos) continue;
    const std::string kinds = line.substr(colon + 1, second - colon - 1);
    if (!kinds.empty() && kinds != "memory") continue;
    const std::string mount = root + (kinds.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
    // Every group above counts as well; in a container the path may be one of the host.
    for (std::string group = line.substr(second + 1);; group.resize(group.rfind('/'))) {
      if (group == "/") group.clear();
      keep_least(least, kinds.empty()
                            ? left_in_group(mount + group, "/memory.max", "/memory.current",
                                            "inactive_file")
                            : left_in_group(mount + group, "/memory.limit_in_bytes",
                                            "/memory.usage_in_bytes", "total_inactive_file"));
      if (group.empty() || group.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace hocket
