#include "profiler/formats/perfetto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <perfetto.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "profiler/formats/category.h"
#include "profiler/formats/collective_flows.h"
#include "profiler/formats/file_clock.h"
#include "profiler/formats/lane_tracks.h"
#include "profiler/metrics/exposed_time.h"

namespace hocket {
namespace {

using google::protobuf::io::CodedOutputStream;
using perfetto::TracePacket;
using perfetto::TrackEvent;

/// Categories of slices that are no records, numbered after those of records.
constexpr std::string_view kStepCategory = "step", kExposedCategory = "exposed";
constexpr std::uint64_t kStepCategoryIid = kCategories.size() + 1;
constexpr std::uint64_t kExposedCategoryIid = kCategories.size() + 2;

/// Annotations of a slice, in the order of their numbers; 0 is unused.
enum Annotation : std::uint64_t {
  kStep = 1,
  kTask,
  kBytes,
  kSequence,
  kCollective,
  kGroup,
  kLate,
  kWait,
  kWaitedFor,
  kClockError,
};
constexpr std::array<std::string_view, 10> kAnnotations{
    "step",  "task",    "bytes",   "sequence",        "collective",
    "group", "late_ns", "wait_ns", "waited_for_rank", "clock_error_ns"};

/// Replaces bytes that are not UTF-8, which Perfetto rejects.
std::string valid_utf8(std::string_view text) {
  const auto quoted =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(quoted).get<std::string>();
}

/// Appends packets to a stream. Holds one message at a time, whatever the size of the trace.
class PacketStream {
 public:
  explicit PacketStream(std::ostream& out) : out_(out) {}

  void write(const TracePacket& packet) {
    // A trace is a message with one field per packet, so packets can be appended.
    constexpr char kPacketTag = perfetto::Trace::kPacketFieldNumber << 3 | 2;
    text_ += kPacketTag;
    packet.SerializeToString(&packet_);
    std::array<std::uint8_t, 10> length{};
    const std::uint8_t* end =
        CodedOutputStream::WriteVarint64ToArray(packet_.size(), length.data());
    text_.append(reinterpret_cast<const char*>(length.data()),
                 static_cast<std::size_t>(end - length.data()));
    text_ += packet_;
    if (text_.size() >= kChunkBytes) flush();
  }

  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

 private:
  static constexpr std::size_t kChunkBytes = 1 << 16;

  std::ostream& out_;
  std::string text_, packet_;
};

/// Writes one trace: a process and its tracks, in a packet sequence of its own. Slices begin and
/// end in the order of time, an end before a begin at the same time.
class ProcessWriter {
 public:
  ProcessWriter(PacketStream& out, const RankTrace& trace, std::size_t index, FileClock clock,
                const CollectiveFlows& flows)
      : out_(out),
        trace_(trace),
        index_(index),
        clock_(clock),
        flows_(flows),
        name_is_known_(trace.names.size()) {}

  void write() {
    write_process();
    write_steps();
    write_exposed();
    for (std::size_t i = 0; i < trace_.records.size(); ++i) write_record(i);
    end_until(std::numeric_limits<std::uint64_t>::max());
  }

 private:
  struct LaneKey {
    TraceKind kind = TraceKind::compute;
    std::int32_t lane = 0;

    auto operator<=>(const LaneKey&) const = default;
  };
  struct Lane {
    LaneTracks tracks;
    std::vector<std::uint64_t> uuids;
  };
  /// The end of an open slice, its number in the order of begins, its track, and the arrow that
  /// ends there.
  struct End {
    std::uint64_t end_ns = 0, number = 0, track = 0, arrow = 0;

    /// The innermost slice, which began last, ends first.
    bool operator<(const End& other) const {
      return std::tuple(other.end_ns, number) < std::tuple(end_ns, other.number);
    }
  };

  /// Tracks of one file have different numbers; Perfetto reserves 0.
  std::uint64_t process_uuid() const { return (std::uint64_t{index_} + 1) << 32; }

  TracePacket packet() const {
    TracePacket packet;
    packet.set_trusted_packet_sequence_id(static_cast<std::uint32_t>(index_ + 1));
    return packet;
  }

