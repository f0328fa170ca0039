#include "profiler/formats/kineto_events.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/trace/collective_name.h"

namespace hocket {
namespace {

/// Returns the bytes of an element by the name of its type; 0 if unknown.
std::int64_t element_bytes(std::string_view type) {
  static const std::map<std::string_view, std::int64_t> bytes{{"Float", 4},
                                                              {"Double", 8},
                                                              {"Half", 2},
                                                              {"BFloat16", 2},
                                                              {"Int", 4},
                                                              {"Long", 8},
                                                              {"Short", 2},
                                                              {"Byte", 1},
                                                              {"Char", 1},
                                                              {"ComplexFloat", 8},
                                                              {"Bool", 1},
                                                              {"Float8_e5m2", 1},
                                                              {"Float8_e4m3fn", 1},
                                                              // As the types of inputs are written.
                                                              {"float", 4},
                                                              {"double", 8},
                                                              {"c10::Half", 2},
                                                              {"c10::BFloat16", 2},
                                                              {"int", 4},
                                                              {"long int", 8}};
  const auto found = bytes.find(type);
  return found == bytes.end() ? 0 : found->second;
}

std::int64_t bytes_of(std::int64_t elements, std::string_view type) {
  const std::int64_t each = element_bytes(type);
  if (each == 0 || elements > std::numeric_limits<std::int64_t>::max() / each) return 0;
  return elements * each;
}

/// Returns the larger of input and output: the full size of an all-gather or a reduce-scatter. Of
/// an all-reduce without these, the bytes of its input.
std::int64_t message_bytes(const ChromeEvent& event) {
  const ChromeArguments& arguments = event.arguments;
  if (arguments.bytes) return *arguments.bytes;
  if (arguments.elements_in || arguments.elements_out) {
    return bytes_of(std::max(arguments.elements_in.value_or(0), arguments.elements_out.value_or(0)),
                    arguments.element_type);
  }
  if (!arguments.input_elements || !arguments.input_type) return 0;
  const auto name = communication_name(event.name);
  if (!name || name->collective != CollectiveKind::all_reduce) return 0;
  return bytes_of(*arguments.input_elements, *arguments.input_type);
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

std::optional<std::int64_t> begin_of(const std::unordered_map<std::int64_t, std::int64_t>& begins,
                                     std::int64_t correlation) {
  const auto found = begins.find(correlation);
  return found == begins.end() ? std::nullopt : std::optional(found->second);
}

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

/// Returns clock samples. Kineto's times are the host's realtime, or count from a realtime that the
/// file states.
std::vector<ClockSample> clock_samples(const ChromeHead& head,
                                       const std::vector<TraceRecord>& records) {
  constexpr std::int64_t kYear2001 = 1'000'000'000'000'000'000;
  if (records.empty() || !head.is_kineto) return {};
  if (!head.base_ns && records.front().begin_ns < kYear2001) return {};
  std::vector<ClockSample> samples;
  for (const std::int64_t clock_ns : {records.front().begin_ns, records.back().begin_ns}) {
    std::int64_t realtime_ns = 0;
    if (!__builtin_add_overflow(clock_ns, head.base_ns.value_or(0), &realtime_ns)) {
      samples.push_back({clock_ns, realtime_ns});
    }
  }
  return samples;
}

}  // namespace

KinetoEvents::Role KinetoEvents::role_of(const ChromeEvent& event) {
  // Category names of several versions, in lower case.
  static const std::map<std::string_view, Role, std::less<>> roles{
      {"kernel", Role::kernel},
      {"gpu_memcpy", Role::copy},
      {"memcpy", Role::copy},
      {"gpu_memset", Role::copy},
      {"memset", Role::copy},
      {"cpu_op", Role::operation},
      {"operator", Role::operation},
      {"user_annotation", Role::range},
      {"cuda_runtime", Role::call},
      {"cuda_driver", Role::call},
      {"hip_runtime", Role::call},
      {"runtime", Role::call},
      // These repeat other events or describe no work.
      {"gpu_user_annotation", Role::left_out},
      {"python_function", Role::left_out},
      {"cuda_sync", Role::left_out},
      {"overhead", Role::left_out},
      {"trace", Role::left_out},
  };
  const auto role = roles.find(lower(event.category));
  if (role != roles.end()) {
    has_kineto_category_ = true;
    return role->second;
  }
  // PyTorch without Kineto writes no categories, but states where an event ran.
  if (event.category.empty() && event.process == "CUDA functions") return Role::kernel;
  if (event.category.empty() && event.process == "CPU functions") {
    has_kineto_category_ = true;
    const bool is_operator = event.name.find("::") != std::string::npos;
    return is_operator ? Role::operation : Role::range;
  }
  return Role::range;
}

void KinetoEvents::take_record(const ChromeEvent& event, std::optional<std::int64_t> end_ns,
                               ImportNotes& notes) {
  const Role role = role_of(event);
  if (role == Role::left_out) return notes.count("events of category " + lower(event.category));
  if (!end_ns || !event.begin_ns) {
    ++quarantined_;
    return notes.count("events without a time or a duration");
  }
  const ChromeArguments& arguments = event.arguments;
  Seen seen;
  seen.role = role;
  seen.record.name = builder_.names().number(event.name);
  seen.record.begin_ns = *event.begin_ns;
  seen.record.end_ns = *end_ns;
  seen.record.step = arguments.step.value_or(kNoStep);
  seen.record.collective = spelled_collective(arguments.collective_name);
  seen.record.bytes = message_bytes(event);
  seen.correlation = arguments.correlation.value_or(0);
  seen.group = groups_.number(arguments.group);
  const bool is_device = role == Role::kernel || role == Role::copy;
  if (is_device && arguments.stream) {
    const std::int64_t device = arguments.device.value_or(0);
    seen.place =
        places_.number(std::to_string(device) + " stream " + std::to_string(*arguments.stream));
  } else {
    seen.place = places_.number(event.process + " thread " + event.thread);
  }
  if (role == Role::call && seen.correlation != 0) {
    launches_.try_emplace(seen.correlation, *event.begin_ns);
  }
  seen_.push_back(seen);
}

void KinetoEvents::take_flow(const ChromeEvent& event) {
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(event.id.data(), event.id.data() + event.id.size(), id);
  if (error == std::errc() && end == event.id.data() + event.id.size() && event.begin_ns) {
    flows_.try_emplace(id, *event.begin_ns);
  }
}

std::vector<bool> KinetoEvents::outermost(const std::vector<bool>& candidates) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (candidates[i]) order.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    const TraceRecord& record = seen_[i].record;
    // An event that ends later encloses one that ends sooner. Uses ~ because the least number has
    // no negative.
    return std::tuple(seen_[i].place, record.begin_ns, ~record.end_ns);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<bool> found(seen_.size());
  const Seen* outer = nullptr;
  for (const std::size_t i : order) {
    if (outer != nullptr && outer->place == seen_[i].place &&
        seen_[i].record.begin_ns < outer->record.end_ns) {
      continue;
    }
    found[i] = true;
    outer = &seen_[i];
  }
  return found;
}

KinetoEvents::Communication KinetoEvents::find_communication() const {
  std::vector<std::optional<CommunicationName>> by_name(builder_.names().size());
  for (std::uint32_t i = 0; i < by_name.size(); ++i) {
    by_name[i] = communication_name(builder_.names().text(i));
  }
  Communication found;
  found.names.resize(seen_.size());
  std::array<bool, 3> has_source{};
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    auto& name = found.names[i];
    if (seen_[i].role == Role::copy || seen_[i].role == Role::call) continue;
    name = by_name[seen_[i].record.name];
    // A host event may have a kernel's name, and the other way round.
    const bool is_kernel = seen_[i].role == Role::kernel;
    if (name && is_kernel != (name->source == CommunicationSource::kernel)) name.reset();
    if (name) has_source[static_cast<std::size_t>(name->source)] = true;
  }
  // Counts one operation once: at the source closest to the device.
  const auto first = std::find(has_source.begin(), has_source.end(), true);
  found.source = static_cast<CommunicationSource>(first - has_source.begin());
  std::vector<bool> dispatched(seen_.size());
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    dispatched[i] = found.names[i] && found.names[i]->source == CommunicationSource::dispatch;
  }
  found.outermost_dispatches = outermost(dispatched);
  return found;
}

