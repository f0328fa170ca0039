#include "profiler/timeline/timeline_json.h"

#include <nlohmann/json.hpp>

namespace hocket {
namespace {

void set_if_known(nlohmann::json& document, const char* field,
                  const std::optional<std::int64_t>& value) {
  if (value) document[field] = *value;
}

}  // namespace

nlohmann::json to_json(const Timeline& timeline) {
  auto ranks = nlohmann::json::array(), lanes = nlohmann::json::array(),
       iterations = nlohmann::json::array();
  for (const TimelineRank& rank : timeline.ranks()) {
    ranks.push_back({{"rank", rank.rank}, {"host", rank.host}, {"source", rank.source}});
  }
  for (const TimelineLane& lane : timeline.lanes()) {
    lanes.push_back({{"rank", lane.rank},
                     {"kind", to_string(lane.kind)},
                     {"lane", lane.lane},
                     {"title", lane.title},
                     {"records", lane.records}});
  }
  for (const TimelineIteration& iteration : timeline.iterations()) {
    iterations.push_back(
        {{"step", iteration.step}, {"begin_ns", iteration.begin_ns}, {"end_ns", iteration.end_ns}});
  }
  return {{"end_ns", timeline.end_ns()}, {"records", timeline.records()},
          {"names", timeline.names()},   {"ranks", std::move(ranks)},
          {"lanes", std::move(lanes)},   {"iterations", std::move(iterations)},
          {"notes", timeline.notes()}};
}

nlohmann::json to_json(const RecordDetails& record) {
  nlohmann::json document = {{"name", record.name},         {"kind", to_string(record.kind)},
                             {"rank", record.rank},         {"lane", record.lane},
                             {"begin_ns", record.begin_ns}, {"end_ns", record.end_ns}};
  set_if_known(document, "step", record.step);
  set_if_known(document, "task", record.task);
  set_if_known(document, "bytes", record.bytes);
  if (record.collective) document["collective"] = to_string(*record.collective);
  set_if_known(document, "sequence", record.sequence);
  set_if_known(document, "submitted_ns", record.submitted_ns);
  set_if_known(document, "ready_ns", record.ready_ns);
  auto& partners = document["partners"] = nlohmann::json::array();
  for (const CollectivePart& part : record.parts) {
    partners.push_back({{"rank", part.rank},
                        {"lane", part.place.lane},
                        {"record", part.place.record},
                        {"begin_ns", part.begin_ns},
                        {"end_ns", part.end_ns}});
  }
  set_if_known(document, "arrival_skew_ns", record.arrival_skew_ns);
  return document;
}

nlohmann::json to_json(const RangeFigures& figures) {
  auto ranks = nlohmann::json::array(), top = nlohmann::json::array();
  for (const RankFigures& rank : figures.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"compute_ns", rank.compute_ns},
                     {"communication_ns", rank.communication_ns},
                     {"exposed_ns", rank.exposed_ns},
                     {"copy_ns", rank.copy_ns},
                     {"idle_ns", rank.idle_ns ? nlohmann::json(*rank.idle_ns) : nlohmann::json()},
                     {"records", rank.records}});
  }
  for (const NameFigures& name : figures.top) {
    top.push_back({{"kind", to_string(name.kind)},
                   {"name", name.name},
                   {"records", name.records},
                   {"busy_ns", name.busy_ns}});
  }
  return {{"begin_ns", figures.begin_ns},
          {"end_ns", figures.end_ns},
          {"ranks", std::move(ranks)},
          {"top", std::move(top)}};
}

nlohmann::json to_json(const TimelineMatches& matches) {
  nlohmann::json document = {{"found", nullptr}, {"matches", matches.matches}};
  if (const auto& found = matches.found) {
    document["found"] = {{"lane", found->place.lane},
                         {"record", found->place.record},
                         {"begin_ns", found->begin_ns},
                         {"end_ns", found->end_ns},
                         {"name", found->name}};
  }
  return document;
}

std::string tile_bytes(std::span<const std::uint32_t> words) {
  std::string bytes;
  bytes.reserve(words.size() * sizeof(std::uint32_t));
  for (const std::uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xff);
  }
  return bytes;
}

}  // namespace hocket
