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
#include "profiler/formats/lane_tracks.h"

namespace hocket {
namespace {

using google::protobuf::io::CodedOutputStream;
using perfetto::TracePacket;
using perfetto::TrackEvent;

constexpr std::string_view kStepCategory = "step";

/// Annotations of a slice, in the order of their numbers; 0 is unused.
enum Annotation : std::uint64_t { kStep = 1, kTask, kBytes, kSequence, kCollective };
constexpr std::array<std::string_view, 5> kAnnotations{"step", "task", "bytes", "sequence",
                                                       "collective"};

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

/// Maps a rank's clock to the times of the file.
class FileClock {
 public:
  FileClock(const ClockFit& fit, std::int64_t shift_ns) : fit_(fit), shift_ns_(shift_ns) {}

  /// Returns a time between minus half of the largest number and the largest.
  static std::int64_t on_reference(const ClockFit& fit, std::int64_t clock_ns) {
    // Exact if there is nothing to convert: a double does not hold every time.
    if (fit.offset_ns == 0 && fit.drift == 0) return clock_ns;
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    const double since = static_cast<double>(clock_ns) - static_cast<double>(fit.reference_ns);
    constexpr double kFarthest = 9e18;
    const double moved = std::clamp(fit.offset_ns + fit.drift * since, -kFarthest, kFarthest);
    std::int64_t result = 0;
    if (__builtin_add_overflow(clock_ns, std::llround(moved), &result)) {
      result = moved < 0 ? -kLargest : kLargest;
    }
    return std::max(result, -(kLargest / 2));
  }

  std::uint64_t operator()(std::int64_t clock_ns) const {
    return static_cast<std::uint64_t>(on_reference(fit_, clock_ns)) +
           static_cast<std::uint64_t>(shift_ns_);
  }

 private:
  const ClockFit& fit_;
  std::int64_t shift_ns_;
};

/// Writes one trace: a process and its tracks, in a packet sequence of its own. Slices begin and
/// end in the order of time, an end before a begin at the same time.
class ProcessWriter {
 public:
  ProcessWriter(PacketStream& out, const RankTrace& trace, std::size_t index, FileClock clock,
                bool has_flows)
      : out_(out),
        trace_(trace),
        index_(index),
        clock_(clock),
        has_flows_(has_flows),
        name_is_known_(trace.names.size()) {}

  void write() {
    write_process();
    write_steps();
    for (const TraceRecord& record : trace_.records) write_record(record);
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
  /// The end of an open slice, its number in the order of begins, and its track.
  struct End {
    std::uint64_t end_ns = 0, number = 0, track = 0;

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
    auto& category = *names.add_event_categories();
    category.set_iid(kCategories.size() + 1);
    category.set_name(std::string(kStepCategory));
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

  void write_record(const TraceRecord& record) {
    HOCKET_CHECK(is_plausible(record) && record.name < trace_.names.size(), "a trace in order");
    const std::uint64_t begin_ns = clock_(record.begin_ns);
    end_until(begin_ns);
    const std::uint64_t track = track_of(record);
    TracePacket begin = event(begin_ns, track, TrackEvent::TYPE_SLICE_BEGIN);
    auto& slice = *begin.mutable_track_event();
    slice.add_category_iids(category_iid(record.kind));
    set_name(begin, record.name);
    if (record.step != kNoStep) annotate(slice, kStep, record.step);
    if (record.task != kNoTask) annotate(slice, kTask, record.task);
    if (record.bytes != 0) annotate(slice, kBytes, record.bytes);
    if (record.sequence != kNoSequence) {
      annotate(slice, kSequence, record.sequence);
      // Draws arrows between the ranks' parts of one collective.
      if (has_flows_) slice.add_flow_ids(static_cast<std::uint64_t>(record.sequence) + 1);
    }
    if (record.collective) {
      auto& annotation = *slice.add_debug_annotations();
      annotation.set_name_iid(kCollective);
      annotation.set_string_value(std::string(to_string(*record.collective)));
    }
    out_.write(begin);
    ends_.push({std::max(clock_(record.end_ns), begin_ns), ++slices_, track});
  }

  void end_until(std::uint64_t at_ns) {
    while (!ends_.empty() && ends_.top().end_ns <= at_ns) {
      out_.write(event(ends_.top().end_ns, ends_.top().track, TrackEvent::TYPE_SLICE_END));
      ends_.pop();
    }
  }

  /// Writes a track with a slice for each window.
  void write_steps() {
    if (trace_.step_starts.size() < 2) return;
    const std::uint64_t track = add_track("steps", 0);
    for (std::size_t i = 0; i + 1 < trace_.step_starts.size(); ++i) {
      const StepStart& start = trace_.step_starts[i];
      TracePacket begin = event(clock_(start.begin_ns), track, TrackEvent::TYPE_SLICE_BEGIN);
      begin.mutable_track_event()->add_category_iids(kCategories.size() + 1);
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
  const bool has_flows_;
  std::vector<bool> name_is_known_;
  std::map<LaneKey, Lane> lanes_;
  std::priority_queue<End> ends_;  ///< ends of the open slices
  std::uint64_t tracks_ = 0, slices_ = 0;
};

/// Returns the shift that makes all times at least 0.
std::int64_t shift_of(std::span<const RankTrace> traces, std::span<const ClockFit> fits) {
  std::int64_t least = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const auto see = [&](std::int64_t ns) {
      least = std::min(least, FileClock::on_reference(fits[i], ns));
    };
    if (!traces[i].records.empty()) see(traces[i].records.front().begin_ns);
    if (!traces[i].step_starts.empty()) see(traces[i].step_starts.front().begin_ns);
  }
  return -least;
}

}  // namespace

Result<void> write_perfetto(std::ostream& out, std::span<const RankTrace> traces,
                            std::span<const ClockFit> fits) {
  HOCKET_CHECK(traces.size() == fits.size(), "each trace has a fit of its clock");
  const std::int64_t shift_ns = shift_of(traces, fits);
  PacketStream packets(out);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    ProcessWriter(packets, traces[i], i, FileClock(fits[i], shift_ns), traces.size() > 1).write();
  }
  packets.flush();
  if (!out.flush()) return failure(ErrorCode::unavailable, "the trace could not be written");
  return {};
}

}  // namespace hocket
