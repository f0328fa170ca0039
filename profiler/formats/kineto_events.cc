#include "profiler/formats/kineto_events.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/trace/collective_name.h"
#include "profiler/formats/group_ranks.h"
#include "profiler/formats/record_notes.h"

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

/// Category of ranges of the host as the device ran their work.
constexpr std::string_view kDeviceRange = "gpu_user_annotation";

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
  // Versions give the marks of steps different categories.
  if (event.name.starts_with(KinetoStepMarks::kName) && lower(event.category) != kDeviceRange) {
    has_kineto_category_ = true;
    return Role::range;
  }
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
      {"xpu_runtime", Role::call},
      {"mtia_runtime", Role::call},
      {"privateuse1_runtime", Role::call},
      {"mtia_ccp_events", Role::kernel},
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
  const ChromeArguments& arguments = event.arguments;
  const bool is_device = role == Role::kernel || role == Role::copy;
  constexpr std::size_t kMostCategories = 100;
  if (categories_.size() < kMostCategories || categories_.contains(event.category))
    ++categories_[event.category];
  if (role == Role::left_out) {
    if (end_ns && event.begin_ns) step_marks_.take({event.name, *event.begin_ns, *end_ns});
    return notes.count("events of category " + lower(event.category));
  }
  if (!end_ns || !event.begin_ns) {
    ++quarantined_;
    if (is_device) lost_.push_back(arguments.correlation.value_or(0));
    return notes.count("events without a time or a duration");
  }
  Seen seen;
  seen.role = role;
  seen.record.name = builder_.names().number(event.name);
  seen.record.begin_ns = *event.begin_ns;
  seen.record.end_ns = *end_ns;
  seen.record.step = arguments.step.value_or(kNoStep);
  seen.record.collective = spelled_collective(arguments.collective_name);
  seen.record.bytes = message_bytes(event);
  seen.correlation = arguments.correlation.value_or(0);
  seen.external_id = arguments.external_id.value_or(0);
  if (auto details = details_of(event)) {
    seen.details = static_cast<std::uint32_t>(details_.size());
    details_.push_back(std::move(*details));
    seen.is_call = role != Role::kernel;
  }
  seen.thread = places_.number(event.process + " thread " + event.thread);
  seen.is_on_stream = is_device && arguments.stream;
  if (seen.is_on_stream) {
    const std::int64_t device = arguments.device.value_or(0);
    seen.place =
        places_.number(std::to_string(device) + " stream " + std::to_string(*arguments.stream));
  } else {
    seen.place = seen.thread;
  }
  if (role == Role::call && seen.correlation != 0) {
    launches_.try_emplace(seen.correlation, *event.begin_ns);
  }
  seen_.push_back(seen);
}

std::optional<KinetoEvents::Details> KinetoEvents::details_of(const ChromeEvent& event) {
  const ChromeArguments& arguments = event.arguments;
  if (arguments.collective_name.empty() && arguments.group.empty() &&
      arguments.group_ranks.empty() && !arguments.group_id && !arguments.group_sequence) {
    return std::nullopt;
  }
  Details details;
  details.collective = spelled_collective(arguments.collective_name);
  if (!details.collective) details.message = spelled_message(arguments.collective_name);
  details.source = arguments.source_rank;
  details.destination = arguments.destination_rank;
  details.bytes = message_bytes(event);
  details.sequence = std::max(arguments.group_sequence.value_or(kNoSequence), kNoSequence);
  details.group = arguments.group;
  // An older version numbers groups instead of naming them.
  if (details.group.empty() && arguments.group_id)
    details.group = std::to_string(*arguments.group_id);
  details.ranks = ranks_in(arguments.group_ranks);
  const std::int64_t size = arguments.group_size.value_or(0);
  if (size > 0 && std::ssize(details.ranks) != size) details.ranks.clear();
  return details;
}

void KinetoEvents::join_details() {
  std::unordered_map<std::int64_t, std::uint32_t> by_id;
  std::vector<const Seen*> calls;  // by begin
  for (const Seen& seen : seen_) {
    if (seen.details == kNoDetails || seen.role == Role::kernel) continue;
    if (seen.external_id != 0) by_id.try_emplace(seen.external_id, seen.details);
    calls.push_back(&seen);
  }
  if (calls.empty()) return;
  const auto begin_ns = [](const Seen* seen) { return seen->record.begin_ns; };
  std::ranges::stable_sort(calls, {}, begin_ns);
  for (Seen& seen : seen_) {
    if (seen.record.kind != TraceKind::communication || seen.details != kNoDetails) continue;
    const bool is_kernel = seen.role == Role::kernel;
    const auto id = is_kernel ? by_id.find(seen.external_id) : by_id.end();
    if (id != by_id.end() && seen.external_id != 0) {
      seen.details = id->second;
      continue;
    }
    if (!is_kernel) {
      // A dispatcher's call contains the call that says more.
      const auto inner = std::ranges::lower_bound(calls, seen.record.begin_ns, {}, begin_ns);
      if (inner != calls.end() && (*inner)->place == seen.place &&
          (*inner)->record.end_ns <= seen.record.end_ns) {
        seen.details = (*inner)->details;
        continue;
      }
    }
    // The launch, or an operation of a backend, lies in the call.
    auto at_ns = is_kernel ? begin_of(launches_, seen.correlation) : seen.record.begin_ns;
    if (!at_ns) continue;
    const auto after = std::ranges::upper_bound(calls, *at_ns, {}, begin_ns);
    if (after != calls.begin() && (*std::prev(after))->record.end_ns >= *at_ns)
      seen.details = (*std::prev(after))->details;
  }
}

