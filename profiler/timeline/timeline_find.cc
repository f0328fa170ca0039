// The search for records by name.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/timeline/timeline_state.h"

namespace hocket {
namespace {

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// By the number of a name: 1 if it contains the text. Bytes, which are faster to test than bits.
using NameSet = std::vector<std::uint8_t>;

NameSet names_with(const std::vector<std::string>& names, std::string_view text) {
  NameSet with(names.size(), 1);
  if (text.empty()) return with;
  const std::string wanted = lowered(text);
  for (std::size_t i = 0; i < names.size(); ++i) {
    with[i] = lowered(names[i]).find(wanted) != std::string::npos ? 1 : 0;
  }
  return with;
}

/// Start of a search: a record or, without one, the time `begin_ns`.
struct SearchOrigin {
  std::int64_t begin_ns = 0;
  std::optional<RecordPlace> place;
};

/// Returns the number of a lane's records that come before the origin, in the order of begin and
/// place, and, if `forward`, the origin itself.
std::size_t records_until(const LaneRecords& records, std::uint32_t lane,
                          const SearchOrigin& origin, bool forward) {
  if (!origin.place || lane > origin.place->lane) return records.first_begin_from(origin.begin_ns);
  if (lane < origin.place->lane) return records.first_begin_from(origin.begin_ns + 1);
  return origin.place->record + (forward ? 1 : 0);
}

class MatchFinder {
 public:
  MatchFinder(const TimelineState& state, const NameSet& names, const SearchOrigin& origin,
              std::int64_t least_ns)
      : state_(state), names_(names), origin_(origin), least_ns_(least_ns) {}

  /// Looks for the first match of a lane after the origin. Requires that lanes rise.
  void look_after(std::uint32_t lane) {
    const LaneRecords& records = state_.lane_records[lane];
    for (std::size_t i = records_until(records, lane, origin_, true); i < records.size(); ++i) {
      // Matches that begin at the same time are ordered by lane, and lanes rise.
      if (found_ && records.begin_ns(i) >= begin_ns_) return;
      if (matches(records, i)) return keep(lane, i);
    }
  }

  /// Looks for the last match of a lane before the origin. Requires that lanes rise.
  void look_before(std::uint32_t lane) {
    const LaneRecords& records = state_.lane_records[lane];
    for (std::size_t i = records_until(records, lane, origin_, false); i > 0; --i) {
      if (found_ && records.begin_ns(i - 1) < begin_ns_) return;
      if (matches(records, i - 1)) return keep(lane, i - 1);
    }
  }

  std::optional<FoundRecord> found() const {
    if (!found_) return std::nullopt;
    const LaneRecords& records = state_.lane_records[found_->lane];
    return FoundRecord{*found_, begin_ns_, records.end_ns(found_->record),
                       state_.names[records.name(found_->record)]};
  }

 private:
  bool matches(const LaneRecords& records, std::size_t record) const {
    return names_[records.name(record)] != 0 &&
           records.end_ns(record) - records.begin_ns(record) >= least_ns_;
  }

  void keep(std::uint32_t lane, std::size_t record) {
    found_ = RecordPlace{lane, static_cast<std::uint32_t>(record)};
    begin_ns_ = state_.lane_records[lane].begin_ns(record);
  }

  const TimelineState& state_;
  const NameSet& names_;
  const SearchOrigin& origin_;
  const std::int64_t least_ns_;
  std::optional<RecordPlace> found_;
  std::int64_t begin_ns_ = 0;
};

}  // namespace

Result<TimelineMatches> Timeline::find(const TimelineSearch& search) const {
  SearchOrigin origin{search.from_ns, search.from};
  if (search.from) {
    if (!state_->has(*search.from)) {
      return failure(ErrorCode::not_found, "no record " + std::to_string(search.from->record) +
                                               " in lane " + std::to_string(search.from->lane));
    }
    origin.begin_ns = state_->lane_records[search.from->lane].begin_ns(search.from->record);
  }
  const NameSet names = names_with(state_->names, search.text);
  TimelineMatches result;
  for (const NameCount& count : state_->name_counts) {
    const bool is_meant = !search.kind || *search.kind == count.kind;
    if (is_meant && names[count.name] != 0) result.matches += count.records;
  }
  if (result.matches == 0) return result;
  MatchFinder finder(*state_, names, origin, search.least_ns);
  for (std::uint32_t lane = 0; lane < state_->lanes.size(); ++lane) {
    if (search.kind && *search.kind != state_->lanes[lane].kind) continue;
    search.backward ? finder.look_before(lane) : finder.look_after(lane);
  }
  result.found = finder.found();
  return result;
}

}  // namespace hocket
