#include "archive/profiles/load_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/profiles/rank_ranges.h"
#include "archive/profiles/transfer/http_trace_transfer.h"
#include "core/base/statistics.h"
#include "profiler/formats/category.h"

namespace hocket {
namespace {

constexpr double kLatestNs = 9.2e18;

/// A rank whose trace file is open.
struct OpenRank {
  const ProfileRank* row = nullptr;
  LocalTrace file;
  std::unique_ptr<TraceFileReader> reader;
  ClockFit fit;
  std::vector<StepStart> starts;
};

std::string rank_text(std::int64_t rank) {
  return "rank " + std::to_string(rank);
}

/// Opens the trace files that can be opened, and notes the others.
class Opener {
 public:
  Opener(TraceSource& source, std::vector<std::string>& notes) : source_(source), notes_(notes) {}

  std::vector<OpenRank> open(const ProfileRow& profile, std::optional<std::int64_t> wanted) {
    std::vector<const ProfileRank*> rows;
    for (const ProfileRank& rank : profile.ranks) {
      if (!wanted || rank.rank == *wanted) rows.push_back(&rank);
    }
    std::ranges::sort(rows, {}, &ProfileRank::rank);
    std::vector<OpenRank> opened;
    for (const ProfileRank* row : rows) {
      if (row->trace_path.empty()) {
        missing_.push_back(row->rank);
      } else if (auto rank = open_rank(*row)) {
        opened.push_back(std::move(*rank));
      }
    }
    if (!missing_.empty()) {
      notes_.push_back(ranks_text(missing_) + (missing_.size() == 1
                                                   ? " is left out: its trace is missing"
                                                   : " are left out: their traces are missing"));
    }
    return opened;
  }

 private:
  std::optional<OpenRank> open_rank(const ProfileRank& row) {
    const auto leave_out = [&](const std::string& why) {
      notes_.push_back(rank_text(row.rank) + " is left out: " + why);
      return std::nullopt;
    };
    auto file = local_trace(row.trace_path);
    if (!file) return leave_out(file.error().message);
    auto reader = open_trace_file(file->path);
    if (!reader) return leave_out(reader.error().message);
    auto summary = (*reader)->summary();
    if (!summary) return leave_out(summary.error().message);
    auto starts = (*reader)->step_starts();
    if (!starts) return leave_out(starts.error().message);
    if (!summary->is_finished || summary->records < row.records) {
      notes_.push_back(rank_text(row.rank) + ": its trace file is cut off; it has " +
                       std::to_string(summary->records) + " of " + std::to_string(row.records) +
                       " records");
    }
    OpenRank rank{&row, std::move(*file), std::move(*reader), {}, std::move(*starts)};
    if (!row.clock_fit.empty()) {
      auto fit = clock_fit_from_json(row.clock_fit);
      if (fit) {
        rank.fit = std::move(*fit);
      } else {
        notes_.push_back(rank_text(row.rank) +
                         ": its clock is not compared: " + fit.error().message);
      }
    }
    return rank;
  }

  Result<LocalTrace> local_trace(const std::string& path) {
    if (const auto url = parse_trace_url(path)) return source_.fetch(*url);
    return LocalTrace{.path = path};
  }

