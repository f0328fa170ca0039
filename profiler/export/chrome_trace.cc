#include "profiler/export/chrome_trace.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "core/check.h"

namespace hocket {
namespace {

constexpr std::size_t kChunkBytes = 1 << 16;

void append_number(std::string& text, std::int64_t number) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// Nanoseconds as microseconds with three decimals.
void append_microseconds(std::string& text, std::int64_t ns) {
  const std::int64_t fraction = ns % 1000 < 0 ? -(ns % 1000) : ns % 1000;
  if (ns < 0 && ns > -1000) text += '-';
  append_number(text, ns / 1000);
  text += '.';
  for (std::int64_t unit = 100; unit > 0; unit /= 10) {
    text += static_cast<char>('0' + fraction / unit % 10);
  }
}

/// As a JSON string, whatever it holds.
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
  // No "displayTimeUnit": some versions of Perfetto take it for the unit of the times.
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

std::int64_t ChromeTraceWriter::take_thread(Lane& lane, std::int64_t begin_ns,
                                            std::int64_t end_ns) {
  const auto later = lane.by_end.upper_bound(begin_ns);
  if (later == lane.by_end.begin()) {
    // Of the file, not of the process: Perfetto names threads by this number alone.
    const std::int64_t thread = ++threads_;
    lane.threads.push_back(thread);
    lane.by_end.emplace(end_ns, thread);
    return thread;
  }
  auto node = lane.by_end.extract(std::prev(later));
  node.key() = end_ns;
  return lane.by_end.insert(std::move(node))->second;
}

void ChromeTraceWriter::record(std::int64_t rank, const TraceEvent& event) {
  HOCKET_CHECK(event.begin_ns <= event.end_ns, "an event ends after it begins");
  const std::lock_guard lock(mutex_);
  HOCKET_CHECK(!is_finished_, "nothing is recorded after the end");
  const std::int64_t thread =
      take_thread(lanes_[{rank, event.kind, event.lane}], event.begin_ns, event.end_ns);
  begin_event();
  // The time stands before the name: readers that look for it by hand stumble over escapes.
  text_ += "{\"ph\":\"X\",\"pid\":";
  append_number(text_, rank);
  text_ += ",\"tid\":";
  append_number(text_, thread);
  text_ += ",\"ts\":";
  append_microseconds(text_, event.begin_ns);
  text_ += ",\"dur\":";
  append_microseconds(text_, event.end_ns - event.begin_ns);
  text_ += event.kind == TraceKind::compute ? ",\"cat\":\"compute\"" : ",\"cat\":\"communication\"";
  text_ += ",\"name\":" + quoted(event.name) + ",\"args\":{\"step\":";
  append_number(text_, event.step);
  text_ += ",\"bytes\":";
  append_number(text_, event.bytes);
  text_ += "}}";
  if (text_.size() >= kChunkBytes) write_text();
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
    const std::string name =
        (key.kind == TraceKind::compute ? "stream " : "communication ") + std::to_string(key.lane);
    for (std::size_t i = 0; i < lane.threads.size(); ++i) {
      const std::string further = i == 0 ? "" : " (" + std::to_string(i + 1) + ")";
      write(key.rank, lane.threads[i], "thread_name", {{"name", name + further}});
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
