#include "profiler/archive/import_profile.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "profiler/archive/calibrate_profile.h"
#include "profiler/archive/common_structure.h"
#include "profiler/archive/load_profile.h"
#include "profiler/archive/save_profile.h"
#include "profiler/formats/chrome_import.h"
#include "store/trace_file.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSqliteMagic = "SQLite format 3";
constexpr std::string_view kGzipMagic = "\x1f\x8b";

/// A rank's trace and the file that it comes from.
struct FileTrace {
  std::string path;
  RankTrace trace;
};

class FileReader {
 public:
  FileReader(const ImportRequest& request, std::vector<std::string>& notes,
             bool rank_is_known = false)
      : request_(request), notes_(notes), rank_is_known_(rank_is_known) {}

  Result<std::vector<FileTrace>> read() {
    std::set<std::string> seen;
    for (const std::string& path : request_.paths) {
      std::error_code error;
      const auto canonical = fs::weakly_canonical(path, error).string();
      if (!seen.insert(canonical).second) return invalid(path + ": the file is given twice");
      HOCKET_TRY(read_file(path));
    }
    return std::move(traces_);
  }

 private:
  Result<void> read_file(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return invalid(path + ": a folder is no trace");
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) return invalid(path + ": " + std::generic_category().message(errno));
    if (in.peek() == std::ifstream::traits_type::eof()) {
      return invalid(path + ": the file is empty; the other ranks can be imported without it");
    }
    // A pipe cannot be read twice.
    if (!fs::is_regular_file(path, error)) return read_chrome(path, in);
    std::array<char, kSqliteMagic.size()> head = {};
    in.read(head.data(), head.size());
    const std::string_view begin(head.data(), static_cast<std::size_t>(in.gcount()));
    if (begin == kSqliteMagic) return read_sqlite(path);
    if (begin.starts_with(kGzipMagic)) return invalid(path + ": it is compressed; use gunzip");
    in.clear();
    in.seekg(0);
    return read_chrome(path, in);
  }

  Result<void> read_sqlite(const std::string& path) {
    const auto kind = trace_file_kind(path);
    HOCKET_TRY(kind);
    if (*kind == TraceFileKind::nsight) return read_nsight(path);
    auto reader = open_trace_file(path);
    HOCKET_TRY(reader);
    auto summary = (*reader)->summary();
    HOCKET_TRY(summary);
    auto trace = (*reader)->read();
    HOCKET_TRY(trace);
    if (!summary->is_finished) {
      notes_.push_back(path + ": it is cut off; it has " + std::to_string(trace->records.size()) +
                       " records");
    }
    add(path, std::move(*trace));
    return {};
  }

  Result<void> read_nsight(const std::string& path) {
    auto traces = read_nsight_export(path, request_.step_range);
    HOCKET_TRY(traces);
    for (RankTrace& trace : *traces) add(path, std::move(trace));
    return {};
  }

  Result<void> read_chrome(const std::string& path, std::istream& in) {
    auto read =
        read_chrome_trace(in, {.step_range = request_.step_range, .rank_is_known = rank_is_known_});
    if (!read) return failure(read.error().in(path));
    for (const std::string& note : read->notes) notes_.push_back(path + ": " + note);
    for (RankTrace& trace : read->traces) add(path, std::move(trace));
    return {};
  }

  void add(const std::string& path, RankTrace trace) {
    if (trace.quarantined > 0 || trace.dropped > 0) {
      notes_.push_back(path + ": " + std::to_string(trace.dropped) + " records were lost, " +
                       std::to_string(trace.quarantined) + " cannot be true and are left out");
    }
    traces_.push_back({path, std::move(trace)});
  }

  const ImportRequest& request_;
  std::vector<std::string>& notes_;
  const bool rank_is_known_;
  std::vector<FileTrace> traces_;
};

/// Returns whether the file identifies its rank. Nsight's exports do not, and neither does a file
/// that claims to be the only rank.
bool says_whose_it_is(const FileTrace& each) {
  return each.trace.source != "nsight" && (each.trace.rank != 0 || each.trace.ranks != 1);
}

/// Numbers the files if none identifies its rank, and checks that each rank occurs once and all
/// agree on the number of ranks.
Result<void> settle_ranks(std::vector<FileTrace>& traces, std::vector<std::string>& notes) {
  if (traces.size() > 1 && std::ranges::none_of(traces, says_whose_it_is)) {
    for (std::size_t i = 0; i < traces.size(); ++i) {
      traces[i].trace.rank = static_cast<std::int64_t>(i);
      traces[i].trace.ranks = std::ssize(traces);
    }
    notes.push_back("the files do not say whose they are: they are ranks 0 to " +
                    std::to_string(traces.size() - 1) + " in the order in which they are given");
  }
  std::map<std::int64_t, std::string> path_of;
  for (const FileTrace& each : traces) {
    const RankTrace& trace = each.trace;
    const std::string rank = "rank " + std::to_string(trace.rank);
    if (trace.rank < 0 || trace.rank >= trace.ranks) {
      return invalid(each.path + ": it is of " + rank + " of " + std::to_string(trace.ranks) +
                     ", which cannot be");
    }
    if (trace.ranks != traces.front().trace.ranks) {
      return invalid(each.path + ": it is of " + std::to_string(trace.ranks) + " ranks, " +
                     traces.front().path + " of " + std::to_string(traces.front().trace.ranks) +
                     "; a profile is of one job");
    }
    const auto [other, is_new] = path_of.try_emplace(trace.rank, each.path);
    if (!is_new) {
      return invalid(each.path + ": it is of " + rank + ", and so is " + other->second +
                     "; a profile has each rank once");
    }
  }
  std::ranges::sort(traces, {}, [](const FileTrace& each) { return each.trace.rank; });
  return {};
}

