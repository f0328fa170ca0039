#pragma once

// Incremental parser for server-sent events (HTML standard, section 9.2.6). Pure; one thread.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct ServerEvent {
  std::string id;  ///< id of the most recent event that had one
  std::string type = "message";
  std::string data;

  bool operator==(const ServerEvent&) const = default;
};

class EventStreamParser {
 public:
  using Sink = std::function<void(const ServerEvent&)>;

  /// Limits a line, and the data of an event, to `limit_bytes` each.
  explicit EventStreamParser(std::size_t limit_bytes = 1 << 20) : limit_bytes_(limit_bytes) {}

  /// Calls `sink` with every event that `bytes` completes. `bytes` may end anywhere in an event.
  /// Returns an error if a limit is exceeded; the stream cannot be parsed further then.
  Result<void> feed(std::string_view bytes, const Sink& sink);

 private:
  Result<void> end_line(const Sink& sink);
  Result<void> take_field(std::string_view name, std::string_view value);
  Result<void> too_long(std::string_view what) const;

  const std::size_t limit_bytes_;
  std::string line_;
  bool after_cr_ = false, first_line_ = true;
  bool has_data_ = false;
  ServerEvent event_;  ///< event being parsed
};

}  // namespace hocket
