#include "daemon/http/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/http/stderr_lines.h"

namespace hocket {
namespace {

constexpr std::array kLevels = {std::pair{LogLevel::debug, std::string_view("debug")},
                                std::pair{LogLevel::info, std::string_view("info")},
                                std::pair{LogLevel::warning, std::string_view("warning")},
                                std::pair{LogLevel::error, std::string_view("error")}};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// Returns a JSON string in pure ASCII: no byte of it can move the cursor or end the line.
std::string quoted(std::string_view text) {
  using Handler = nlohmann::json::error_handler_t;
  return nlohmann::json(text).dump(-1, ' ', true, Handler::replace);
}

bool is_plain(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-_.:/?&,@[]") == std::string_view::npos;
}

std::string value_text(const LogField& field, bool json) {
  if (const auto* number = std::get_if<std::int64_t>(&field.value)) return std::to_string(*number);
  const std::string_view text = std::get<std::string_view>(field.value);
  return !json && is_plain(text) ? std::string(text) : quoted(text);
}

/// Writes lines by a function, which returns whether it could, and counts those that are lost.
class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  using Function = std::function<bool(std::string_view line)>;
  explicit LineSink(Function function) : function_(std::move(function)) {}

  std::int64_t lost = 0;  ///< lines that could not be written

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!function_({line.data(), line.size()})) ++lost;
  }
  void flush_() override {}

 private:
  Function function_;
};

}  // namespace

Result<LogLevel> parse_log_level(std::string_view name) {
  for (const auto& [level, text] : kLevels) {
    if (text == name) return level;
  }
  return failure(ErrorCode::invalid_argument, "there is no log level '" + std::string(name) +
                                                  "'; take debug, info, warning or error");
}

struct Log::State {
  std::shared_ptr<LineSink> sink;
  spdlog::logger logger;
  bool json;
  std::mutex mutex = {};

  State(std::shared_ptr<LineSink> lines, bool as_json)
      : sink(std::move(lines)), logger("hocket", sink), json(as_json) {}

  void write(LogLevel level, std::string_view message, std::span<const LogField> fields) {
    std::string line = json ? R"("message":)" + quoted(message) : std::string(message);
    for (const LogField& field : fields) {
      line += json ? "," + quoted(field.name) + ":" : " " + std::string(field.name) + "=";
      line += value_text(field, json);
    }
    if (json) line += '}';
    logger.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }

  /// Says how many lines were lost, once there is somebody who reads it.
  void tell_lost() {
    const std::int64_t lost = std::exchange(sink->lost, 0);
    if (lost == 0) return;
    const LogField fields[] = {{"lines", lost}};
    write(LogLevel::error, "lines of the log were lost, because nobody read it", fields);
    if (sink->lost > 0) sink->lost = lost;
  }
};

Log::Log(LogOptions options) {
  LineSink::Function function;
  std::string end;
  if (options.sink) {
    function = [sink = std::move(options.sink)](std::string_view line) {
      sink(line);
      return true;
    };
  } else {
    function = [lines = std::make_shared<StderrLines>()](std::string_view line) {
      return lines->write(line);
    };
    end = spdlog::details::os::default_eol;
  }
  auto sink = std::make_shared<LineSink>(std::move(function));
  // In JSON mode the message is the rest of the object, including its end.
  const char* pattern = options.json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v)"
                                     : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
  sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      pattern, spdlog::pattern_time_type::utc, std::move(end)));
  state_ = std::make_shared<State>(std::move(sink), options.json);
  state_->logger.set_level(to_spdlog(options.level));
}

bool Log::writes(LogLevel level) const {
  return state_ && state_->logger.should_log(to_spdlog(level));
}

void Log::write(LogLevel level, std::string_view message, std::span<const LogField> fields) const {
  if (!writes(level)) return;
  const std::scoped_lock lock(state_->mutex);
  state_->tell_lost();
  state_->write(level, message, fields);
}

}  // namespace hocket