/// Copies the traces, configuration and structure of an existing profile.
Result<void> take_along(Store& store, const std::string& name, std::vector<FileTrace>& traces,
                        ProfileToSave& save) {
  const auto row = store.profile(name);
  HOCKET_TRY(row);
  auto loaded = load_profile(*row);
  HOCKET_TRY(loaded);
  for (RankTrace& trace : loaded->traces) {
    traces.push_back({"profile " + row->name, std::move(trace)});
  }
  save.topology_id = row->topology_id;
  save.workload_id = row->workload_id;
  save.config = row->config;
  if (loaded->structure) save.structure = std::move(*loaded->structure);
  save.notes.push_back("with the traces of profile " + row->name);
  return {};
}

/// Returns a message about a file without its path, which nobody knows any more.
std::string without_path(const std::string& message, const std::string& path) {
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

/// Reads the trace of rank `rank`.
Result<RankTrace> read_rank(const std::string& path, std::int64_t rank, std::int64_t ranks,
                            std::vector<std::string>& notes) {
  const ImportRequest request{.paths = {path}};
  std::vector<std::string> said;
  auto traces = FileReader(request, said, true).read();
  if (!traces) return failure(traces.error().code, without_path(traces.error().message, path));
  if (traces->size() != 1)
    return invalid("its file has the traces of " + std::to_string(traces->size()) + " ranks");
  for (const std::string& note : said)
    notes.push_back("rank " + std::to_string(rank) + ": " + without_path(note, path));
  RankTrace trace = std::move(traces->front().trace);
  trace.rank = rank;
  trace.ranks = ranks;
  return trace;
}

/// Returns what the trace shows, with those values of `config` that are not defaults.
nlohmann::json shown_config(const RankTrace& trace, const ScheduleConfig& config) {
  nlohmann::json shown = to_json(traced_config(trace));
  const nlohmann::json given = to_json(config), defaults = to_json(ScheduleConfig());
  for (const auto& [name, value] : given.items()) {
    const auto usual = defaults.find(name);
    if (usual == defaults.end() || *usual != value) shown[name] = value;
  }
  return shown;
}

/// Saves traces, which are in the order of ranks, as a profile whose name begins with `name`.
Result<ProfileRow> save_traces(Store& store, const std::string& store_path, const std::string& name,
                               std::vector<RankTrace> traces, ProfileToSave save) {
  if (save.structure.tasks.empty()) save.structure = infer_common_structure(traces, save.notes);
  for (RankTrace& trace : traces) save.ranks.push_back({.trace = std::move(trace)});
  auto folder = create_profile_folder(store, store_path, name);
  HOCKET_TRY(folder);
  save.folder = std::move(*folder);
  return save_profile(store, store_path, std::move(save));
}

/// Adds rows for ranks without a file, up to a limit, since a file may claim any number of ranks.
void add_missing(const std::vector<FileTrace>& traces, ProfileToSave& save) {
  constexpr std::int64_t kMostRows = 4096;
  const std::int64_t ranks = traces.front().trace.ranks;
  if (ranks > kMostRows) {
    save.notes.push_back("of " + std::to_string(ranks) + " ranks there are " +
                         std::to_string(traces.size()) + " traces");
    return;
  }
  std::set<std::int64_t> here;
  for (const FileTrace& each : traces) here.insert(each.trace.rank);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    if (!here.contains(rank)) save.missing.push_back({rank, "no file of it was imported"});
  }
}

}  // namespace

Result<ProfileRow> import_profile(Store& store, const std::string& store_path,
                                  const ImportRequest& request) {
  ProfileToSave save;
  auto traces = FileReader(request, save.notes).read();
  HOCKET_TRY(traces);
  if (traces->empty()) return invalid("there is no trace to import; name at least one file");
  if (!request.with.empty()) {
    HOCKET_TRY(take_along(store, request.with, *traces, save));
  }
  HOCKET_TRY(settle_ranks(*traces, save.notes));
  add_missing(*traces, save);
  std::vector<RankTrace> all;
  for (FileTrace& each : *traces) all.push_back(std::move(each.trace));
  return save_traces(store, store_path, request.name, std::move(all), std::move(save));
}

Result<ProfileRow> import_job_traces(Store& store, const std::string& store_path,
                                     const JobTraces& job) {
  ProfileToSave save;
  std::vector<RankTrace> traces;
  const auto ranks = std::ssize(job.paths);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::string& path = job.paths[static_cast<std::size_t>(rank)];
    if (path.empty()) {
      save.missing.push_back({rank, "it recorded none"});
      continue;
    }
    auto trace = read_rank(path, rank, ranks, save.notes);
    if (trace) {
      traces.push_back(std::move(*trace));
    } else {
      save.missing.push_back({rank, trace.error().message});
    }
  }
  if (traces.empty()) {
    return invalid("there is no trace" +
                   (save.missing.empty() ? "" : ": rank 0: " + save.missing.front().reason));
  }
  save.config = shown_config(traces.front(), job.config);
  const auto topology_id = store.upsert_topology(job.topology);
  HOCKET_TRY(topology_id);
  const auto workload_id = store.upsert_workload(job.workload);
  HOCKET_TRY(workload_id);
  save.topology_id = *topology_id;
  save.workload_id = *workload_id;
  return save_traces(store, store_path, job.workload.name, std::move(traces), std::move(save));
}

}  // namespace hocket
