#include "plugins/nccl/control/collective_trace.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "plugins/nccl/tuning/choice.h"

namespace hocket::nccl {
namespace {

using measure::MeasuredCollective;
using Number = std::pair<int, std::uint64_t>;  // function and NCCL's number

std::int64_t end_ns(const MeasuredCollective& collective) {
  return collective.start_ns + collective.time_ns;
}

std::map<Number, std::int64_t> ends_of(const std::vector<MeasuredCollective>& collectives) {
  std::map<Number, std::int64_t> ends;
  for (const MeasuredCollective& each : collectives)
    ends.emplace(Number{each.function, each.sequence}, end_ns(each));
  return ends;
}

/// Returns what to add to a rank's times: the median over the collectives of both.
std::int64_t offset_ns(const std::map<Number, std::int64_t>& reference,
                       const std::vector<MeasuredCollective>& collectives) {
  std::vector<std::int64_t> offsets;
  for (const MeasuredCollective& each : collectives) {
    const auto found = reference.find({each.function, each.sequence});
    if (found != reference.end()) offsets.push_back(found->second - end_ns(each));
  }
  if (offsets.empty()) return 0;
  const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2);
  std::nth_element(offsets.begin(), middle, offsets.end());
  return *middle;
}

std::string microseconds(std::int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(ns / 1000),
                static_cast<int>(ns % 1000));
  return text;
}

std::string name_of(const MeasuredCollective& collective) {
  return to_string(class_of(collective.function, collective.bytes)) + ", " +
         arm_word(collective.algorithm, collective.protocol) + ", " +
         std::to_string(collective.channels) + " channels";
}

void append_step(std::string& text, const std::string& place, std::int64_t step, std::int64_t ns) {
  text += R"({"ph":"i","s":"t",)" + place + R"(,"cat":"step","name":"step )" +
          std::to_string(step) + R"(","ts":)" + microseconds(ns) + R"(,"args":{"step":)" +
          std::to_string(step) + "}},\n";
}

std::string trace_of(int rank, int ranks, std::vector<MeasuredCollective> collectives,
                     std::int64_t shift_ns, std::int64_t iterations) {
  std::sort(collectives.begin(), collectives.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  const auto count = static_cast<std::int64_t>(collectives.size());
  // At the edges of what is measured a few collectives may be missing.
  const std::int64_t per_step = std::max<std::int64_t>((count + iterations / 2) / iterations, 1);
  const std::string place =
      "\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(rank + 1);
  std::string text = "{\"traceEvents\":[\n";
  for (std::int64_t i = 0; i < count; ++i) {
    const MeasuredCollective& each = collectives[static_cast<std::size_t>(i)];
    const std::int64_t begin_ns = each.start_ns + shift_ns, step = i / per_step;
    if (i % per_step == 0) append_step(text, place, step, begin_ns);
    text += R"({"ph":"X",)" + place + R"(,"cat":"communication","name":")" + name_of(each) +
            R"(","ts":)" + microseconds(begin_ns) + ",\"dur\":" + microseconds(each.time_ns) +
            R"(,"args":{"lane":0,"step":)" + std::to_string(step) +
            ",\"bytes\":" + std::to_string(each.bytes) + ",\"sequence\":" + std::to_string(i) +
            R"(,"collective":")" + to_string(static_cast<Function>(each.function)) + "\"}},\n";
  }
  // A last mark ends the last step.
  append_step(text, place, (count - 1) / per_step + 1, end_ns(collectives.back()) + shift_ns);
  return text + R"({"ph":"M","name":"hocket","pid":)" + std::to_string(rank) +
         R"(,"tid":0,"args":{"ranks":)" + std::to_string(ranks) +
         R"(,"host":"","source":"nccl"}},)" + "\n" + R"({"ph":"M","name":"thread_name",)" + place +
         R"(,"args":{"name":"communication 0"}})" + "\n]}\n";
}

}  // namespace

std::vector<std::string> traces_of(const std::vector<measure::RankCollectives>& all, int ranks,
                                   std::int64_t iterations) {
  std::vector<std::vector<MeasuredCollective>> usable(static_cast<std::size_t>(ranks));
  for (const measure::RankCollectives& each : all) {
    if (each.rank < 0 || each.rank >= ranks) continue;
    auto& its = usable[static_cast<std::size_t>(each.rank)];
    for (const MeasuredCollective& collective : each.collectives)
      if (collective.is_complete() && collective.function >= 0 && collective.function < kFunctions)
        its.push_back(collective);
  }
  const auto first =
      std::find_if(usable.begin(), usable.end(), [](const auto& its) { return !its.empty(); });
  std::vector<std::string> traces(usable.size());
  if (first == usable.end()) return traces;
  const auto reference = ends_of(*first);
  // Times begin near 0 on all ranks, and none is before it.
  std::vector<std::int64_t> offsets(usable.size());
  std::int64_t earliest_ns = INT64_MAX;
  for (std::size_t rank = 0; rank < usable.size(); ++rank) {
    offsets[rank] = offset_ns(reference, usable[rank]);
    for (const MeasuredCollective& each : usable[rank])
      earliest_ns = std::min(earliest_ns, each.start_ns + offsets[rank]);
  }
  for (std::size_t rank = 0; rank < usable.size(); ++rank) {
    if (usable[rank].empty()) continue;
    traces[rank] = trace_of(static_cast<int>(rank), ranks, std::move(usable[rank]),
                            offsets[rank] - earliest_ns, iterations);
  }
  return traces;
}

}  // namespace hocket::nccl
