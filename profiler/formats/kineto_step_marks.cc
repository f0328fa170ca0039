#include "profiler/formats/kineto_step_marks.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "core/trace/repetition.h"

namespace hocket {
namespace {

/// Returns the steps by the number that the records carry, each from its first record to the next
/// step's.
std::vector<StepRange> steps_of_records(const std::vector<TraceRecord>& records) {
  std::map<std::int64_t, StepRange> by_step;
  for (const TraceRecord& record : records) {
    if (record.step == kNoStep || !is_plausible(record)) continue;
    auto [at, is_new] =
        by_step.try_emplace(record.step, StepRange{record.step, record.begin_ns, record.begin_ns});
    at->second.begin_ns = std::min(at->second.begin_ns, record.begin_ns);
    at->second.end_ns = at->second.begin_ns;
  }
  std::vector<StepRange> steps;
  for (const auto& [number, step] : by_step) steps.push_back(step);
  return steps;
}

void note_no_steps(const std::vector<TraceRecord>& records, std::string_view prefix,
                   ImportNotes& notes) {
  // Another note says so if no event is known as work.
  if (std::ranges::none_of(records, is_activity)) return;
  notes.add("no steps were found: no range is called \"" + std::string(prefix) +
            "\" and a number; name the range that marks a step");
}

}  // namespace

void KinetoStepMarks::take(const DeviceRange& range) {
  const std::string_view name = range.name;
  if (!name.starts_with(kName)) return;
  std::int64_t step = 0;
  const auto [end, error] =
      std::from_chars(name.data() + kName.size(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || range.begin_ns > range.end_ns)
    return;
  // Each stream has a range of its own.
  auto [at, is_new] =
      device_steps_.try_emplace(step, StepRange{step, range.begin_ns, range.end_ns});
  at->second.begin_ns = std::min(at->second.begin_ns, range.begin_ns);
  at->second.end_ns = std::max(at->second.end_ns, range.end_ns);
}

std::vector<StepRange> KinetoStepMarks::steps(const std::vector<TraceRecord>& records,
                                              const Interner& names, std::string_view step_range,
                                              ImportNotes& notes) const {
  const std::string_view prefix = step_range.empty() ? kName : step_range;
  auto steps = named_steps(records, names, prefix);
  if (steps.empty() && !step_range.empty()) note_no_steps(records, prefix, notes);
  if (!steps.empty() || !step_range.empty()) return steps;
  for (const auto& [number, step] : device_steps_) steps.push_back(step);
  if (steps.empty()) steps = steps_of_records(records);
  if (!steps.empty()) return steps;
  steps = numbered_steps(records, names);
  if (!steps.empty()) {
    notes.add("no range is called \"" + std::string(kName) +
                  "\": the steps are numbered ranges in which work lies",
              NoteWeight::informs);
    return steps;
  }
  steps = repeated_work(records);
  if (!steps.empty()) {
    notes.add("no range marks the steps: they are taken from the repetition of names, " +
                  std::to_string(steps.size() - 1) + " times",
              NoteWeight::informs);
    return steps;
  }
  note_no_steps(records, prefix, notes);
  return {};
}

}  // namespace hocket
