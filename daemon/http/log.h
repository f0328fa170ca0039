#pragma once

// The daemon's log on standard error: plain lines, or one JSON object per line. Every value is
// escaped, so that a client cannot forge lines. Writing never waits for who reads the log: what he
// has no room for is lost, and the next line that he gets says how many were. Thread-safe.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/result.h"

namespace hocket {

enum class LogLevel { debug, info, warning, error };

/// Parses "debug", "info", "warning" or "error".
Result<LogLevel> parse_log_level(std::string_view name);

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t> value;
};

struct LogOptions {
  LogLevel level = LogLevel::info;
  bool json = false;
  /// Receives each line without its line break, instead of standard error; for tests.
  std::function<void(std::string_view line)> sink = {};
};

/// Copies write to the same destination.
class Log {
 public:
  /// Writes nothing.
  Log() = default;
  explicit Log(LogOptions options);

  bool writes(LogLevel level) const;

  /// `message` must be a constant text of the program; external text belongs in fields.
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields = {}) const {
    write(level, message, std::span(fields.begin(), fields.size()));
  }
  void write(LogLevel level, std::string_view message, std::span<const LogField> fields) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hocket
