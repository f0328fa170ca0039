#include "tuner/trial/process/tree_memory.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace hocket {

std::vector<ProcessEntry> descendants_of(std::span<const ProcessEntry> processes, pid_t root) {
  std::unordered_multimap<pid_t, const ProcessEntry*> children;
  for (const ProcessEntry& process : processes) {
    if (process.pid != root) children.emplace(process.parent, &process);
  }
  std::vector<ProcessEntry> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = first; child != last; ++child) {
      found.push_back(*child->second);
      open.push_back(child->second->pid);
    }
    // Each process is visited once, even if a reused process id makes a circle.
    children.erase(first, last);
  }
  return found;
}

bool TreeMemory::must_read(std::int64_t resident_bytes, std::int64_t now_ns) const {
  if (resident_bytes <= peak_bytes_) return false;
  if (limit_bytes_ && resident_bytes > *limit_bytes_) return true;
  const std::int64_t grown = read_resident_bytes_ + read_resident_bytes_ / 64;
  return resident_bytes > grown || !read_ns_ || now_ns - *read_ns_ >= kRereadNs;
}

void TreeMemory::sample(std::int64_t now_ns) {
  const auto tree = descendants_of(table_.processes(), root_);
  std::int64_t resident_bytes = 0;
  for (const ProcessEntry& process : tree) resident_bytes += process.resident_bytes;
  if (!must_read(resident_bytes, now_ns)) return;
  std::int64_t sum_bytes = 0;
  for (const ProcessEntry& process : tree) {
    if (process.resident_bytes == 0) continue;
    sum_bytes += table_.proportional_bytes(process.pid).value_or(process.resident_bytes);
  }
  peak_bytes_ = std::max(peak_bytes_, sum_bytes);
  read_resident_bytes_ = resident_bytes;
  read_ns_ = now_ns;
}

}  // namespace hocket
