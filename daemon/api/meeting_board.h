#pragma once

// Where the processes of one job find each other: texts under names, which a process leaves and
// others read, such as the addresses at which it listens, with a secret. The names of each owner,
// who is the name of a token, are its own: nobody reads, replaces or takes the place of what
// another has left. In memory, bounded for each owner, and forgotten after kMeetingLifeNs unless it
// is left again. Thread-safe.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace hocket {

/// Processes that meet start together, and look again until they have met.
inline constexpr std::int64_t kMeetingLifeNs = 90'000'000'000;
/// Meetings of one owner.
inline constexpr std::size_t kMostMeetings = 1024;
inline constexpr std::size_t kMaxMeetingBytes = 2048;

class MeetingBoard {
 public:
  /// Sets the text of a name of `owner`: 1 to 100 letters, digits, "-", "_", ".". Returns
  /// invalid_argument for another name or a longer text, unavailable if the owner has too many.
  Result<void> put(const std::string& owner, const std::string& name, std::string text,
                   std::int64_t now_ns);
  /// Returns nothing for a name under which `owner` has no text.
  std::optional<std::string> find(const std::string& owner, const std::string& name,
                                  std::int64_t now_ns);

 private:
  struct Meeting {
    std::string text;
    std::int64_t put_ns = 0;
  };
  using Meetings = std::map<std::string, Meeting>;  // by name
  void forget_old(std::int64_t now_ns);

  std::mutex mutex_;
  std::map<std::string, Meetings> meetings_;  // by owner; guarded by mutex_
};

}  // namespace hocket
