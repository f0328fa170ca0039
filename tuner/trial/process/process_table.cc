#include "tuner/trial/process/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>

#include "core/base/text.h"
#include "core/files/descriptor.h"

namespace hocket {
namespace {

/// Places of the parent and of the resident pages among the fields behind the name.
constexpr int kParentField = 1, kResidentField = 21;

using Buffer = std::array<char, 4096>;

/// Returns the first 4 KiB of /proc/PID/NAME; empty if the process is gone or may not be read.
std::string_view read_proc_file(const char* pid, const char* name, Buffer& buffer) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%.20s/%.20s", pid, name);
  const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t length = file ? ::read(file.get(), buffer.data(), buffer.size()) : 0;
  return {buffer.data(), static_cast<std::size_t>(length > 0 ? length : 0)};
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

class ProcFolder final : public ProcessTable {
 public:
  std::vector<ProcessEntry> processes() const override {
    std::vector<ProcessEntry> entries;
    const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc"));
    if (!folder) return entries;
    const std::int64_t page_bytes = sysconf(_SC_PAGESIZE);
    Buffer buffer;
    while (const dirent* entry = readdir(folder.get())) {
      if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
      const auto text = read_proc_file(entry->d_name, "stat", buffer);
      if (const auto parsed = parse_process_stat(text, page_bytes)) entries.push_back(*parsed);
    }
    return entries;
  }

  std::optional<std::int64_t> proportional_bytes(pid_t pid) const override {
    Buffer buffer;
    return parse_proportional_bytes(
        read_proc_file(std::to_string(pid).c_str(), "smaps_rollup", buffer));
  }
};

/// Returns nothing if the product is not within 64 bits.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

}  // namespace

const ProcessTable& host_processes() {
  static const ProcFolder table;
  return table;
}

std::optional<ProcessEntry> parse_process_stat(std::string_view text, std::int64_t page_bytes) {
  const auto pid = whole_number(text.substr(0, text.find(' ')));
  const auto name_end = text.rfind(')');
  if (!pid || name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  std::optional<std::int64_t> parent, pages;
  for (int field = 0; field <= kResidentField; ++field) {
    text = trimmed(text);
    const auto word = text.substr(0, text.find(' '));
    if (field == kParentField) parent = whole_number(word);
    if (field == kResidentField) pages = whole_number(word);
    text.remove_prefix(word.size());
  }
  if (!parent || !pages) return std::nullopt;
  const auto bytes = product(*pages, page_bytes);
  if (!bytes) return std::nullopt;
  return ProcessEntry{static_cast<pid_t>(*pid), static_cast<pid_t>(*parent), *bytes};
}

std::optional<std::int64_t> parse_proportional_bytes(std::string_view text) {
  constexpr std::string_view kName = "Pss:";
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (line.starts_with(kName)) {
      const auto value = trimmed(line.substr(kName.size()));
      const auto kib = whole_number(value.substr(0, value.find(' ')));
      if (!kib) return std::nullopt;
      return product(*kib, 1024);
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace hocket