  void write_process() {
    TracePacket first = packet();
    first.set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    auto& track = *first.mutable_track_descriptor();
    track.set_uuid(process_uuid());
    track.set_child_ordering(perfetto::TrackDescriptor::EXPLICIT);
    // Not the rank itself: process 0 is the idle process, and a rank may be any number.
    track.mutable_process()->set_pid(static_cast<std::int32_t>(index_ + 1));
    std::string name = "rank " + std::to_string(trace_.rank);
    if (!trace_.host.empty()) name += " on " + valid_utf8(trace_.host);
    track.mutable_process()->set_process_name(name);
    track.mutable_process()->set_legacy_sort_index(static_cast<std::int32_t>(index_ + 1));
    auto& names = *first.mutable_interned_data();
    for (std::size_t i = 0; i < kAnnotations.size(); ++i) {
      auto& annotation = *names.add_debug_annotation_names();
      annotation.set_iid(i + 1);
      annotation.set_name(std::string(kAnnotations[i]));
    }
    for (const auto& [kind, text] : kCategories) {
      auto& category = *names.add_event_categories();
      category.set_iid(category_iid(kind));
      category.set_name(std::string(text));
    }
    for (const auto& [iid, text] : {std::pair(kStepCategoryIid, kStepCategory),
                                    std::pair(kExposedCategoryIid, kExposedCategory)}) {
      auto& category = *names.add_event_categories();
      category.set_iid(iid);
      category.set_name(std::string(text));
    }
    out_.write(first);
  }

  static std::uint64_t category_iid(TraceKind kind) { return static_cast<std::uint64_t>(kind) + 1; }

  std::uint64_t add_track(const std::string& name, std::int32_t order) {
    TracePacket added = packet();
    auto& track = *added.mutable_track_descriptor();
    track.set_uuid(process_uuid() + ++tracks_);
    track.set_parent_uuid(process_uuid());
    track.set_name(name);
    track.set_sibling_order_rank(order);
    out_.write(added);
    return process_uuid() + tracks_;
  }

  /// Returns a track's position, independent of which track was used first.
  static std::int32_t order_of(const LaneKey& key, std::size_t track) {
    const auto kind = static_cast<std::int32_t>(key.kind);
    const auto further = static_cast<std::int32_t>(std::min<std::size_t>(track, 99));
    return (kind + 1) * 1'000'000 + std::min(key.lane, 9999) * 100 + further;
  }

  std::uint64_t track_of(const TraceRecord& record) {
    const LaneKey key{record.kind, record.lane};
    Lane& lane = lanes_.try_emplace(key, Lane{LaneTracks(nests(key.kind)), {}}).first->second;
    const std::size_t track = lane.tracks.place(record.begin_ns, record.end_ns);
    while (lane.uuids.size() <= track) {
      const std::size_t next = lane.uuids.size();
      lane.uuids.push_back(add_track(track_name(key.kind, key.lane, next), order_of(key, next)));
    }
    return lane.uuids[track];
  }

  TracePacket event(std::uint64_t at_ns, std::uint64_t track, TrackEvent::Type type) const {
    TracePacket made = packet();
    made.set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
    made.set_timestamp(at_ns);
    made.mutable_track_event()->set_type(type);
    made.mutable_track_event()->set_track_uuid(track);
    return made;
  }

  static void annotate(TrackEvent& event, Annotation name, std::int64_t value) {
    auto& annotation = *event.add_debug_annotations();
    annotation.set_name_iid(name);
    annotation.set_int_value(value);
  }

  /// Sets a slice's name. Names are numbered as in the trace, from 1, and written before their
  /// first use.
  void set_name(TracePacket& packet, std::uint32_t name) {
    packet.mutable_track_event()->set_name_iid(std::uint64_t{name} + 1);
    if (name_is_known_[name]) return;
    name_is_known_[name] = true;
    auto& told = *packet.mutable_interned_data()->add_event_names();
    told.set_iid(std::uint64_t{name} + 1);
    told.set_name(valid_utf8(trace_.names[name]));
  }

  static void annotate(TrackEvent& event, Annotation name, const std::string& value) {
    auto& annotation = *event.add_debug_annotations();
    annotation.set_name_iid(name);
    annotation.set_string_value(valid_utf8(value));
  }

  void annotate(TrackEvent& slice, const TraceRecord& record) const {
    if (record.step != kNoStep) annotate(slice, kStep, record.step);
    if (record.task != kNoTask) annotate(slice, kTask, record.task);
    if (record.bytes != 0) annotate(slice, kBytes, record.bytes);
    if (record.sequence != kNoSequence) annotate(slice, kSequence, record.sequence);
    if (record.collective) annotate(slice, kCollective, std::string(to_string(*record.collective)));
    if (record.group == kAllRanks) return;
    annotate(slice, kGroup, trace_.groups[static_cast<std::size_t>(record.group)].name);
  }

  static void annotate(TrackEvent& slice, const PartFlows& part) {
    if (part.late_ns) annotate(slice, kLate, *part.late_ns);
    if (part.wait_ns) annotate(slice, kWait, *part.wait_ns);
    if (part.waited_for) annotate(slice, kWaitedFor, *part.waited_for);
    if (part.clock_error_ns) annotate(slice, kClockError, *part.clock_error_ns);
  }

