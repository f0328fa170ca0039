#include "job/run/job_profile.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "archive/profiles/save_profile.h"
#include "archive/profiles/transfer/http_trace_transfer.h"
#include "core/base/json.h"
#include "job/run/watching.h"
#include "profiler/clocks/clock_fit.h"
#include "store/open.h"
#include "store/profile_folder.h"
#include "store/trace_file.h"

namespace hocket {
namespace {

/// Rounds of the clock exchange, each a tiny all-reduce; the tightest ones count.
constexpr int kClockRounds = 64;
/// Steps submitted after a span before it is over.
constexpr std::int64_t kStepsAfter = 3;

Result<void> write_trace(const RankTrace& trace, const std::string& path) {
  auto file = create_trace_file(path, trace);
  HOCKET_TRY(file);
  auto written = (*file)->append(trace);
  if (written) written = (*file)->finish();
  if (written) return written;
  std::error_code error;
  std::filesystem::remove(path, error);
  return written;
}

Result<RankTrace> read_trace(const std::string& path) {
  const auto file = open_trace_file(path);
  HOCKET_TRY(file);
  return (*file)->read();
}

/// Returns the path or URL of a rank's trace, which is beside that of rank 0.
std::string path_beside(const std::string& first, std::int64_t rank) {
  auto url = parse_trace_url(first);
  if (!url) return trace_file_path(std::filesystem::path(first).parent_path(), rank);
  url->rank = rank;
  return url->text();
}

/// Writes the trace to `path`, or sends it there if that is a URL.
Result<void> put_trace(const RankTrace& trace, const std::string& path) {
  const auto url = parse_trace_url(path);
  if (!url) return write_trace(trace, path);
  const auto folder = ScratchFolder::make();
  HOCKET_TRY(folder);
  const std::string file = trace_file_path(folder->path(), trace.rank);
  HOCKET_TRY(write_trace(trace, file));
  return HttpTraceTransfer().send(file, *url);
}

Result<RankTrace> get_trace(const std::string& path) {
  const auto url = parse_trace_url(path);
  if (!url) return read_trace(path);
  const auto fetched = HttpTraceTransfer().fetch(*url);
  HOCKET_TRY(fetched);
  return read_trace(fetched->path);
}

struct Target {
  std::unique_ptr<Store> store;
  ProfileFolder folder;
  std::string path;  ///< path of rank 0's trace
};

/// Opens the store and a place for the profile's traces, on rank 0.
Result<Target> open_target(const Result<std::string>& store_path, const RunReport& report,
                           const JobProfile::Say& warn) {
  HOCKET_TRY(store_path);
  auto store = open_store(*store_path);
  HOCKET_TRY(store);
  auto folder = create_profile_folder(**store, *store_path, report.workload.name);
  HOCKET_TRY(folder);
  std::string path = trace_file_path(folder->path, 0);
  if (const auto daemon = trace_target(*store_path)) {
    const auto set = daemon->make_set();
    if (!set) warn("traces are not sent to the daemon: " + set.error().message);
    if (set && *set) path = (*set)->of_rank(0).text();
  }
  return Target{std::move(*store), std::move(*folder), std::move(path)};
}

/// Returns rank 0's text on every rank.
Result<std::string> broadcast(Collective& collective, std::string text) {
  if (collective.rank() != 0) return collective.hear();
  HOCKET_TRY(collective.tell(text));
  return text;
}

/// Returns the sum over the ranks, or rank 0's text on every rank, using all-reduces only: the
/// executor of a running training uses tell() and hear() itself.
Result<float> sum_over_ranks(Collective& collective, float value) {
  HOCKET_TRY(collective.all_reduce({&value, 1}, 0));
  return value;
}
Result<std::string> broadcast_by_sum(Collective& collective, const std::string& text) {
  const bool is_first = collective.rank() == 0;
  const auto size = sum_over_ranks(collective, is_first ? static_cast<float>(text.size()) : 0);
  HOCKET_TRY(size);
  std::vector<float> bytes(static_cast<std::size_t>(*size));
  if (bytes.empty()) return std::string();
  for (std::size_t i = 0; is_first && i < bytes.size(); ++i)
    bytes[i] = static_cast<float>(static_cast<unsigned char>(text[i]));
  HOCKET_TRY(collective.all_reduce(bytes, 1));
  std::string heard;
  for (const float byte : bytes) heard.push_back(static_cast<char>(static_cast<int>(byte)));
  return heard;
}

std::string summary_of(const ProfileRow& row, const std::string& first_trace,
                       const std::optional<ProfileOverhead>& overhead, std::size_t iterations) {
  std::string text = "profile " + row.name + ": " + std::to_string(iterations) +
                     (iterations == 1 ? " iteration, " : " iterations, ") +
                     std::to_string(row.ranks.size()) +
                     (row.ranks.size() == 1 ? " rank, in " : " ranks, in ") +
                     std::filesystem::path(first_trace).parent_path().string();
  if (!overhead) return text;
  char cost[96];
  std::snprintf(
      cost, sizeof cost, "; profiling cost %.2f%% ± %.2f%% (%lld iterations with, %lld without)",
      100 * overhead->share(), 100 * overhead->share_margin(),
      static_cast<long long>(overhead->profiled), static_cast<long long>(overhead->plain));
  return text + cost;
}

/// Saves everything that the ranks have written as a profile. For rank 0.
Result<ProfileRow> save_all(Target& target, const std::string& store_path, ProfileResult own,
                            const std::string& own_path, std::int64_t ranks,
                            const std::vector<std::vector<ClockRound>>& rounds,
                            const RunReport& report) {
  const auto topology_id = target.store->upsert_topology(report.topology);
  HOCKET_TRY(topology_id);
  const auto workload_id = target.store->upsert_workload(report.workload);
  HOCKET_TRY(workload_id);
  ProfileToSave profile{.folder = target.folder,
                        .ranks = {},
                        .missing = {},
                        .structure = std::move(own.structure),
                        .config = to_json(report.config),
                        .topology_id = *topology_id,
                        .workload_id = *workload_id,
                        .overhead = own.overhead,
                        .host = own.host,
                        .notes = std::move(own.notes)};
  const auto rounds_of = [&](std::int64_t rank) {
    const auto at = static_cast<std::size_t>(rank);
    return at < rounds.size() ? rounds[at] : std::vector<ClockRound>();
  };
  profile.ranks.push_back({std::move(own.trace), own_path, rounds_of(0)});
  for (std::int64_t rank = 1; rank < ranks; ++rank) {
    const std::string path = path_beside(target.path, rank);
    if (auto trace = get_trace(path)) {
      profile.ranks.push_back({std::move(*trace), path, rounds_of(rank)});
    } else {
      profile.missing.push_back({rank, trace.error().message});
    }
  }
  return save_profile(*target.store, store_path, std::move(profile));
}

Result<std::int64_t> number_of(std::string_view text, const std::string& field) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return failure(ErrorCode::invalid_argument,
                 field + ": expected a whole number, found \"" + std::string(text) + "\"");
}

}  // namespace