void KinetoEvents::classify() {
  const Communication found = find_communication();
  bool has_device = false;
  std::vector<bool> operations(seen_.size());
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    has_device = has_device || seen_[i].role == Role::kernel || seen_[i].role == Role::copy;
    operations[i] = seen_[i].role == Role::operation && !found.names[i];
  }
  operations = outermost(operations);
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    TraceRecord& record = seen_[i].record;
    const auto& name = found.names[i];
    if (name && name->source == found.source &&
        (found.source != CommunicationSource::dispatch || found.outermost_dispatches[i])) {
      record.kind = TraceKind::communication;
      if (name->collective) record.collective = name->collective;
      continue;
    }
    record.collective.reset();
    switch (seen_[i].role) {
      case Role::kernel:
        record.kind = TraceKind::compute;
        break;
      case Role::copy:
        record.kind = TraceKind::copy;
        break;
      case Role::operation:
        record.kind = operations[i] && !has_device ? TraceKind::compute : TraceKind::call;
        break;
      case Role::call:
        record.kind = TraceKind::call;
        break;
      case Role::range:
      case Role::left_out:
        record.kind = TraceKind::range;
    }
    if (record.kind != TraceKind::copy) record.bytes = 0;
  }
}

std::vector<StepRange> KinetoEvents::steps(std::string_view step_range, ImportNotes& notes) const {
  const std::string_view prefix = step_range.empty() ? "ProfilerStep#" : step_range;
  auto steps = named_steps(builder_.records(), builder_.names(), prefix);
  if (steps.empty() && step_range.empty()) steps = steps_of_records(builder_.records());
  if (steps.empty()) {
    notes.add("no steps were found: no range is called \"" + std::string(prefix) +
              "\" and a number; name the range that marks a step");
  }
  return steps;
}

