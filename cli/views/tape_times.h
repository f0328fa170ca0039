#pragma once

// When the launched steps of a tape were finished. Not thread-safe.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/tape/tape.h"

namespace hocket {

class TapeTimes {
 public:
  /// The records of one tape, in order.
  void add(const TapeRecord& record);

  /// The ends of launches all of whose tasks are finished, in the order of launches.
  std::vector<std::int64_t> step_ends_ns() const;
  /// When a task or part was finished last, 0 when none was.
  std::int64_t last_finish_ns() const { return last_finish_ns_; }

 private:
  struct Launch {
    std::uint64_t first_task = 0;
    std::uint64_t step = 0;
    std::uint64_t unfinished = 0;
    std::int64_t end_ns = 0;
  };

  void finish(std::uint64_t task, std::int64_t part_bytes, std::int64_t time_ns);

  std::vector<std::vector<std::int64_t>> collective_bytes_;  // of each captured step's tasks
  std::vector<Launch> launches_;
  std::unordered_map<std::uint64_t, std::int64_t> finished_bytes_;  // of unfinished collectives
  std::int64_t last_finish_ns_ = 0;
};

}  // namespace hocket