Result<ProfileSpan> parse_profile_span(std::string_view text) {
  ProfileSpan span;
  span.first_step = -1;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string name(part.substr(0, part.find('=')));
    std::int64_t* const value = name == "at"           ? &span.first_step
                                : name == "iterations" ? &span.steps
                                : name == "interleave" ? &span.interleave
                                                       : nullptr;
    if (!value || part.size() == name.size()) {
      return failure(
          ErrorCode::invalid_argument,
          "\"" + std::string(part) + "\": expected at=STEP, iterations=N or interleave=N");
    }
    const auto number = number_of(part.substr(name.size() + 1), name);
    HOCKET_TRY(number);
    *value = *number;
  }
  if (span.first_step >= 0) return span;
  return failure(ErrorCode::invalid_argument, "at=STEP is missing, or STEP is below 0");
}

Result<std::optional<ProfileSpan>> agree_on_span(Collective& collective,
                                                 const std::optional<ProfileSpan>& span) {
  nlohmann::json message = nlohmann::json::object();
  if (span) {
    message = {
        {"at", span->first_step}, {"iterations", span->steps}, {"interleave", span->interleave}};
  }
  const auto heard = broadcast(collective, message.dump());
  if (!heard) return failure(heard.error().in("waiting for what rank 0 profiles"));
  message = nlohmann::json::parse(*heard);
  if (message.empty()) return std::nullopt;
  return ProfileSpan{message["at"], message["iterations"], message["interleave"]};
}