  TraceSource& source_;
  std::vector<std::string>& notes_;
  std::vector<std::int64_t> missing_;  ///< ranks without a trace
};

std::optional<TraceWindow> own_window(const OpenRank& rank, std::int64_t step) {
  for (std::size_t i = 0; i + 1 < rank.starts.size(); ++i) {
    const StepStart &start = rank.starts[i], &next = rank.starts[i + 1];
    if (start.step == step && next.step == step + 1 && next.begin_ns > start.begin_ns) {
      return TraceWindow{start.begin_ns, next.begin_ns};
    }
  }
  return std::nullopt;
}

/// Returns the inverse of ClockFit::to_reference_ns().
std::int64_t from_reference_ns(const ClockFit& fit, std::int64_t reference_ns) {
  const double since = static_cast<double>(reference_ns - fit.reference_ns) - fit.offset_ns;
  const double own = since / (1 + fit.drift);
  if (!(std::abs(own) < kLatestNs / 2)) return fit.reference_ns;
  return fit.reference_ns + std::llround(own);
}

std::int64_t to_reference_ns(const ClockFit& fit, std::int64_t clock_ns) {
  return clock_ns + std::llround(fit.to_reference_ns(clock_ns, clock_ns));
}

/// Returns step ranges as text: "0 to 9, 12".
std::string steps_text(const OpenRank& rank) {
  std::string text;
  std::optional<std::int64_t> first, last;
  const auto flush = [&] {
    if (!first) return;
    text += (text.empty() ? "" : ", ") + std::to_string(*first);
    if (*last > *first) text += " to " + std::to_string(*last);
  };
  for (const StepStart& start : rank.starts) {
    if (!own_window(rank, start.step)) continue;
    if (!last || start.step != *last + 1) {
      flush();
      first = start.step;
    }
    last = start.step;
  }
  flush();
  return text.empty() ? "none" : text;
}

/// Returns the window of the iteration on each rank's clock.
Result<std::vector<TraceWindow>> iteration_windows(const ProfileRow& row,
                                                   std::span<const OpenRank> ranks,
                                                   std::int64_t step,
                                                   std::vector<std::string>& notes) {
  const auto reference = std::ranges::find_if(
      ranks, [&](const OpenRank& rank) { return own_window(rank, step).has_value(); });
  if (reference == ranks.end()) {
    return failure(ErrorCode::not_found, "profile " + row.name + " has no iteration " +
                                             std::to_string(step) + "; it has the iterations " +
                                             steps_text(ranks.front()));
  }
  const TraceWindow window = *own_window(*reference, step);
  std::vector<TraceWindow> windows;
  for (const OpenRank& rank : ranks) {
    const bool is_comparable = rank.fit.method != "none" && reference->fit.method != "none";
    if (&rank == &*reference) {
      windows.push_back(window);
    } else if (is_comparable) {
      const auto at = [&](std::int64_t ns) {
        return from_reference_ns(rank.fit, to_reference_ns(reference->fit, ns));
      };
      windows.push_back({at(window.begin_ns), at(window.end_ns)});
    } else {
      const auto own = own_window(rank, step);
      notes.push_back(rank_text(rank.row->rank) +
                      (own ? ": its clock is not compared with the others': its own iteration"
                           : ": its clock is not compared with the others', and it has no such "
                             "iteration"));
      windows.push_back(own.value_or(TraceWindow{0, 0}));
    }
  }
  return windows;
}

Error nothing_left(const ProfileRow& row, const LoadOptions& options,
                   const std::vector<std::string>& notes) {
  const auto has = [&](std::int64_t rank) {
    return std::ranges::find(row.ranks, rank, &ProfileRank::rank) != row.ranks.end();
  };
  if (options.rank && !has(*options.rank)) {
    return {ErrorCode::not_found, "profile " + row.name + " has no rank " +
                                      std::to_string(*options.rank) + "; it has " +
                                      std::to_string(row.ranks.size()) + " ranks"};
  }
  return {ErrorCode::not_found, "profile " + row.name + ": no trace can be read" +
                                    (notes.empty() ? "" : "; " + notes.front())};
}

nlohmann::json record_json(const RankTrace& trace, const TraceRecord& record) {
  nlohmann::json document = {{"kind", category_of(record.kind)},
                             {"lane", record.lane},
                             {"name", trace.names.at(record.name)},
                             {"begin_ns", record.begin_ns},
                             {"end_ns", record.end_ns}};
  if (record.collective) document["collective"] = to_string(*record.collective);
  if (record.step != kNoStep) document["step"] = record.step;
  if (record.task != kNoTask) document["task"] = record.task;
  if (record.bytes != 0) document["bytes"] = record.bytes;
  if (record.sequence != kNoSequence) document["sequence"] = record.sequence;
  return document;
}

}  // namespace

Result<LoadedProfile> load_profile(const ProfileRow& row, const LoadOptions& options) {
  LoadedProfile profile{.row = row, .traces = {}, .fits = {}};
  HttpTraceTransfer daemons;
  TraceSource& source = options.source ? *options.source : daemons;
  auto ranks = Opener(source, profile.notes).open(row, options.rank);
  if (ranks.empty()) return failure(nothing_left(row, options, profile.notes));
  std::vector<TraceWindow> windows(ranks.size());
  if (options.step) {
    auto found = iteration_windows(row, ranks, *options.step, profile.notes);
    HOCKET_TRY(found);
    windows = std::move(*found);
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    auto trace = ranks[i].reader->read(windows[i]);
    if (!trace) {
      profile.notes.push_back(rank_text(ranks[i].row->rank) +
                              " is left out: " + trace.error().message);
      continue;
    }
    // The row names the rank: a file may have been copied from elsewhere.
    trace->rank = ranks[i].row->rank;
    profile.traces.push_back(std::move(*trace));
    profile.fits.push_back(std::move(ranks[i].fit));
    if (options.step) profile.windows.push_back(windows[i]);
  }
  if (profile.traces.empty()) return failure(nothing_left(row, options, profile.notes));
  if (!row.structure.empty()) {
    auto structure = step_structure_from_json(row.structure);
    if (structure) {
      profile.structure = std::move(*structure);
    } else {
      profile.notes.push_back("its structure cannot be read: " + structure.error().message);
    }
  }
  return profile;
}

nlohmann::json to_json(const LoadedProfile& profile) {
  auto ranks = nlohmann::json::array();
  for (std::size_t i = 0; i < profile.traces.size(); ++i) {
    const RankTrace& trace = profile.traces[i];
    auto records = nlohmann::json::array();
    for (const TraceRecord& record : trace.records) records.push_back(record_json(trace, record));
    nlohmann::json rank = {{"rank", trace.rank},
                           {"host", trace.host},
                           {"clock_fit", to_json(profile.fits[i])},
                           {"records", std::move(records)}};
    if (i < profile.windows.size()) {
      rank["window"] = {{"begin_ns", profile.windows[i].begin_ns},
                        {"end_ns", profile.windows[i].end_ns}};
    }
    ranks.push_back(std::move(rank));
  }
  return {{"profile", profile.row.name}, {"notes", profile.notes}, {"ranks", std::move(ranks)}};
}

std::vector<std::string> notes_of(const ProfileRow& row) {
  std::vector<std::string> notes;
  const auto found = row.detail.find("notes");
  if (found == row.detail.end() || !found->is_array()) return notes;
  for (const auto& note : *found) {
    if (note.is_string()) notes.push_back(note.get<std::string>());
  }
  return notes;
}

std::optional<std::int64_t> typical_step(std::span<const ProfileIteration> iterations) {
  if (iterations.empty()) return std::nullopt;
  const std::int64_t rank = std::ranges::min_element(iterations, {}, &ProfileIteration::rank)->rank;
  std::vector<double> walls;
  for (const ProfileIteration& each : iterations) {
    if (each.rank == rank) walls.push_back(static_cast<double>(each.wall_ns));
  }
  const double middle = median(walls);
  std::optional<std::int64_t> step;
  double nearest = std::numeric_limits<double>::infinity();
  for (const ProfileIteration& each : iterations) {
    const double distance = std::abs(static_cast<double>(each.wall_ns) - middle);
    if (each.rank != rank || distance > nearest) continue;
    if (distance == nearest && step && *step < each.step) continue;
    nearest = distance;
    step = each.step;
  }
  return step;
}

}  // namespace hocket
