#include "client/link/event_stream_parser.h"

#include <utility>

namespace hocket {

Result<void> EventStreamParser::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    // Skips the second byte of a CR LF, which may arrive in a later call.
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > limit_bytes_) return too_long("a line");
    line_ += part;
    if (end == std::string_view::npos) return {};
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (auto ok = end_line(sink); !ok) return ok;
  }
  return {};
}

Result<void> EventStreamParser::end_line(const Sink& sink) {
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) {
    if (std::exchange(has_data_, false)) sink(event_);
    event_.type = "message";
    event_.data.clear();
  } else {
    const std::size_t colon = line.find(':');
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    // A line with an empty field name is a comment.
    if (auto ok = take_field(line.substr(0, colon), value); !ok) return ok;
  }
  line_.clear();
  return {};
}

Result<void> EventStreamParser::take_field(std::string_view name, std::string_view value) {
  if (name == "event") {
    event_.type = value.empty() ? "message" : value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) event_.id = value;
  } else if (name == "data") {
    if (event_.data.size() + value.size() + 1 > limit_bytes_)
      return too_long("the data of an event");
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  }
  return {};
}

Result<void> EventStreamParser::too_long(std::string_view what) const {
  return failure(ErrorCode::invalid_argument, "event stream: " + std::string(what) +
                                                  " is longer than " +
                                                  std::to_string(limit_bytes_) + " bytes");
}

}  // namespace hocket
