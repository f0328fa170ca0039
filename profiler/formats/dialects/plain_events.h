#pragma once

// Events without a category. The names of their processes and threads say which tool wrote them,
// and these may come at the end of a file, so the events are kept until then. Not thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/trace_builder.h"
#include "profiler/formats/chrome_events.h"

namespace hocket {

struct PlainEvent {
  std::uint32_t name = 0, place = 0;        ///< numbers in PlainEvents
  std::uint32_t remark = 0, data_type = 0;  ///< of a task or an instruction (DialectArguments)
  std::int64_t begin_ns = 0, end_ns = 0;
  std::optional<std::int64_t> number;          ///< a count or a step
  bool is_whole = true;                        ///< has both times
  std::unique_ptr<ChromeArguments> arguments;  ///< null if there are none
};

/// A process and a thread of it, as a file spells them, and their names, which may be empty.
struct PlainPlace {
  std::string process, thread, process_name = {}, thread_name = {};
};

class PlainEvents {
 public:
  /// Returns whether an event has no category, and no process that gives it one.
  static bool is_plain(const ChromeEvent& event);

  void take(const ChromeEvent& event, std::optional<std::int64_t> end_ns);
  /// Takes the name of a process or a thread.
  void take_metadata(const ChromeEvent& event);
  /// Gives places their names. Call once, when all events are there.
  void finish();

  const std::vector<PlainEvent>& events() const { return events_; }
  const std::vector<PlainPlace>& places() const { return places_; }
  const PlainPlace& place(const PlainEvent& event) const { return places_[event.place]; }
  const std::string& name(const PlainEvent& event) const { return texts_.text(event.name); }
  const std::string& remark(const PlainEvent& event) const { return texts_.text(event.remark); }
  const std::string& data_type(const PlainEvent& event) const {
    return texts_.text(event.data_type);
  }
  /// Returns an event as it was taken, without its duration.
  ChromeEvent restored(const PlainEvent& event) const;
  static std::optional<std::int64_t> end_of(const PlainEvent& event) {
    return event.is_whole ? std::optional(event.end_ns) : std::nullopt;
  }

 private:
  Interner texts_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> place_numbers_;
  std::vector<PlainPlace> places_;
  std::map<std::string, std::string> process_names_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  std::vector<PlainEvent> events_;
};

}  // namespace hocket
