#include "tests/plugins/nccl/host/model/task_order.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace hocket::nccl_host {
namespace {

bool has_parts(int function) {
  return function == kAllGather || function == kReduceScatter;
}

std::uint64_t traffic_bytes(const Task& task, int ranks) {
  const int factor = task.function == kAllReduce ? 2 : has_parts(task.function) ? ranks : 1;
  return task.count * task.datatype.bytes * factor;
}

/// Returns the number of the bin into which NCCL sorts: 0 to 3 KiB have one each, then each power
/// of two has four, up to 1 GiB.
int size_bin(std::uint64_t bytes) {
  const std::uint64_t kib = std::min<std::uint64_t>(bytes, 1 << 30) >> 10;
  const int power = std::bit_width(kib | 1) - 1;
  if (power < 2) return static_cast<int>(kib & 3);
  return (power - 1) * 4 + static_cast<int>(kib >> (power - 2) & 3);
}

}  // namespace

Task task_of(const Step& step, int ranks) {
  Task task{.function = step.function, .datatype = step.datatype};
  const std::uint64_t own_bytes = step.bytes / (has_parts(step.function) ? ranks : 1);
  if (step.function == kAllGather || step.function == kBroadcast) {
    task.datatype = {.name = "ncclInt8", .bytes = 1};
  }
  task.count = own_bytes / step.datatype.bytes * step.datatype.bytes / task.datatype.bytes;
  return task;
}

std::vector<Aggregate> aggregates(const std::vector<Task>& tasks, int ranks) {
  std::vector<Task> ascending = tasks;
  std::stable_sort(ascending.begin(), ascending.end(), [&](const Task& a, const Task& b) {
    return size_bin(traffic_bytes(a, ranks)) < size_bin(traffic_bytes(b, ranks));
  });

  // In descending order, a group comes where its largest task does.
  std::vector<std::vector<Task>> groups;
  for (auto task = ascending.rbegin(); task != ascending.rend(); ++task) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& other) {
      return other[0].function == task->function &&
             std::string_view(other[0].datatype.name) == task->datatype.name;
    });
    if (group != groups.end()) {
      group->push_back(*task);
    } else {
      groups.push_back({*task});
    }
  }

  std::vector<Aggregate> result;
  for (const auto& group : groups) {
    std::uint64_t limit = 0;
    for (auto task = group.rbegin(); task != group.rend(); ++task) {
      const std::uint64_t traffic = traffic_bytes(*task, ranks);
      if (task == group.rbegin() || traffic >= limit) {
        result.emplace_back();
        limit = 4 * traffic;
      }
      result.back().tasks.push_back(*task);
      result.back().bytes +=
          task->count * task->datatype.bytes * (has_parts(task->function) ? ranks : 1);
    }
  }
  return result;
}

}  // namespace hocket::nccl_host
