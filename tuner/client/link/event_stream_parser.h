#pragma once

// Reads server-sent events (HTML standard, section 9.2.6) from pieces of any size. Pure; one
// thread.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct ServerEvent {
  std::string id;  ///< of the last event that had one
  std::string type = "message";
  std::string data;

  bool operator==(const ServerEvent&) const = default;
};

class EventStreamParser {
 public:
  using Sink = std::function<void(const ServerEvent&)>;

  /// A line, and the data of an event, may be `limit_bytes` long.
  explicit EventStreamParser(std::size_t limit_bytes = 1 << 20) : limit_bytes_(limit_bytes) {}

  /// Gives `sink` every event that `bytes` completes. An error when something is too long: the
  /// stream cannot be read any further then.
  Result<void> feed(std::string_view bytes, const Sink& sink);

 private:
  Result<void> end_line(const Sink& sink);
  Result<void> take_field(std::string_view name, std::string_view value);
  Result<void> too_long(std::string_view what) const;

  const std::size_t limit_bytes_;
  std::string line_;
  bool after_cr_ = false, first_line_ = true;
  bool has_data_ = false;
  ServerEvent event_;  ///< being read
};

}  // namespace hocket
