#include "profiler/formats/chrome_import.h"

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <optional>
#include <utility>

#include "profiler/formats/category.h"
#include "profiler/formats/chrome_events.h"
#include "profiler/formats/dialects/ascend_events.h"
#include "profiler/formats/dialects/horovod_events.h"
#include "profiler/formats/dialects/plain_events.h"
#include "profiler/formats/dialects/xla_events.h"
#include "profiler/formats/foreign_file.h"
#include "profiler/formats/kineto_events.h"
#include "profiler/formats/own_events.h"

namespace hocket {
namespace {

/// Joins begin and end events, and passes each event to the builder of its trace.
class Importer {
 public:
  void take(const ChromeEvent& event) {
    foreign_.take(event.category, event.phase, event.name);
    if (!event.phase.empty()) ++events_;
    if (event.phase == "X") {
      take_record(event, end_of(event));
    } else if (event.phase == "B") {
      open_[{event.process, event.thread}].push_back(event);
    } else if (event.phase == "E") {
      take_end(event, open_[{event.process, event.thread}]);
    } else if (event.phase == "b" || event.phase == "S") {
      open_async_[{event.process, event.category, event.id}].push_back(event);
    } else if (event.phase == "e" || event.phase == "F") {
      take_end(event, open_async_[{event.process, event.category, event.id}]);
    } else if (event.phase == "M") {
      found_ = own_.take_metadata(event) || found_;
      plain_.take_metadata(event);
    } else if (event.phase == "i" || event.phase == "I") {
      found_ = own_.take_step(event) || found_;
    } else if (event.phase == "s") {
      kineto_.take_flow(event);
    } else if (event.phase == "f") {
      kineto_.take_flow_end(event);
    } else if (event.phase != "t" && event.phase != "n" && event.phase != "T") {
      notes_.count("events of other phases");
    }
  }

  Result<ChromeImport> finish(const ChromeHead& head, const ChromeImportOptions& options) {
    for (const auto& [thread, events] : open_) {
      for (const ChromeEvent& event : events) take_record(event, std::nullopt);
    }
    for (const auto& [id, events] : open_async_) {
      for (const ChromeEvent& event : events) take_record(event, std::nullopt);
    }
    if (!found_ && events_ > 0) {
      return failure(ErrorCode::invalid_argument,
                     "none of its events lasts: they are names, marks or counters (\"ph\" M, i, "
                     "C); record slices as well (\"ph\" X, or B and E)");
    }
    if (!found_) {
      return failure(ErrorCode::invalid_argument,
                     "nothing in it is an event of a timeline: a list \"traceEvents\" of objects "
                     "with \"ph\" is expected");
    }
    ChromeImport import;
    import.traces = own_.finish();
    ChromeHead known = head;
    known.is_rank_elsewhere = options.rank_is_known && !known.rank;
    for (RankTrace& trace : finish_plain(known, options.step_range))
      import.traces.push_back(std::move(trace));
    if (!kineto_.is_empty()) {
      import.traces.push_back(kineto_.finish(known, options.step_range, notes_));
      if (!source_.empty()) import.traces.back().source = source_;
    }
    for (const std::string& offence : head.offences) notes_.add(offence, NoteWeight::partial);
    if (head.is_cut_off) {
      notes_.add("the file ends in the middle; it was read as far as it goes", NoteWeight::partial);
    }
    if (const auto foreign = foreign_.text(); foreign && std::ranges::none_of(import.traces, works))
      return failure(ErrorCode::invalid_argument, *foreign);
    import.notes = notes_.texts();
    import.details = std::move(notes_);
    return import;
  }

 private:
  static bool works(const RankTrace& trace) {
    return std::ranges::any_of(trace.records, [](const TraceRecord& record) {
      return record.kind == TraceKind::compute || record.kind == TraceKind::communication ||
             record.kind == TraceKind::copy;
    });
  }

  static std::optional<std::int64_t> end_of(const ChromeEvent& event) {
    std::int64_t end_ns = 0;
    if (!event.begin_ns || !event.duration_ns ||
        __builtin_add_overflow(*event.begin_ns, *event.duration_ns, &end_ns)) {
      return std::nullopt;
    }
    return end_ns;
  }

  void take_record(const ChromeEvent& event, std::optional<std::int64_t> end_ns) {
    found_ = true;
    if (const auto kind = kind_of_category(event.category)) {
      own_.take_record(event, *kind, end_ns, notes_);
    } else if (PlainEvents::is_plain(event)) {
      plain_.take(event, end_ns);
    } else {
      kineto_.take_record(event, end_ns, notes_);
    }
  }

  /// Reads the events without a category, by the tool that wrote them. Returns traces that are not
  /// in kineto_.
  std::vector<RankTrace> finish_plain(ChromeHead& head, std::string_view step_range) {
    plain_.finish();
    if (is_ascend(plain_)) {
      take_ascend(plain_, kineto_, notes_);
      source_ = "ascend";
      head.is_kineto = true;  // its times are the host's realtime as well
    } else if (is_xla(plain_)) {
      return xla_traces(plain_, head, step_range, notes_);
    } else if (is_horovod(plain_)) {
      return horovod_traces(plain_, notes_);
    } else {
      for (const PlainEvent& event : plain_.events())
        kineto_.take_record(plain_.restored(event), PlainEvents::end_of(event), notes_);
    }
    return {};
  }

  /// Joins an end with the latest begin, or with the latest of its name where it has one: those
  /// begun since then never ended.
  void take_end(const ChromeEvent& event, std::vector<ChromeEvent>& open) {
    if (open.empty()) return notes_.count("ends of events that did not begin");
    const auto has_name = [&](const ChromeEvent& begun) { return begun.name == event.name; };
    const auto named = std::ranges::find_if(open.rbegin(), open.rend(), has_name);
    if (!event.name.empty() && named != open.rend()) {
      for (auto unended = open.rbegin(); unended != named; ++unended)
        take_record(*unended, std::nullopt);
      open.erase(named.base(), open.end());
    }
    take_record(open.back(), event.begin_ns);
    open.pop_back();
  }

  OwnEvents own_;
  KinetoEvents kineto_;
  PlainEvents plain_;
  std::string source_;  ///< of the trace in kineto_; empty if that is as it says
  ImportNotes notes_;
  /// Begun events that have not ended, by process and thread; an end belongs to the latest.
  std::map<std::pair<std::string, std::string>, std::vector<ChromeEvent>> open_;
  /// The same of events that belong to no thread, by process, category and id.
  std::map<std::array<std::string, 3>, std::vector<ChromeEvent>> open_async_;
  bool found_ = false;  ///< found any part of a timeline
  ForeignEvents foreign_;
  std::int64_t events_ = 0;
};

}  // namespace

Result<ChromeImport> read_chrome_trace(std::istream& in, const ChromeImportOptions& options) {
  constexpr int kGzip = 0x1f;
  if (in.peek() == kGzip) {
    return failure(ErrorCode::invalid_argument, "the file is compressed; unpack it with gzip -d");
  }
  in.clear(in.rdstate() & ~std::ios::eofbit);
  Importer importer;
  const auto head = read_chrome_events(in, [&](const ChromeEvent& event) { importer.take(event); });
  HOCKET_TRY(head);
  return importer.finish(*head, options);
}

}  // namespace hocket
