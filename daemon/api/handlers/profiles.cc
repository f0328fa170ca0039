// Profiles: the catalogue, figures, comparisons and timelines.

#include <nlohmann/json.hpp>
#include <sstream>

#include "archive/profiles/export_profile.h"
#include "archive/profiles/profile_summary.h"
#include "archive/profiles/report/diff_profiles.h"
#include "daemon/api/handlers/call.h"
#include "daemon/traces/served_traces.h"
#include "profiler/timeline/timeline_json.h"

namespace hocket {
namespace {

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostPlace = std::numeric_limits<std::uint32_t>::max();

Result<ProfileRow> profile_of(const RouteCall& call, std::string_view parameter = "profile") {
  auto row = call.parts.store.profile(call.parameter(parameter));
  HOCKET_TRY(row);
  return call.parts.traces.with_own_paths(std::move(*row));
}

Result<std::shared_ptr<const LoadedTimeline>> timeline_of(const RouteCall& call) {
  return call.parts.computed.timeline(call.parameter("profile"));
}

/// Returns the number `name` of the query, which must be there.
Result<std::int64_t> needed_number(const RouteCall& call, const char* name, std::int64_t high) {
  if (!call.target.find(name)) {
    return failure(ErrorCode::invalid_argument,
                   "query \"" + std::string(name) +
                       "\" is missing: expected an integer from 0 to " + std::to_string(high));
  }
  return call.number(name, 0, high, 0);
}

/// Returns a profile as who asks may see it: where its traces are is for administrators.
nlohmann::json summary_json(const RouteCall& call, const ProfileSummary& summary) {
  auto document = to_json(summary);
  if (call.who.role == AccessRole::admin) return document;
  for (auto& rank : document["ranks"]) {
    if (rank["trace"].is_string())
      rank["trace"] = with_file_names(rank["trace"].get<std::string>());
  }
  return document;
}

Result<ServiceReply> list_profiles(const RouteCall& call) {
  UnreadRows unread;
  const auto summaries = summarize_profiles(call.parts.store, &unread);
  HOCKET_TRY(summaries);
  nlohmann::json list = nlohmann::json::array();
  for (const ProfileSummary& summary : *summaries) list.push_back(summary_json(call, summary));
  return json_response(with_unread({{"profiles", std::move(list)}}, unread));
}

Result<ServiceReply> get_profile(const RouteCall& call) {
  const auto row = profile_of(call);
  HOCKET_TRY(row);
  const auto summary = summarize_profile(call.parts.store, *row);
  HOCKET_TRY(summary);
  const auto figures = profile_figures(call.parts.store, *row);
  HOCKET_TRY(figures);
  return json_response({{"summary", summary_json(call, *summary)}, {"figures", to_json(*figures)}});
}

Result<ServiceReply> diff_profile(const RouteCall& call) {
  const auto before = profile_of(call);
  HOCKET_TRY(before);
  const auto after = profile_of(call, "other");
  HOCKET_TRY(after);
  const auto difference = diff_profiles(call.parts.store, *before, *after);
  HOCKET_TRY(difference);
  return json_response(to_json(*difference));
}

Result<ServiceReply> get_trace(const RouteCall& call) {
  const auto row = profile_of(call);
  HOCKET_TRY(row);
  const auto format = parse_export_format(call.target.find("format").value_or("perfetto"));
  if (!format) return failure(format.error().in("query \"format\""));
  const auto loaded = load_profile(*row);
  HOCKET_TRY(loaded);
  std::ostringstream out;
  HOCKET_TRY(export_profile(*loaded, *format, out));
  auto response = bytes_response(std::move(out).str());
  const bool is_perfetto = *format == ExportFormat::perfetto;
  if (!is_perfetto) response.content_type = "application/json";
  // Names of profiles have no character that would need quoting.
  response.fields.emplace_back(
      "Content-Disposition",
      "attachment; filename=\"" + row->name + (is_perfetto ? ".perfetto-trace\"" : ".json\""));
  return response;
}

Result<ServiceReply> get_timeline(const RouteCall& call) {
  const auto loaded = timeline_of(call);
  HOCKET_TRY(loaded);
  auto document = to_json((*loaded)->timeline);
  document["profile"] = (*loaded)->profile;
  for (const std::string& note : (*loaded)->notes) document["notes"].push_back(note);
  return json_response(document);
}

Result<ServiceReply> get_tile(const RouteCall& call) {
  const auto level = needed_number(call, "level", kMaxTileLevel);
  HOCKET_TRY(level);
  const auto index = needed_number(call, "index", kMost);
  HOCKET_TRY(index);
  const auto loaded = timeline_of(call);
  HOCKET_TRY(loaded);
  const auto tile = (*loaded)->timeline.tile(*level, *index);
  HOCKET_TRY(tile);
  return bytes_response(tile_bytes(*tile));
}

Result<ServiceReply> get_record(const RouteCall& call) {
  const auto lane = needed_number(call, "lane", kMost);
  HOCKET_TRY(lane);
  const auto record = needed_number(call, "record", kMost);
  HOCKET_TRY(record);
  const auto loaded = timeline_of(call);
  HOCKET_TRY(loaded);
  const auto found = (*loaded)->timeline.record(*lane, *record);
  HOCKET_TRY(found);
  return json_response(to_json(*found));
}

Result<ServiceReply> get_range(const RouteCall& call) {
  const auto begin = needed_number(call, "begin_ns", kMost);
  HOCKET_TRY(begin);
  const auto end = needed_number(call, "end_ns", kMost);
  HOCKET_TRY(end);
  const auto loaded = timeline_of(call);
  HOCKET_TRY(loaded);
  const auto figures = (*loaded)->timeline.range(*begin, *end);
  HOCKET_TRY(figures);
  return json_response(to_json(*figures));
}

Result<ServiceReply> find_record(const RouteCall& call) {
  TimelineSearch search;
  search.text = std::string(call.target.find("text").value_or(""));
  const auto kind = lane_kind_from(call.target.find("kind").value_or(""));
  if (!kind) return failure(kind.error().in("query \"kind\""));
  search.kind = *kind;
  const auto from = call.number("from_ns", 0, kMost, 0);
  HOCKET_TRY(from);
  search.from_ns = *from;
  const auto least = call.number("least_ns", 0, kMost, 0);
  HOCKET_TRY(least);
  search.least_ns = *least;
  const auto backward = call.number("backward", 0, 1, 0);
  HOCKET_TRY(backward);
  search.backward = *backward != 0;
  if (call.target.find("from_lane")) {
    const auto lane = needed_number(call, "from_lane", kMostPlace);
    HOCKET_TRY(lane);
    const auto record = needed_number(call, "from_record", kMostPlace);
    HOCKET_TRY(record);
    search.from =
        RecordPlace{static_cast<std::uint32_t>(*lane), static_cast<std::uint32_t>(*record)};
  }
  const auto loaded = timeline_of(call);
  HOCKET_TRY(loaded);
  const auto found = (*loaded)->timeline.find(search);
  HOCKET_TRY(found);
  return json_response(to_json(*found));
}

}  // namespace

std::span<const ApiRoute> profile_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"GET", "/v1/profiles", AccessRole::read, list_profiles, RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}", AccessRole::read, get_profile, RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}/diff/{other}", AccessRole::read, diff_profile,
       RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}/trace", AccessRole::read, get_trace, RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}/timeline", AccessRole::read, get_timeline,
       RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}/timeline/tile", AccessRole::read, get_tile,
       RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}/timeline/record", AccessRole::read, get_record,
       RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}/timeline/range", AccessRole::read, get_range,
       RequestLabour::browse},
      {"GET", "/v1/profiles/{profile}/timeline/find", AccessRole::read, find_record,
       RequestLabour::browse},
  };
  return kRoutes;
}

}  // namespace hocket
