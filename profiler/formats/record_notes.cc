#include "profiler/formats/record_notes.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace hocket {
namespace {

std::string milliseconds(std::int64_t ns) {
  std::string text = std::to_string(ns / 100'000);
  if (text.size() == 1) text = "0" + text;
  return text.insert(text.size() - 1, ".") + " ms";
}

}  // namespace

void add_notes(const ImpossibleRecords& found, ImportNotes& notes) {
  const auto leave_out = [&](std::int64_t count, const char* one, const char* several) {
    if (count == 0) return;
    notes.add(std::to_string(count) + " record" + (count == 1 ? "" : "s") +
                  " of the device cannot be true and " + (count == 1 ? "is" : "are") +
                  " left out: " + (count == 1 ? one : several),
              NoteWeight::partial);
  };
  leave_out(found.without_times, "it begins and ends at time 0", "they begin and end at time 0");
  leave_out(found.before_launch, "it begins before the call that launched it",
            "they begin before the calls that launched them");
  leave_out(found.on_another_clock, "it is far from everything else, as on another clock",
            "they are far from everything else, as on another clock");
  if (found.shortened > 0) {
    notes.add(
        std::to_string(found.shortened) +
            (found.shortened == 1 ? " record of the device ends" : " records of the device end") +
            " long after the next one of the same stream has begun: cut to the time of others of "
            "the name",
        NoteWeight::partial);
  }
  if (found.overlapping > 0) {
    notes.add(
        std::to_string(found.overlapping) +
            (found.overlapping == 1 ? " record of the device has" : " records of the device have") +
            " others of the same stream within them, as branches of a graph do; if they are "
            "none, computation and hidden communication are too large",
        NoteWeight::partial);
  }
  if (found.clocks_differ_by_ns > 0) {
    notes.add("work of the device begins before the calls that launched it, by " +
                  milliseconds(found.clocks_differ_by_ns) +
                  " in the median: their clocks differ, so its launches are not known",
              NoteWeight::withholds);
  }
}

void add_notes_on_steps(std::int64_t incomplete, ImportNotes& notes) {
  if (incomplete == 0) return;
  notes.add(std::to_string(incomplete) +
                (incomplete == 1 ? " iteration misses" : " iterations miss") +
                " work that was left out, or end with one that does, and are not counted",
            NoteWeight::partial);
}

std::string frequent_names(const RankTrace& trace) {
  constexpr std::size_t kShown = 5, kMostNameBytes = 40;
  std::vector<std::pair<std::int64_t, std::uint32_t>> counts(trace.names.size());
  for (std::uint32_t name = 0; name < counts.size(); ++name) counts[name] = {0, name};
  for (const TraceRecord& record : trace.records) --counts[record.name].first;
  std::erase_if(counts, [](const auto& each) { return each.first == 0; });
  std::ranges::sort(counts);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, counts.size()); ++i)
    text +=
        (i == 0 ? "\"" : ", \"") + printable(trace.names[counts[i].second], kMostNameBytes) + "\"";
  if (counts.size() > kShown) text += " and " + std::to_string(counts.size() - kShown) + " others";
  return text;
}

void add_note_on_strangers(const std::string& events, const std::string& remedy,
                           ImportNotes& notes) {
  notes.add(
      "nothing in it is known as computation, communication or a copy, so nothing is said of "
      "idle time: it has " +
      events + ". " + remedy);
}

}  // namespace hocket
