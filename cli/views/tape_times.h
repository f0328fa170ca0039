#pragma once

// Computes when the launched steps of a tape finished. Not thread-safe.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/tape/tape.h"

namespace hocket {

class TapeTimes {
 public:
  /// Adds a record. Requires the records of one tape, in order.
  void add(const TapeRecord& record);

  /// Returns the ends of the launches whose tasks have all finished, in the order of launches.
  std::vector<std::int64_t> step_ends_ns() const;
  /// Returns the last time at which a task or part finished; 0 if none did.
  std::int64_t last_finish_ns() const { return last_finish_ns_; }

 private:
  struct Launch {
    std::uint64_t first_task = 0;
    std::uint64_t step = 0;
    std::uint64_t unfinished = 0;
    std::int64_t end_ns = 0;
  };

  void finish(std::uint64_t task, std::int64_t part_bytes, std::int64_t time_ns);

  // By captured step and task.
  std::vector<std::vector<std::int64_t>> collective_bytes_;
  std::vector<Launch> launches_;
  // Finished bytes of unfinished collectives.
  std::unordered_map<std::uint64_t, std::int64_t> finished_bytes_;
  std::int64_t last_finish_ns_ = 0;
};

}  // namespace hocket
