#pragma once

// Reads the JSON trace event format event by event (docs/formats/trace.md): the object form, and
// the bare array of older tools. Skips everything not listed here, at any depth. Pure, except for
// reading the stream.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// The known fields of an event's "args": hocket's own first, then Kineto's.
struct ChromeArguments {
  std::optional<std::int64_t> step, task, bytes, sequence, lane, submitted_ns, ready_ns;
  std::optional<std::int64_t> ranks, dropped, quarantined, shortened, clock_ns, realtime_ns;
  std::string collective, host, source;

  std::optional<std::int64_t> stream, device;
  std::optional<std::int64_t> correlation;  ///< identity_of() what the file says
  std::optional<std::int64_t> elements_in, elements_out;
  /// For communication: the operation that Kineto joins events by (identity_of()), the operation's
  /// number within its group, and the group; of a message one of the two ranks, or both.
  std::optional<std::int64_t> external_id, group_sequence, group_size, group_id;
  std::optional<std::int64_t> source_rank, destination_rank;
  std::string name, collective_name, element_type, group, group_ranks;
  /// Elements and type of an operation's first input, where its shapes were recorded.
  std::optional<std::int64_t> input_elements;
  std::optional<std::string> input_type;

  bool operator==(const ChromeArguments&) const = default;
};

/// The known fields of "args" that tools other than PyTorch write.
struct DialectArguments {
  /// Ascend's: the type of a stream's task, and the elements of a collective and their type.
  std::string task_type, data_type;
  std::optional<std::int64_t> count;
  /// XLA's: the instruction that an event runs, and the number of a marked step.
  std::string hlo_op;
  std::optional<std::int64_t> step_number;
};

struct ChromeEvent {
  std::string phase, name, category, process, thread, id;  ///< numbers as spelled in the file
  std::optional<std::int64_t> begin_ns, duration_ns;  ///< nothing if missing or not such a number
  ChromeArguments arguments;
  DialectArguments dialect;
};

/// A group of ranks that the head of a file lists.
struct ChromeGroup {
  std::string name;
  std::vector<std::int64_t> ranks;
};

/// The fields beside the events.
struct ChromeHead {
  std::optional<std::int64_t> rank, world_size;
  bool is_rank_elsewhere = false;       ///< the file says no rank, but who reads it knows its rank
  std::optional<std::int64_t> base_ns;  ///< realtime of the events' time 0
  std::string host;
  std::vector<ChromeGroup> groups;
  bool is_kineto = false;
  /// The document ends in the middle; the events before that point were read.
  bool is_cut_off = false;
  /// Messages for people: what the file has that is no JSON or no time, the first of each kind with
  /// its line, and how many.
  std::vector<std::string> offences = {};
};

/// Calls `take` for each event; the reference is valid during the call. Where the list of events is
/// no JSON it is read on from the next event. Returns invalid_argument, with the position, if the
/// text is not JSON before the first event, if a text or number is too long
/// (profiler/formats/json/repaired_text.h), and if memory runs out.
Result<ChromeHead> read_chrome_events(std::istream& in,
                                      const std::function<void(const ChromeEvent&)>& take);

/// Returns a number that is the same for equal texts: their value if it is an integer of 64 bits.
/// Nothing for an empty text.
std::optional<std::int64_t> identity_of(std::string_view text);

/// Converts "1234.567" microseconds to nanoseconds, rounded to the nearest; nothing if it is not a
/// decimal number or too large. Exact where a double is not.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

}  // namespace hocket
