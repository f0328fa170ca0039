#pragma once

// Finds the ranks on this machine that show what their lanes run (core/trace/lane_board.h): those
// of all processes whose open files the caller may see, thus the user's own, or all for root. Takes
// nothing from a rank but bytes, and never waits for one. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/lane_board.h"

namespace hocket {

struct ShownRank {
  std::int64_t pid = 0;      ///< as the caller knows the process
  std::string command = {};  ///< the name of its program, as that has it
  bool is_stopped = false;   ///< by a signal or a debugger
  RankLanes lanes = {};
};

struct ShownRanks {
  /// By process, then by rank: one process may have several.
  std::vector<ShownRank> ranks = {};
  /// Why lanes of processes could not be read, such as those of another version.
  std::vector<std::string> problems = {};
};

/// Looks through the processes in `processes`, which is /proc but in tests.
ShownRanks shown_ranks(const std::string& processes = "/proc");

}  // namespace hocket
