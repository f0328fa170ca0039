#pragma once

// Reads the JSON trace event format event by event (docs/formats/trace.md): the object form, and
// the bare array of older tools. What is not listed here is skipped, however deep it is.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// What of an event's "args" is known: hocket's own first, then Kineto's.
struct ChromeArguments {
  std::optional<std::int64_t> step, task, bytes, sequence, lane, submitted_ns, ready_ns;
  std::optional<std::int64_t> ranks, dropped, quarantined, clock_ns, realtime_ns;
  std::string collective, host, source;

  std::optional<std::int64_t> stream, device, correlation;
  std::optional<std::int64_t> elements_in, elements_out;
  std::string name, collective_name, element_type, group;
};

struct ChromeEvent {
  std::string phase, name, category, process, thread, id;  ///< numbers as they are spelled
  std::optional<std::int64_t> begin_ns, duration_ns;       ///< none: missing, or no such number
  ChromeArguments arguments;
};

/// What stands beside the events.
struct ChromeHead {
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::int64_t> base_ns;  ///< realtime at which the events' times begin
  std::string host;
  bool is_kineto = false;
  /// The document ends in the middle; the events before that were read.
  bool is_cut_off = false;
};

/// Hands over each event; the reference is good during the call. invalid_argument, with the place,
/// when the text is no JSON.
Result<ChromeHead> read_chrome_events(std::istream& in,
                                      const std::function<void(const ChromeEvent&)>& take);

/// "1234.567" microseconds as nanoseconds, rounded to the nearest; none when it is no decimal
/// number or too large. Exact where a double is not.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

}  // namespace hocket
