#include "core/host/shown_ranks.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace hocket {
namespace {

constexpr off_t kMostBoardBytes = 1 << 20;
constexpr std::size_t kMostKernelTextBytes = 16'384;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  const int number_;
};

/// Returns the numbers that are names in a folder of the kernel, ascending; none where it may not
/// be read.
std::vector<std::int64_t> numbers_in(const std::string& folder) {
  std::vector<std::int64_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open) return numbers;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    std::int64_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    if (read.ec == std::errc() && read.ptr == name.data() + name.size()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Returns the beginning of a file of the kernel; empty where it may not be read.
std::string kernel_text(const std::string& path) {
  std::string text(kMostKernelTextBytes, '\0');
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.is_open()) return "";
  const ssize_t size = ::read(file.number(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

/// Returns the number by which a process knows itself, which is another one within a container.
std::optional<std::int64_t> own_number(const std::string& status) {
  const std::size_t line = status.find("\nNSpid:");
  if (line == std::string::npos) return {};
  const std::string_view numbers =
      std::string_view(status).substr(line + 1, status.find('\n', line + 1) - line - 1);
  const std::string_view last = numbers.substr(numbers.find_last_of(" \t") + 1);
  std::int64_t number = 0;
  const auto read = std::from_chars(last.data(), last.data() + last.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

bool is_stopped(const std::string& status) {
  return status.find("\nState:\tT") != std::string::npos ||
         status.find("\nState:\tt") != std::string::npos;
}

/// Opens the file behind a descriptor of another process, if it is a memory file that can never be
/// shorter than it is. Nothing else is opened: that of another file could have effects.
std::unique_ptr<Descriptor> open_memory_file(const std::string& path, struct stat& status) {
  const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct statfs system = {};
  if (!place.is_open() || ::fstat(place.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > kMostBoardBytes || ::fstatfs(place.number(), &system) != 0 ||
      system.f_type != TMPFS_MAGIC) {
    return nullptr;
  }
  const std::string same = "/proc/self/fd/" + std::to_string(place.number());
  auto file = std::make_unique<Descriptor>(::open(same.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file->is_open()) return nullptr;
  const int seals = ::fcntl(file->number(), F_GET_SEALS);
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
  return seals >= 0 && (seals & kSize) == kSize ? std::move(file) : nullptr;
}

Result<RankLanes> read_board(const Descriptor& file, std::size_t size) {
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (mapped == MAP_FAILED)
    return failure(ErrorCode::unavailable, "lanes of a rank: they cannot be mapped");
  auto lanes = read_lane_board({static_cast<const std::byte*>(mapped), size});
  ::munmap(mapped, size);
  return lanes;
}

/// Memory files that were read.
using Seen = std::set<std::pair<dev_t, ino_t>>;

void add_ranks(const std::string& processes, std::int64_t pid, Seen& seen, ShownRanks& shown) {
  const std::string process = processes + "/" + std::to_string(pid);
  const std::string files = process + "/fd";
  std::array<char, 64> target{};
  for (const std::int64_t number : numbers_in(files)) {
    const std::string path = files + "/" + std::to_string(number);
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    if (size < 0 || std::string_view(target.data(), static_cast<std::size_t>(size)) != kBoardLabel)
      continue;
    struct stat status = {};
    const auto file = open_memory_file(path, status);
    if (!file || seen.contains({status.st_dev, status.st_ino})) continue;
    auto lanes = read_board(*file, static_cast<std::size_t>(status.st_size));
    const std::string process_status = kernel_text(process + "/status");
    // A process that a rank has forked has the rank's files, and perhaps outlives it.
    if (lanes && own_number(process_status).value_or(lanes->pid) != lanes->pid) continue;
    seen.insert({status.st_dev, status.st_ino});
    if (!lanes) {
      shown.problems.push_back("process " + std::to_string(pid) + ": " + lanes.error().message);
      continue;
    }
    std::string command = kernel_text(process + "/comm");
    command.resize(std::min(command.size(), command.find('\n')));
    shown.ranks.push_back({.pid = pid,
                           .command = command,
                           .is_stopped = is_stopped(process_status),
                           .lanes = std::move(*lanes)});
  }
}

}  // namespace

ShownRanks shown_ranks(const std::string& processes) {
  ShownRanks shown;
  Seen seen;
  for (const std::int64_t pid : numbers_in(processes)) add_ranks(processes, pid, seen, shown);
  std::ranges::stable_sort(
      shown.ranks, {}, [](const ShownRank& rank) { return std::pair(rank.pid, rank.lanes.rank); });
  return shown;
}

}  // namespace hocket