void KinetoEvents::take_flow(const ChromeEvent& event) {
  // Arrows from the forward to the backward pass have numbers of their own.
  if (event.category.starts_with("fwdbwd") || event.name.starts_with("fwdbwd")) return;
  const auto id = identity_of(event.id);
  if (id && event.begin_ns) flows_.try_emplace(*id, *event.begin_ns);
}

void KinetoEvents::take_flow_end(const ChromeEvent& event) {
  const auto id = identity_of(event.id);
  // Kineto's own arrows end at work that names its launch anyway.
  if (event.category.starts_with("fwdbwd") || event.category.starts_with("ac2g")) return;
  if (!id || !event.begin_ns) return;
  const std::uint32_t thread = places_.number(event.process + " thread " + event.thread);
  flow_ends_.try_emplace({thread, *event.begin_ns}, *id);
}

std::optional<std::int64_t> KinetoEvents::launch_of(const Seen& seen) const {
  if (seen.correlation != 0) {
    const auto launch = begin_of(launches_, seen.correlation);
    return launch ? launch : begin_of(flows_, seen.correlation);
  }
  const auto arrow = flow_ends_.find({seen.thread, seen.record.begin_ns});
  return arrow == flow_ends_.end() ? std::nullopt : begin_of(flows_, arrow->second);
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

void KinetoEvents::note_strangers(ImportNotes& notes, const RankTrace& trace) const {
  if (has_activity(trace) || trace.records.empty()) return;
  std::string categories;
  std::size_t shown = 0;
  constexpr std::size_t kShown = 8, kMostCategoryBytes = 40;
  for (const auto& [category, count] : categories_) {
    if (category.empty() || ++shown > kShown) continue;
    categories +=
        (categories.empty() ? "" : ", ") + ("\"" + printable(category, kMostCategoryBytes) + "\"");
  }
  if (shown > kShown) categories += ", …";
  add_note_on_strangers(
      "events " + (categories.empty() ? "without a category" : "of the categories " + categories) +
          ", with the names " + frequent_names(trace),
      "Read are events of the categories kernel, gpu_memcpy, gpu_memset and cpu_op of PyTorch's "
      "profiler, hocket's own (compute, communication, copy), and exports of Nsight Systems",
      notes);
}

RankTrace KinetoEvents::finish(const ChromeHead& head, std::string_view step_range,
                               ImportNotes& notes) {
  classify();
  join_details();
  find_messages(head, notes);
  // Lanes are numbered in the order of their first use.
  std::stable_sort(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) {
    return a.record.begin_ns < b.record.begin_ns;
  });
  for (Seen& seen : seen_) {
    TraceRecord& record = seen.record;
    const bool is_device = seen.role == Role::kernel || seen.role == Role::copy;
    if (is_device) record.submitted_ns = std::max<std::int64_t>(launch_of(seen).value_or(0), 0);
    record.lane = builder_.lane(record.kind, places_.text(seen.place));
    describe(seen, head, record);
    if (is_device) {
      const auto stream = static_cast<std::int32_t>(seen.place);
      builder_.add_device_work(record, seen.is_on_stream ? stream : kUnknownStream);
    } else {
      builder_.add(record);
    }
  }
  seen_.clear();
  for (const std::int64_t correlation : lost_)
    builder_.add_lost(begin_of(launches_, correlation).value_or(0));
  add_notes(builder_.correct(), notes);
  RankTrace trace;
  trace.rank = std::max<std::int64_t>(head.rank.value_or(0), 0);
  trace.ranks = std::max(head.world_size.value_or(1), trace.rank);
  if (trace.ranks == trace.rank && trace.rank < std::numeric_limits<std::int64_t>::max()) {
    ++trace.ranks;
  }
  if (!head.rank && !head.is_rank_elsewhere) {
    notes.add(kTakenForRank0, NoteWeight::informs);
  }
  trace.host = head.host;
  trace.source = head.is_kineto || has_kineto_category_ ? "kineto" : "chrome";
  trace.quarantined = quarantined_;
  const auto steps = step_marks_.steps(builder_.records(), builder_.names(), step_range, notes);
  add_notes_on_steps(builder_.finish(trace, steps), notes);
  note_strangers(notes, trace);
  trace.clock_samples = clock_samples(head, trace.records);
  return trace;
}

}  // namespace hocket
