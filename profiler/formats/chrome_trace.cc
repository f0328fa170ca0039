#include "profiler/formats/chrome_trace.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "core/base/check.h"
#include "profiler/formats/category.h"

namespace hocket {
namespace {

constexpr std::size_t kChunkBytes = 1 << 16;

void append_number(std::string& text, std::int64_t number) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// Appends nanoseconds as microseconds with three decimals.
void append_microseconds(std::string& text, std::int64_t ns) {
  const std::int64_t fraction = ns % 1000 < 0 ? -(ns % 1000) : ns % 1000;
  if (ns < 0 && ns > -1000) text += '-';
  append_number(text, ns / 1000);
  text += '.';
  for (std::int64_t unit = 100; unit > 0; unit /= 10) {
    text += static_cast<char>('0' + fraction / unit % 10);
  }
}

/// Returns any text as a JSON string.
std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

class ChromeTraceWriter::RankSink final : public TraceSink {
 public:
  RankSink(ChromeTraceWriter& writer, std::int64_t rank) : writer_(writer), rank_(rank) {}
  void record(const TraceEvent& event) override { writer_.record(rank_, event); }

 private:
  ChromeTraceWriter& writer_;
  const std::int64_t rank_;
};

ChromeTraceWriter::ChromeTraceWriter(std::ostream& out) : out_(out) {
  // Omits "displayTimeUnit": some versions of Perfetto take it for the unit of the times.
  text_ = "{\"traceEvents\":[";
}

ChromeTraceWriter::~ChromeTraceWriter() {
  if (!is_finished_) (void)finish();
}

TraceSink& ChromeTraceWriter::rank(std::int64_t rank) {
  const std::lock_guard lock(mutex_);
  auto& sink = ranks_[rank];
  if (!sink) sink = std::make_unique<RankSink>(*this, rank);
  return *sink;
}

std::int64_t ChromeTraceWriter::take_thread(const LaneKey& key, std::int64_t begin_ns,
                                            std::int64_t end_ns) {
  Lane& lane = lanes_.try_emplace(key, Lane{LaneTracks(nests(key.kind)), {}}).first->second;
  const std::size_t track = lane.tracks.place(begin_ns, end_ns);
  // Numbers are unique in the file, not in the process: Perfetto names threads by this number
  // alone.
  while (lane.threads.size() <= track) lane.threads.push_back(++threads_);
  return lane.threads[track];
}

void ChromeTraceWriter::begin_span(const LaneKey& lane, std::string_view name,
                                   std::int64_t begin_ns, std::int64_t end_ns) {
  const std::int64_t thread = take_thread(lane, begin_ns, end_ns);
  begin_event();
  // The time comes before the name: readers without a JSON parser fail on escapes.
  text_ += "{\"ph\":\"X\",\"pid\":";
  append_number(text_, lane.rank);
  text_ += ",\"tid\":";
  append_number(text_, thread);
  text_ += ",\"ts\":";
  append_microseconds(text_, begin_ns);
  text_ += ",\"dur\":";
  append_microseconds(text_, end_ns - begin_ns);
  text_.append(",\"cat\":\"").append(category_of(lane.kind)).append("\"");
  text_ += ",\"name\":" + quoted(name) + ",\"args\":{";
}

void ChromeTraceWriter::record(std::int64_t rank, const TraceEvent& event) {
  HOCKET_CHECK(event.begin_ns <= event.end_ns, "an event ends after it begins");
  const std::lock_guard lock(mutex_);
  HOCKET_CHECK(!is_finished_, "nothing is recorded after the end");
  begin_span({rank, event.kind, event.lane}, event.name, event.begin_ns, event.end_ns);
  text_ += "\"step\":";
  append_number(text_, event.step);
  text_ += ",\"bytes\":";
  append_number(text_, event.bytes);
  text_ += "}}";
  if (text_.size() >= kChunkBytes) write_text();
}

void ChromeTraceWriter::write_record(const RankTrace& trace, const TraceRecord& record) {
  begin_span({trace.rank, record.kind, record.lane}, trace.names[record.name], record.begin_ns,
             record.end_ns);
  text_ += "\"lane\":";
  append_number(text_, record.lane);
  const auto append = [&](std::string_view key, std::int64_t value, std::int64_t unknown) {
    if (value == unknown) return;
    text_.append(",\"").append(key).append("\":");
    append_number(text_, value);
  };
  append("step", record.step, kNoStep);
  append("task", record.task, kNoTask);
  append("bytes", record.bytes, 0);
  append("sequence", record.sequence, kNoSequence);
  append("submitted_ns", record.submitted_ns, 0);
  append("ready_ns", record.ready_ns, 0);
  if (record.collective) {
    text_.append(",\"collective\":\"").append(to_string(*record.collective)).append("\"");
  }
  if (record.group != kAllRanks) {
    const TraceGroup& group = trace.groups[static_cast<std::size_t>(record.group)];
    text_ += ",\"group\":" + quoted(std::string_view(group.name));
    // As text, like PyTorch's "Process Group Ranks".
    if (!group.ranks.empty())
      text_ += ",\"group_ranks\":\"" + nlohmann::json(group.ranks).dump() + "\"";
  }
  text_ += "}}";
  if (text_.size() >= kChunkBytes) write_text();
}

void ChromeTraceWriter::write_head(const RankTrace& trace) {
  const auto metadata = [&](std::string_view name, const std::string& arguments) {
    begin_event();
    text_.append("{\"ph\":\"M\",\"pid\":").append(std::to_string(trace.rank));
    text_.append(",\"tid\":0,\"name\":\"").append(name).append("\",\"args\":");
    text_.append(arguments).append("}");
  };
  const nlohmann::json head{{"ranks", trace.ranks},
                            {"host", trace.host},
                            {"source", trace.source},
                            {"dropped", trace.dropped},
                            {"quarantined", trace.quarantined},
                            {"shortened", trace.shortened}};
  metadata("hocket", head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  for (const ClockSample& sample : trace.clock_samples) {
    metadata(
        "hocket_clock",
        nlohmann::json{{"clock_ns", sample.clock_ns}, {"realtime_ns", sample.realtime_ns}}.dump());
  }
  for (const StepStart& start : trace.step_starts) {
    begin_event();
    text_.append("{\"ph\":\"i\",\"s\":\"p\",\"pid\":").append(std::to_string(trace.rank));
    text_ += ",\"tid\":0,\"ts\":";
    append_microseconds(text_, start.begin_ns);
    const std::string step = std::to_string(start.step);
    text_.append(",\"cat\":\"step\",\"name\":\"step ").append(step);
    text_.append("\",\"args\":{\"step\":").append(step).append("}}");
    if (text_.size() >= kChunkBytes) write_text();
  }
}

void ChromeTraceWriter::write(const RankTrace& trace) {
  (void)rank(trace.rank);  // creates and names its process
  const std::lock_guard lock(mutex_);
  HOCKET_CHECK(!is_finished_, "nothing is recorded after the end");
  write_head(trace);
  for (const TraceRecord& record : trace.records) {
    HOCKET_CHECK(is_plausible(record) && record.name < trace.names.size() &&
                     record.group < std::ssize(trace.groups),
                 "a trace in order");
    write_record(trace, record);
  }
}

Result<void> ChromeTraceWriter::finish() {
  const std::lock_guard lock(mutex_);
  HOCKET_CHECK(!is_finished_, "a trace is finished once");
  is_finished_ = true;
  write_names();
  text_ += "\n]}\n";
  write_text();
  if (!out_.flush()) return failure(ErrorCode::unavailable, "the trace could not be written");
  return {};
}

void ChromeTraceWriter::write_names() {
  const auto write = [&](std::int64_t rank, std::int64_t thread, std::string_view what,
                         const nlohmann::json& arguments) {
    begin_event();
    text_ +=
        nlohmann::json{
            {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"name", what}, {"args", arguments}}
            .dump();
  };
  for (const auto& [rank, sink] : ranks_) {
    write(rank, 0, "process_name", {{"name", "rank " + std::to_string(rank)}});
    write(rank, 0, "process_sort_index", {{"sort_index", rank}});
  }
  std::int64_t place = 0;
  for (const auto& [key, lane] : lanes_) {
    for (std::size_t i = 0; i < lane.threads.size(); ++i) {
      write(key.rank, lane.threads[i], "thread_name",
            {{"name", track_name(key.kind, key.lane, i)}});
      write(key.rank, lane.threads[i], "thread_sort_index", {{"sort_index", place++}});
    }
  }
}

void ChromeTraceWriter::begin_event() {
  text_ += is_first_ ? "\n" : ",\n";
  is_first_ = false;
}

void ChromeTraceWriter::write_text() {
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

}  // namespace hocket
