#include "core/hardware/host_hardware.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/json.h"

namespace hocket {
namespace {

/// The kernel's files are shorter; a host of 8192 processors has 12 MiB of /proc/cpuinfo.
constexpr std::int64_t kMostBytes = 32 << 20;
/// Above the number of processors of any host.
constexpr int kMostProcessors = 1 << 20;
constexpr double kGiB = 1 << 30;

/// A processor of /proc/cpuinfo. Empty texts: the kernel does not say.
struct Processor {
  std::string model, package, core;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Calls `visit` for each part of `text` between separators.
template <class Visit>
void for_each_part(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Returns the number, or nothing for any other text and for numbers of no processor.
std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number >= kMostProcessors) return std::nullopt;
  return number;
}

/// Returns the processors of /proc/cpuinfo by their numbers. A line is "FIELD : VALUE", and a line
/// "processor : NUMBER" begins a processor.
std::map<int, Processor> processors_in(std::string_view text) {
  std::map<int, Processor> found;
  Processor* current = nullptr;
  for_each_part(text, '\n', [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view field = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (field == "processor") {
      const auto number = number_of(value);
      current = number ? &found[*number] : nullptr;
    }
    if (current == nullptr) return;
    if (field == "model name") current->model = value;
    if (field == "physical id") current->package = value;
    if (field == "core id") current->core = value;
  });
  return found;
}

/// Returns the numbers of a list such as "0-3,8".
std::set<int> numbers_in(std::string_view list) {
  std::set<int> numbers;
  for_each_part(list, ',', [&](std::string_view part) {
    part = trimmed(part.substr(0, part.find('\n')));
    const std::size_t dash = part.find('-');
    const auto first = number_of(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1));
    if (!first || !last) return;
    for (int number = *first; number <= *last; ++number) numbers.insert(number);
  });
  return numbers;
}

/// Returns the first list of processors that a control group or one above it has: the groups below
/// it inherit the list where they have none.
std::string list_of_group(const KernelFiles& files, const std::string& mount, std::string group,
                          const char* name) {
  while (true) {
    if (group == "/") group.clear();
    std::string list = files.text(mount + group + "/" + name);
    if (!trimmed(list).empty() || group.empty()) return list;
    group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

/// Returns the list of processors that this process's control group may use; "" if there is none. A
/// line of /proc/self/cgroup is "NUMBER:CONTROLLERS:GROUP", without controllers for version 2.
std::string allowed_list(const KernelFiles& files) {
  std::string of_first, of_second;
  for_each_part(files.text("/proc/self/cgroup"), '\n', [&](std::string_view line) {
    const std::size_t begin = line.find(':');
    const std::size_t end = begin == std::string_view::npos ? begin : line.find(':', begin + 1);
    if (end == std::string_view::npos) return;
    const std::string_view controllers = line.substr(begin + 1, end - begin - 1);
    const std::string group(line.substr(end + 1));
    if (controllers.empty())
      of_second = list_of_group(files, "/sys/fs/cgroup", group, "cpuset.cpus.effective");
    for_each_part(controllers, ',', [&](std::string_view controller) {
      if (controller == "cpuset")
        of_first = list_of_group(files, "/sys/fs/cgroup/cpuset", group, "cpuset.cpus");
    });
  });
  return of_first.empty() ? of_second : of_first;
}

int nodes_of(const std::set<int>& allowed, const KernelFiles& files) {
  const std::string folder = "/sys/devices/system/node";
  int nodes = 0;
  for (const std::string& name : files.names(folder)) {
    if (!name.starts_with("node") || !number_of(name.substr(4))) continue;
    const auto processors = numbers_in(files.text(folder + "/" + name + "/cpulist"));
    nodes += std::ranges::any_of(processors, [&](int each) { return allowed.contains(each); });
  }
  return std::max(nodes, 1);
}

}  // namespace

KernelFiles kernel_files() {
  KernelFiles files;
  files.text = [](const std::string& path) { return read_file(path, kMostBytes).value_or(""); };
  files.names = [](const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator at(path, error), end; !error && at != end;
         at.increment(error))
      names.push_back(at->path().filename().string());
    return names;
  };
  files.memory_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  files.processors = static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L));
  return files;
}

Topology read_hardware(const KernelFiles& files) {
  std::map<int, Processor> processors = processors_in(files.text("/proc/cpuinfo"));
  const std::set<int> listed = numbers_in(allowed_list(files));
  const auto is_allowed = [&](const auto& each) { return listed.contains(each.first); };
  if (std::ranges::any_of(processors, is_allowed))
    std::erase_if(processors, [&](const auto& each) { return !is_allowed(each); });

  std::set<int> allowed;
  std::set<std::string> packages;
  std::set<std::pair<std::string, std::string>> cores;
  for (const auto& [number, processor] : processors) {
    allowed.insert(number);
    packages.insert(processor.package);
    if (!processor.core.empty()) cores.emplace(processor.package, processor.core);
  }
  Topology topology;
  if (!processors.empty()) topology.cpu_model = processors.begin()->second.model;
  if (topology.cpu_model.empty()) topology.cpu_model = "unknown CPU";
  topology.sockets = std::max(static_cast<int>(packages.size()), 1);
  topology.numa_nodes = nodes_of(allowed, files);
  topology.hardware_threads =
      processors.empty() ? files.processors : static_cast<int>(processors.size());
  topology.cores = cores.empty() ? topology.hardware_threads : static_cast<int>(cores.size());
  topology.memory_gib =
      static_cast<std::int64_t>(static_cast<double>(files.memory_bytes) / kGiB + 0.5);
  return topology;
}

}  // namespace hocket
