#pragma once

// Builds the trace of one rank from events of PyTorch's profiler or any tool other than hocket. Not
// thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace/collective_name.h"
#include "core/trace/rank_trace.h"
#include "core/trace/trace_builder.h"
#include "profiler/formats/chrome_events.h"
#include "profiler/formats/dialects/kineto_messages.h"
#include "profiler/formats/import_notes.h"
#include "profiler/formats/kineto_step_marks.h"

namespace hocket {

class KinetoEvents {
 public:
  void take_record(const ChromeEvent& event, std::optional<std::int64_t> end_ns,
                   ImportNotes& notes);
  /// Takes the begin of an arrow from a launch to the work that it launched.
  void take_flow(const ChromeEvent& event);
  /// Takes its end, at the begin of that work.
  void take_flow_end(const ChromeEvent& event);

  bool is_empty() const { return seen_.empty() && quarantined_ == 0; }
  /// Builds the trace. `step_range` is that of ChromeImportOptions.
  RankTrace finish(const ChromeHead& head, std::string_view step_range, ImportNotes& notes);

 private:
  enum class Role : std::uint8_t { kernel, copy, operation, range, call, left_out };

  /// The begin of an event on a thread, as arrows name it.
  struct ThreadTime {
    std::uint32_t thread = 0;
    std::int64_t begin_ns = 0;

    auto operator<=>(const ThreadTime&) const = default;
  };

  struct Seen {
    TraceRecord record;
    Role role = Role::range;
    std::uint32_t place = 0, thread = 0;
    bool is_on_stream = false;           ///< `place` is a device's queue
    bool is_call = false;                ///< a host's call that says what it communicates
    std::uint32_t details = kNoDetails;  ///< index in details_
    std::int64_t correlation = 0;        ///< 0: none
    std::int64_t external_id = 0;        ///< 0: none
    std::optional<MessageEnds> ends = {};
  };

  static constexpr std::uint32_t kNoDetails = ~std::uint32_t{0};

  /// An event's details of a collective beside its times.
  struct Details {
    std::optional<CollectiveKind> collective;
    std::optional<CollectiveKind> message;            ///< a send or a receive
    std::optional<std::int64_t> source, destination;  ///< ranks of the message
    std::int64_t bytes = 0;
    std::int64_t sequence = kNoSequence;
    std::string group;
    std::vector<std::int64_t> ranks;
  };

  /// Communication found by the events' names; indices are those of seen_.
  struct Communication {
    std::vector<std::optional<CommunicationName>> names;
    std::vector<bool> outermost_dispatches;
    CommunicationSource source = CommunicationSource::kernel;  ///< the source that is counted
  };

  Role role_of(const ChromeEvent& event);
  /// Marks the candidates that lie in no other candidate on the same thread.
  std::vector<bool> outermost(const std::vector<bool>& candidates) const;
  Communication find_communication() const;
  static std::optional<Details> details_of(const ChromeEvent& event);
  /// Gives communication without details those of the "record_param_comms" that belongs to it.
  void join_details();
  /// Returns the ranks of a group, as its details or the file's head say them; none if unknown.
  static std::vector<std::int64_t> ranks_of(const Details& details, const ChromeHead& head);
  /// Returns the two ranks of a send or a receive, of which only the details may say what it is.
  std::optional<KinetoMessage> message_of(const Seen& seen) const;
  /// Finds the ends of the messages, by index in seen_, and notes how many have none.
  void find_messages(const ChromeHead& head, ImportNotes& notes);
  /// Sets the group, and what else its details say, of a communication.
  void describe(const Seen& seen, const ChromeHead& head, TraceRecord& record);
  /// Decides the kind of each host and device event.
  void classify();
  /// Returns the begin of the call that launched work of a device.
  std::optional<std::int64_t> launch_of(const Seen& seen) const;
  /// Says what the events are, if none of them is work.
  void note_strangers(ImportNotes& notes, const RankTrace& trace) const;

  TraceBuilder builder_;
  Interner places_;
  std::vector<Details> details_;
  std::vector<Seen> seen_;
  std::unordered_map<std::int64_t, std::int64_t> launches_, flows_;  ///< begin by correlation
  std::map<ThreadTime, std::int64_t> flow_ends_;                     ///< identity of the arrow
  /// Correlations of work of the device whose times the file lacks.
  std::vector<std::int64_t> lost_;
  KinetoStepMarks step_marks_;
  std::map<std::string, std::int64_t> categories_;  ///< events by category
  std::int64_t quarantined_ = 0;
  bool has_kineto_category_ = false;
};

}  // namespace hocket
