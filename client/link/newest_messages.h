#pragma once

// Keeps the newest message of each type until it is taken. A request for a profile is returned
// once, although it arrives again after each reconnect. Not thread-safe.

#include <cstdint>
#include <optional>
#include <utility>

#include "core/protocol/job_message.h"

namespace hocket {

class NewestMessages {
 public:
  void put(DaemonMessage message) {
    if (std::holds_alternative<ConfigMessage>(message)) {
      config_ = std::move(message);
    } else if (std::holds_alternative<CandidateMessage>(message)) {
      candidate_ = std::move(message);
    } else if (const auto request = std::get<ProfileMessage>(message).request;
               request > last_request_) {
      last_request_ = request;
      profile_ = std::move(message);
    }
  }

  /// Returns the next message and removes it: first a configuration, then a request for a profile,
  /// then a candidate.
  std::optional<DaemonMessage> take() {
    auto& first = config_ ? config_ : profile_ ? profile_ : candidate_;
    return std::exchange(first, std::nullopt);
  }

 private:
  std::optional<DaemonMessage> config_, profile_, candidate_;
  std::int64_t last_request_ = 0;
};

}  // namespace hocket