  void write_record(std::size_t index) {
    const TraceRecord& record = trace_.records[index];
    HOCKET_CHECK(is_plausible(record) && record.name < trace_.names.size() &&
                     record.group < std::ssize(trace_.groups),
                 "a trace in order");
    const std::uint64_t begin_ns = clock_(record.begin_ns);
    end_until(begin_ns);
    const std::uint64_t track = track_of(record);
    TracePacket begin = event(begin_ns, track, TrackEvent::TYPE_SLICE_BEGIN);
    auto& slice = *begin.mutable_track_event();
    slice.add_category_iids(category_iid(record.kind));
    set_name(begin, record.name);
    annotate(slice, record);
    const PartFlows part = flows_.of(index_, index);
    annotate(slice, part);
    for (std::uint64_t i = 0; i < part.outgoing; ++i) slice.add_flow_ids(part.first_outgoing + i);
    out_.write(begin);
    ends_.push({std::max(clock_(record.end_ns), begin_ns), ++slices_, track, part.incoming});
  }

  void end_until(std::uint64_t at_ns) {
    while (!ends_.empty() && ends_.top().end_ns <= at_ns) {
      const End& top = ends_.top();
      TracePacket end = event(top.end_ns, top.track, TrackEvent::TYPE_SLICE_END);
      // At the end, since a viewer takes the earlier place of a number for the arrow's begin.
      if (top.arrow != 0) end.mutable_track_event()->add_terminating_flow_ids(top.arrow);
      out_.write(end);
      ends_.pop();
    }
  }

  /// Writes a track with the communication that no computation hides, named by its cause.
  void write_exposed() {
    const std::vector<ExposedSlice> slices = exposed_slices(trace_);
    if (slices.empty()) return;
    const std::uint64_t track = add_track("exposed communication", 1);
    for (const auto& [interval, index] : slices) {
      TracePacket begin = event(clock_(interval.begin_ns), track, TrackEvent::TYPE_SLICE_BEGIN);
      begin.mutable_track_event()->add_category_iids(kExposedCategoryIid);
      set_name(begin, trace_.records[index].name);
      annotate(*begin.mutable_track_event(), trace_.records[index]);
      out_.write(begin);
      out_.write(event(clock_(interval.end_ns), track, TrackEvent::TYPE_SLICE_END));
    }
  }

  /// Writes a track with a slice for each window.
  void write_steps() {
    if (trace_.step_starts.size() < 2) return;
    const std::uint64_t track = add_track("steps", 0);
    for (std::size_t i = 0; i + 1 < trace_.step_starts.size(); ++i) {
      const StepStart& start = trace_.step_starts[i];
      TracePacket begin = event(clock_(start.begin_ns), track, TrackEvent::TYPE_SLICE_BEGIN);
      begin.mutable_track_event()->add_category_iids(kStepCategoryIid);
      const std::uint64_t iid = trace_.names.size() + 1 + i;
      begin.mutable_track_event()->set_name_iid(iid);
      auto& name = *begin.mutable_interned_data()->add_event_names();
      name.set_iid(iid);
      name.set_name("step " + std::to_string(start.step));
      annotate(*begin.mutable_track_event(), kStep, start.step);
      out_.write(begin);
      out_.write(
          event(clock_(trace_.step_starts[i + 1].begin_ns), track, TrackEvent::TYPE_SLICE_END));
    }
  }

  PacketStream& out_;
  const RankTrace& trace_;
  const std::size_t index_;
  const FileClock clock_;
  const CollectiveFlows& flows_;
  std::vector<bool> name_is_known_;
  std::map<LaneKey, Lane> lanes_;
  std::priority_queue<End> ends_;  ///< ends of the open slices
  std::uint64_t tracks_ = 0, slices_ = 0;
};

}  // namespace

Result<std::vector<std::string>> write_perfetto(std::ostream& out,
                                                std::span<const RankTrace> traces,
                                                std::span<const ClockFit> fits) {
  HOCKET_CHECK(traces.size() == fits.size(), "each trace has a fit of its clock");
  const CollectiveFlows flows(traces, fits);
  const std::int64_t shift_ns = shift_of(traces, fits);
  PacketStream packets(out);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    ProcessWriter(packets, traces[i], i, FileClock(fits[i], shift_ns), flows).write();
  }
  packets.flush();
  if (!out.flush()) return failure(ErrorCode::unavailable, "the trace could not be written");
  return flows.notes();
}

}  // namespace hocket
