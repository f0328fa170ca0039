#pragma once

// The daemon's log on standard error: plain lines, or one JSON object a line. Every value is
// escaped, so that a client cannot write lines of its own. Thread-safe.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/result.h"

namespace hocket {

enum class LogLevel { debug, info, warning, error };

/// The level of a name, "debug", "info", "warning" or "error".
Result<LogLevel> parse_log_level(std::string_view name);

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t> value;
};

struct LogOptions {
  LogLevel level = LogLevel::info;
  bool json = false;
  /// Gets each line without its end, in place of standard error; for tests.
  std::function<void(std::string_view line)> sink = {};
};

/// Copies write to the same place.
class Log {
 public:
  /// Writes nothing.
  Log() = default;
  explicit Log(LogOptions options);

  bool writes(LogLevel level) const;

  /// `message` is the program's own text; what comes from outside is the value of a field.
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields = {}) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hocket