JobProfile::JobProfile(const Training& training, const Say& warn)
    : collective_(training.collective),
      clock_(training.clock),
      warn_(warn),
      session_({.clock = training.clock,
                .rank = training.collective.rank(),
                .ranks = training.collective.world_size(),
                .mesh = training.collective.mesh(),
                .servers = training.servers,
                .host = host_name(),
                .device = training.recorder}) {
  both_.session = &session_;
}

void JobProfile::watch(TrainingPhase& phase, ProfileSpan span) {
  // A phase's scheduler counts steps from 0.
  span.first_step = std::max(span.first_step - phase.first_step, std::int64_t{0});
  if (const auto ok = session_.start(span); !ok) warn_("no profile: " + ok.error().message);
  watch(phase);
}

void JobProfile::watch(TrainingPhase& phase) {
  both_.other = phase.options.trace;
  phase.options.trace = &both_;
  phase.options.observer = &session_;
}

void JobProfile::request(std::int64_t first_step, std::int64_t steps) {
  const auto ok = session_.start({.first_step = first_step, .steps = steps});
  if (!ok) return warn_("no profile: " + ok.error().message);
  // The last step of the span ends within the two steps after it.
  due_ = first_step + steps + kStepsAfter;
}

void JobProfile::save(const RunReport& report, const Result<std::string>& store_path,
                      const Say& say) {
  due_.reset();
  session_.stop();
  auto own = session_.take();
  const auto have = sum_over_ranks(collective_, own ? 1 : 0);
  if (!have) return warn_("no profile: " + have.error().message);
  if (*have == 0) return;
  const bool is_first = collective_.rank() == 0;
  // The profile keeps only rank 0's notes; other ranks contribute their trace alone, so they print
  // theirs.
  if (own && !is_first) std::ranges::for_each(own->notes, warn_);
  Result<Target> target = failure(ErrorCode::not_found, "rank 0 has recorded nothing");
  if (is_first) {
    if (own) target = open_target(store_path, report, warn_);
    if (!target) warn_("no profile: " + target.error().message);
  }
  const auto first = broadcast_by_sum(collective_, target ? target->path : "");
  if (!first) return warn_("no profile: " + first.error().message);
  if (first->empty()) return;
  std::string path = path_beside(*first, collective_.rank());
  const Result<void> written =
      own ? put_trace(own->trace, path) : failure(ErrorCode::not_found, "it has recorded nothing");
  if (!written) {
    warn_("rank " + std::to_string(collective_.rank()) +
          " is missing in the profile: " + written.error().message);
    path.clear();
  }
  // After this exchange all ranks have written their traces.
  auto rounds = exchange_clocks(collective_, clock_, kClockRounds, 0);
  if (!rounds) {
    warn_("the ranks' clocks are not compared: " + rounds.error().message);
    rounds.emplace();
  }
  if (!is_first) return;
  const std::optional<ProfileOverhead> overhead = own->overhead;
  const auto row = save_all(*target, *store_path, std::move(*own), path, collective_.world_size(),
                            *rounds, report);
  if (!row) return warn_("no profile: " + row.error().message);
  const auto iterations = target->store->profile_iterations(row->id);
  const auto of_first =
      !iterations ? 0 : std::ranges::count(*iterations, 0, &ProfileIteration::rank);
  say(summary_of(*row, target->path, overhead, static_cast<std::size_t>(of_first)));
}

}  // namespace hocket
