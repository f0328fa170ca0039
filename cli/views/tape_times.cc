#include "cli/views/tape_times.h"

#include <algorithm>

namespace hocket {

void TapeTimes::add(const TapeRecord& record) {
  switch (record.kind) {
    case TapeKind::captured: {
      auto& bytes = collective_bytes_.emplace_back();
      for (const TapeTask& task : record.tasks) bytes.push_back(task.bytes);
      break;
    }
    case TapeKind::launched:
      launches_.push_back({.first_task = record.first_task,
                           .step = record.number,
                           .unfinished = collective_bytes_[record.number].size(),
                           .end_ns = record.time_ns});
      break;
    case TapeKind::finished:
    case TapeKind::finished_part:
    case TapeKind::finished_pull:
      last_finish_ns_ = record.time_ns;
      finish(record.number, record.bytes, record.time_ns);
      break;
    default:
      break;
  }
}

void TapeTimes::finish(std::uint64_t task, std::int64_t part_bytes, std::int64_t time_ns) {
  auto launch = std::ranges::upper_bound(launches_, task, {}, &Launch::first_task);
  if (launch == launches_.begin()) return;
  --launch;
  const auto& bytes = collective_bytes_[launch->step];
  const std::uint64_t index = task - launch->first_task;
  if (index >= bytes.size() || launch->unfinished == 0) return;
  std::int64_t& finished = finished_bytes_[task];
  // Parts with more bytes than their collective are limited here; a replay reports them as an
  // error.
  finished += std::min(part_bytes, bytes[index] - finished);
  if (finished < bytes[index]) return;
  finished_bytes_.erase(task);
  launch->end_ns = time_ns;
  --launch->unfinished;
}

std::vector<std::int64_t> TapeTimes::step_ends_ns() const {
  std::vector<std::int64_t> ends_ns;
  for (const Launch& launch : launches_)
    if (launch.unfinished == 0) ends_ns.push_back(launch.end_ns);
  return ends_ns;
}

}  // namespace hocket
