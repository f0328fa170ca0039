#pragma once

// A table of processes in memory. The test changes it; one thread at a time.

#include <map>
#include <set>

#include "tuner/trial/process/process_table.h"

namespace hocket {

class ModelProcesses final : public ProcessTable {
 public:
  struct Process {
    pid_t parent = 0;
    std::int64_t resident_bytes = 0, proportional_bytes = 0;
  };

  std::vector<ProcessEntry> processes() const override {
    std::vector<ProcessEntry> entries;
    if (cannot_list) return entries;
    for (const auto& [pid, process] : running)
      entries.push_back({pid, process.parent, process.resident_bytes});
    return entries;
  }

  std::optional<std::int64_t> proportional_bytes(pid_t pid) const override {
    ++readings;
    if (hidden.contains(pid)) return std::nullopt;
    const auto found = running.find(pid);
    if (found == running.end()) return std::nullopt;
    return found->second.proportional_bytes;
  }

  std::map<pid_t, Process> running;
  std::set<pid_t> hidden;    ///< their proportional sizes cannot be read
  bool cannot_list = false;  ///< faulty: no process can be seen
  mutable int readings = 0;  ///< calls of proportional_bytes()
};

}  // namespace hocket
