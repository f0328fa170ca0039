#include "profiler/cupti/device_records.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/intervals.h"

namespace hocket {
namespace {

using TaskKey = std::pair<std::int64_t, std::int64_t>;  // step and task

TaskKey key_of(const TraceRecord& record) {
  return {record.step, record.task};
}

bool is_host_thread(TraceKind kind) {
  return kind == TraceKind::range || kind == TraceKind::call;
}

/// The state of one add_device_records() call.
class DeviceMerge {
 public:
  DeviceMerge(RankTrace device, bool has_marks, RankTrace& host)
      : device_(std::move(device)), has_marks_(has_marks), host_(host) {}

  void run() {
    take_host_apart();
    translate_names();
    pair_communication();
    for (const TraceRecord& record : device_.records) add(record);
    for (const TraceRecord& record : computations_) keep_computation(record);
    host_.records = std::move(merged_);
    // If records were dropped, a step's first record may be among them.
    if (device_.step_starts.size() > 1 && device_.dropped == 0)
      host_.step_starts = std::move(device_.step_starts);
    host_.source = device_.source;
    put_in_order(host_);
  }

 private:
  /// Splits the host's records: those that stay in any case go to merged_.
  void take_host_apart() {
    for (const TraceRecord& record : host_.records) {
      if (record.kind == TraceKind::compute) {
        computations_.push_back(record);
        if (record.task != kNoTask) ready_ns_[key_of(record)] = record.ready_ns;
        continue;
      }
      if (is_host_thread(record.kind)) host_threads_ = std::max(host_threads_, record.lane + 1);
      if (record.kind == TraceKind::communication) {
        parts_[key_of(record)].push_back(merged_.size());
        has_parts_ = true;
      }
      merged_.push_back(record);
    }
  }

  void translate_names() {
    std::unordered_map<std::string, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < host_.names.size(); ++i) numbers.emplace(host_.names[i], i);
    std::vector<std::uint32_t> translated;
    for (std::string& name : device_.names) {
      const auto next = static_cast<std::uint32_t>(host_.names.size());
      const auto [at, is_new] = numbers.try_emplace(name, next);
      if (is_new) host_.names.push_back(std::move(name));
      translated.push_back(at->second);
    }
    for (TraceRecord& record : device_.records) record.name = translated[record.name];
  }

  /// Gives the host's parts the times of their kernels; both begin in the same order.
  void pair_communication() {
    std::map<TaskKey, std::vector<Interval>> kernels;
    for (const TraceRecord& record : device_.records) {
      if (record.kind == TraceKind::communication && record.task != kNoTask)
        kernels[key_of(record)].push_back({record.begin_ns, record.end_ns});
    }
    for (auto& [key, times] : kernels) {
      const auto parts = parts_.find(key);
      if (parts == parts_.end() || parts->second.size() != times.size()) continue;
      const auto order = [](const auto& record) {
        return std::pair(record.begin_ns, record.end_ns);
      };
      std::ranges::sort(times, {}, order);
      std::ranges::sort(parts->second, {}, [&](std::size_t part) { return order(merged_[part]); });
      for (std::size_t i = 0; i < times.size(); ++i) {
        TraceRecord& part = merged_[parts->second[i]];
        part.begin_ns = times[i].begin_ns;
        part.end_ns = times[i].end_ns;
      }
    }
  }

  void add(TraceRecord record) {
    if (is_host_thread(record.kind)) {
      record.lane += host_threads_;
    } else if (record.kind == TraceKind::communication) {
      if (has_parts_) return;
    } else {
      device_lanes_ = std::max(device_lanes_, record.lane + 1);
      has_work_ = true;
      const auto ready = ready_ns_.find(key_of(record));
      if (ready != ready_ns_.end()) record.ready_ns = ready->second;
      // Records without a number here belong to a step that was not seen whole; the host has none
      // either.
      recorded_.insert(key_of(record));
    }
    merged_.push_back(record);
  }

  void keep_computation(TraceRecord record) {
    if (recorded_.contains(key_of(record)) || (has_work_ && !has_marks_)) return;
    // Told after its kernel had ended, before the first window (TraceDetail::order).
    const bool has_length = record.begin_ns < record.end_ns;
    if (!has_length && std::ranges::find(host_.step_starts, record.step, &StepStart::step) ==
                           host_.step_starts.end())
      return;
    record.lane += device_lanes_;
    merged_.push_back(record);
  }

  RankTrace device_;
  const bool has_marks_;
  RankTrace& host_;
  std::vector<TraceRecord> merged_, computations_;
  std::map<TaskKey, std::int64_t> ready_ns_;
  std::map<TaskKey, std::vector<std::size_t>> parts_;  // indices in merged_
  std::set<TaskKey> recorded_;                         // tasks with work on the device
  bool has_parts_ = false, has_work_ = false;
  std::int32_t host_threads_ = 0, device_lanes_ = 0;
};

std::string count_of(std::int64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string quarantine_text(const QuarantineCounts& counts) {
  const std::pair<std::int64_t, const char*> reasons[] = {
      {counts.zero_times, "without a time"},
      {counts.reversed_times, "that end before they begin"},
      {counts.absurd_values, "with absurd values"},
      {counts.unknown_kinds, "of unknown kinds"},
      {counts.truncated, "cut off"},
      {counts.outside, "from outside of the span"},
      {counts.unplaced, "while the realtime clock was set"}};
  std::string text;
  for (const auto& [count, reason] : reasons) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + reason;
  }
  return text;
}

}  // namespace

std::vector<std::string> notes_of(const CuptiProfile& profile) {
  const std::string who = "CUPTI, rank " + std::to_string(profile.trace.rank) + ": ";
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) { notes.push_back(who + text); };
  if (!profile.warning.empty()) note(profile.warning);
  if (profile.trace.dropped > 0) {
    note(count_of(profile.trace.dropped, "record") + " dropped, " +
         count_of(profile.refused_buffers, "buffer") + " refused at the cap");
  }
  if (profile.quarantined.total() > 0) {
    note(count_of(profile.quarantined.total(), "record") +
         " left out: " + quarantine_text(profile.quarantined));
  }
  if (profile.missing_buffers > 0)
    note(count_of(profile.missing_buffers, "buffer") +
         " not given back, whose records are missing");
  if (profile.late_buffers > 0)
    note(count_of(profile.late_buffers, "buffer") + " came after an earlier span had been taken");
  if (profile.clock_jumps > 0)
    note("the realtime clock was set " + count_of(profile.clock_jumps, "time"));
  if (profile.marked > 0 && profile.marked < profile.device_records) {
    note(std::to_string(profile.device_records - profile.marked) + " of " +
         count_of(profile.device_records, "record") + " of the device are of no task");
  }
  return notes;
}

void add_device_records(CuptiProfile device, ProfileResult& host) {
  for (std::string& note : notes_of(device)) host.notes.push_back(std::move(note));
  RankTrace& trace = host.trace;
  trace.dropped += device.trace.dropped;
  trace.quarantined += device.trace.quarantined;
  if (device.trace.records.empty() || trace.step_starts.size() < 2) return;
  DeviceMerge(std::move(device.trace), device.marked > 0, trace).run();
}

}  // namespace hocket
