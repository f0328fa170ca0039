#pragma once

// Decides what the steps of a trace of PyTorch's profiler, or of any tool other than hocket, are:
// the marks of the profiler, numbers of records, numbered ranges, or the repetition of work. Not
// thread-safe.

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/trace/rank_trace.h"
#include "core/trace/trace_builder.h"
#include "profiler/formats/import_notes.h"

namespace hocket {

class KinetoStepMarks {
 public:
  /// PyTorch's name of the ranges that mark steps, before their number.
  static constexpr std::string_view kName = "ProfilerStep#";

  /// A range on a stream of the device.
  struct DeviceRange {
    std::string_view name;
    std::int64_t begin_ns = 0, end_ns = 0;
  };

  /// Takes the range if it marks a step.
  void take(const DeviceRange& range);

  /// Returns the steps of `records`, from the first source that has any (docs/guides/profiles.md,
  /// "What counts as a step"), and notes which it was if it is no mark of the profiler. Only ranges
  /// whose names begin with `step_range` count if it is not empty.
  std::vector<StepRange> steps(const std::vector<TraceRecord>& records, const Interner& names,
                               std::string_view step_range, ImportNotes& notes) const;

 private:
  /// Steps that the profiler marked on the device, by number: used where the host has none.
  std::map<std::int64_t, StepRange> device_steps_;
};

}  // namespace hocket