RankTrace KinetoEvents::finish(const ChromeHead& head, std::string_view step_range,
                               ImportNotes& notes) {
  classify();
  // Lanes are numbered in the order of their first use.
  std::stable_sort(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) {
    return a.record.begin_ns < b.record.begin_ns;
  });
  for (Seen& seen : seen_) {
    TraceRecord& record = seen.record;
    const bool is_device = seen.role == Role::kernel || seen.role == Role::copy;
    if (is_device && seen.correlation != 0) {
      auto launch = begin_of(launches_, seen.correlation);
      if (!launch) launch = begin_of(flows_, seen.correlation);
      record.submitted_ns = std::max<std::int64_t>(launch.value_or(0), 0);
    }
    record.lane = builder_.lane(record.kind, places_.text(seen.place));
    builder_.add(record, groups_.text(seen.group));
  }
  seen_.clear();
  RankTrace trace;
  trace.rank = std::max<std::int64_t>(head.rank.value_or(0), 0);
  trace.ranks = std::max(head.world_size.value_or(1), trace.rank);
  if (trace.ranks == trace.rank && trace.rank < std::numeric_limits<std::int64_t>::max()) {
    ++trace.ranks;
  }
  if (!head.rank) notes.add("the file does not say which rank it is of: it is taken for rank 0");
  trace.host = head.host;
  trace.source = head.is_kineto || has_kineto_category_ ? "kineto" : "chrome";
  trace.quarantined = quarantined_;
  builder_.finish(trace, steps(step_range, notes));
  trace.clock_samples = clock_samples(head, trace.records);
  return trace;
}

}  // namespace hocket
