#pragma once

// Where the processes of one job find each other: texts under names, which a process leaves and
// others read, such as the addresses at which it listens. In memory, bounded, and forgotten after
// kMeetingLifeNs. Thread-safe.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace hocket {

inline constexpr std::int64_t kMeetingLifeNs = 3'600'000'000'000;
inline constexpr std::size_t kMostMeetings = 4096;
inline constexpr std::size_t kMaxMeetingBytes = 2048;

class MeetingBoard {
 public:
  /// Sets the text of a name: 1 to 100 letters, digits, "-", "_", ".". Returns invalid_argument for
  /// another name or a longer text, unavailable if there are too many.
  Result<void> put(const std::string& name, std::string text, std::int64_t now_ns);
  /// Returns nothing for a name without a text.
  std::optional<std::string> find(const std::string& name, std::int64_t now_ns);

 private:
  struct Meeting {
    std::string text;
    std::int64_t put_ns = 0;
  };
  void forget_old(std::int64_t now_ns);

  std::mutex mutex_;
  std::map<std::string, Meeting> meetings_;  // guarded by mutex_
};

}  // namespace hocket
