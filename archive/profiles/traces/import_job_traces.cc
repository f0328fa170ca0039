#include "archive/profiles/traces/import_job_traces.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "archive/profiles/calibrate_profile.h"
#include "archive/profiles/common_structure.h"
#include "archive/profiles/save_profile.h"
#include "archive/profiles/traces/imported_traces.h"
#include "core/files/file_stream.h"
#include "core/files/regular_file.h"

namespace hocket {
namespace {

Result<void> read_job_file(const std::string& path, ImportedTraces& into) {
  constexpr std::string_view kMagic = "SQLite format 3";
  const TraceReadOptions options{.rank_is_known = true};
  auto opened = open_regular_file(path);
  if (!opened) return invalid(path + ": " + opened.error().message);
  FileReader in(std::move(*opened));
  std::array<char, kMagic.size()> head = {};
  in.read(head.data(), head.size());
  const std::string_view begin(head.data(), static_cast<std::size_t>(in.gcount()));
  if (begin.empty()) return invalid(path + ": the file is empty");
  if (begin == kMagic) return read_trace_database(path, path, options, into);
  in.clear();
  in.seekg(0);
  return read_trace_text(path, in, options, into);
}

/// Returns a message about a file without its path, which nobody knows any more.
std::string without_path(const std::string& message, const std::string& path) {
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
}

/// Adds the trace of rank `rank`.
Result<void> read_rank(const std::string& path, std::int64_t rank, std::int64_t ranks,
                       ImportedTraces& into) {
  ImportedTraces read;
  if (const auto ok = read_job_file(path, read); !ok)
    return failure(ok.error().code, without_path(ok.error().message, path));
  if (read.traces.size() != 1)
    return invalid("its file has the traces of " + std::to_string(read.traces.size()) + " ranks");
  RankTrace& trace = read.traces.front().trace;
  trace.rank = rank;
  trace.ranks = ranks;
  const std::string name = "rank " + std::to_string(rank);
  for (FileNotes& file : read.files) {
    file.path = name;
    file.ranks = {rank};
    into.files.push_back(std::move(file));
  }
  into.traces.push_back({name, std::move(trace)});
  return {};
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

}  // namespace

Result<ProfileRow> import_job_traces(Store& store, const std::string& store_path,
                                     const JobTraces& job) {
  ProfileToSave save;
  ImportedTraces imported;
  const auto ranks = std::ssize(job.paths);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::string& path = job.paths[static_cast<std::size_t>(rank)];
    if (path.empty()) {
      save.missing.push_back({rank, "it recorded none"});
    } else if (const auto read = read_rank(path, rank, ranks, imported); !read) {
      save.missing.push_back({rank, read.error().message});
    }
  }
  if (imported.traces.empty()) {
    return invalid("there is no trace" +
                   (save.missing.empty() ? "" : ": rank 0: " + save.missing.front().reason));
  }
  save.notes = joined_notes(imported);
  save.config = shown_config(imported.traces.front().trace, job.config);
  const auto topology_id = store.upsert_topology(job.topology);
  HOCKET_TRY(topology_id);
  const auto workload_id = store.upsert_workload(job.workload);
  HOCKET_TRY(workload_id);
  save.topology_id = *topology_id;
  save.workload_id = *workload_id;
  std::vector<RankTrace> traces;
  for (ImportedTrace& each : imported.traces) traces.push_back(std::move(each.trace));
  save.structure = infer_common_structure(traces, save.notes);
  for (RankTrace& trace : traces) save.ranks.push_back({.trace = std::move(trace)});
  auto folder = create_profile_folder(store, store_path, job.workload.name);
  HOCKET_TRY(folder);
  save.folder = std::move(*folder);
  return save_profile(store, store_path, std::move(save));
}

}  // namespace hocket
