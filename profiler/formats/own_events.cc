#include "profiler/formats/own_events.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "core/trace/collective_name.h"
#include "profiler/formats/group_ranks.h"

namespace hocket {
namespace {

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Returns the lane number in a thread's name: 3 for "stream 3" and "stream 3 (2)".
std::optional<std::int32_t> lane_in(std::string_view thread_name) {
  thread_name = thread_name.substr(0, thread_name.find(" ("));
  const auto blank = thread_name.rfind(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return number_in<std::int32_t>(thread_name.substr(blank + 1));
}

/// Returns the kind that a record has by its exact name, or else the collective that it spells.
std::optional<CollectiveKind> kind_named(std::string_view text) {
  for (std::size_t i = 0; i < kRecordedKinds; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    if (to_string(kind) == text) return kind;
  }
  return spelled_collective(text);
}

/// Returns the steps of a trace without step marks: each begins with its first record.
std::vector<StepStart> starts_of_records(const std::vector<TraceRecord>& records) {
  std::vector<StepStart> starts;
  for (const TraceRecord& record : records) {
    if (record.step == kNoStep || (!starts.empty() && record.step <= starts.back().step)) continue;
    starts.push_back({record.step, record.begin_ns});
  }
  // Two steps that begin at the same time cannot be distinguished.
  const auto same = [](const auto& a, const auto& b) { return a.begin_ns == b.begin_ns; };
  starts.erase(std::unique(starts.begin(), starts.end(), same), starts.end());
  return starts;
}

}  // namespace

OwnEvents::Process* OwnEvents::process_of(const ChromeEvent& event) {
  const auto rank = number_in<std::int64_t>(event.process);
  if (!rank || *rank < 0 || *rank == std::numeric_limits<std::int64_t>::max()) return nullptr;
  Process& process = processes_[*rank];
  process.trace.rank = *rank;
  return &process;
}

void OwnEvents::take_record(const ChromeEvent& event, TraceKind kind,
                            std::optional<std::int64_t> end_ns, ImportNotes& notes) {
  Process* process = process_of(event);
  if (process == nullptr) return notes.count("events whose process is no rank");
  if (!end_ns || !event.begin_ns) {
    ++process->trace.quarantined;
    return notes.count("events without a time or a duration");
  }
  const ChromeArguments& arguments = event.arguments;
  TraceRecord record;
  record.kind = kind;
  if (!arguments.collective.empty()) record.collective = kind_named(arguments.collective);
  record.name = process->names.number(event.name);
  record.begin_ns = *event.begin_ns;
  record.end_ns = *end_ns;
  record.step = arguments.step.value_or(kNoStep);
  record.task = arguments.task.value_or(kNoTask);
  record.bytes = arguments.bytes.value_or(0);
  record.sequence = arguments.sequence.value_or(kNoSequence);
  record.submitted_ns = arguments.submitted_ns.value_or(0);
  record.ready_ns = arguments.ready_ns.value_or(0);
  if (auto ranks = ranks_in(arguments.group_ranks); !ranks.empty() || !arguments.group.empty()) {
    const auto next = static_cast<std::int32_t>(process->trace.groups.size());
    const auto [at, is_new] = process->groups.try_emplace({arguments.group, ranks}, next);
    if (is_new) process->trace.groups.push_back({arguments.group, std::move(ranks)});
    record.group = at->second;
  }
  const std::int64_t lane = arguments.lane.value_or(0);
  const bool is_lane = lane >= 0 && lane <= std::numeric_limits<std::int32_t>::max();
  record.lane = is_lane ? static_cast<std::int32_t>(lane) : -1;
  if (!arguments.lane) {
    process->without_lane.emplace_back(process->trace.records.size(),
                                       process->threads.number(event.thread));
  }
  process->trace.records.push_back(record);
}

bool OwnEvents::take_metadata(const ChromeEvent& event) {
  if (event.name == "thread_name") {
    thread_names_[{event.process, event.thread}] = event.arguments.name;
    return false;
  }
  if (event.name != "hocket" && event.name != "hocket_clock") return false;
  Process* process = process_of(event);
  if (process == nullptr) return false;
  const ChromeArguments& arguments = event.arguments;
  RankTrace& trace = process->trace;
  if (event.name == "hocket_clock") {
    if (!arguments.clock_ns || !arguments.realtime_ns) return false;
    trace.clock_samples.push_back({*arguments.clock_ns, *arguments.realtime_ns});
    return true;
  }
  process->knows_ranks = arguments.ranks && *arguments.ranks > trace.rank;
  if (process->knows_ranks) trace.ranks = *arguments.ranks;
  trace.host = arguments.host;
  trace.source = arguments.source;
  // Bounds counts from an untrusted file so that sums do not overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  trace.dropped = std::clamp<std::int64_t>(arguments.dropped.value_or(0), 0, kMost);
  trace.quarantined += std::clamp<std::int64_t>(arguments.quarantined.value_or(0), 0, kMost);
  trace.quarantined = std::min(trace.quarantined, kMost);
  trace.shortened = std::clamp<std::int64_t>(arguments.shortened.value_or(0), 0, kMost);
  return true;
}

bool OwnEvents::take_step(const ChromeEvent& event) {
  if (event.category != "step" || !event.begin_ns || !event.arguments.step) return false;
  Process* process = process_of(event);
  if (process == nullptr) return false;
  auto& starts = process->trace.step_starts;
  const StepStart start{*event.arguments.step, *event.begin_ns};
  const bool rises =
      starts.empty() ? start.step >= 0 && start.begin_ns >= 0
                     : start.step > starts.back().step && start.begin_ns > starts.back().begin_ns;
  if (rises) starts.push_back(start);
  return rises;
}

void OwnEvents::find_lanes(Process& process) {
  const std::string rank = std::to_string(process.trace.rank);
  for (const auto& [index, thread] : process.without_lane) {
    const auto name = thread_names_.find({rank, process.threads.text(thread)});
    const auto named = name == thread_names_.end() ? std::nullopt : lane_in(name->second);
    process.trace.records[index].lane = named ? *named : static_cast<std::int32_t>(thread);
  }
}

std::vector<RankTrace> OwnEvents::finish() {
  std::vector<RankTrace> traces;
  const std::int64_t ranks = processes_.empty() ? 1 : processes_.rbegin()->first + 1;
  for (auto& [rank, process] : processes_) {
    find_lanes(process);
    RankTrace& trace = process.trace;
    trace.names = process.names.texts();
    if (!process.knows_ranks) trace.ranks = ranks;
    put_in_order(trace);
    if (trace.step_starts.empty()) trace.step_starts = starts_of_records(trace.records);
    traces.push_back(std::move(trace));
  }
  processes_.clear();
  return traces;
}

}  // namespace hocket
