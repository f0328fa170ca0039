#include "archive/profiles/traces/imported_traces.h"

#include <algorithm>
#include <istream>
#include <map>
#include <utility>

#include "archive/profiles/rank_ranges.h"
#include "archive/profiles/traces/trace_order.h"
#include "core/base/text.h"
#include "core/files/file_stream.h"
#include "core/files/regular_file.h"
#include "core/trace/group_names.h"
#include "core/trace/impossible_records.h"
#include "profiler/formats/chrome_import.h"
#include "profiler/formats/foreign_file.h"
#include "profiler/formats/record_notes.h"
#include "store/trace_file.h"

namespace hocket {
namespace {

constexpr std::size_t kTableNameLimitBytes = 80;

/// Adds a file's traces with its notes.
void add_file(const std::string& path, std::vector<RankTrace> traces, ImportNotes notes,
              ImportedTraces& into) {
  into.files.push_back({.path = path,
                        .notes = std::move(notes),
                        .first = into.traces.size(),
                        .count = traces.size()});
  for (RankTrace& trace : traces) into.traces.push_back({path, std::move(trace)});
}

Result<void> read_own_database(const std::string& path, const std::string& database,
                               ImportedTraces& into) {
  auto reader = open_trace_file(database);
  HOCKET_TRY(reader);
  const auto summary = (*reader)->summary();
  HOCKET_TRY(summary);
  auto trace = (*reader)->read();
  HOCKET_TRY(trace);
  ImportNotes notes;
  if (!summary->is_finished) {
    notes.add("it is cut off; it has " + std::to_string(trace->records.size()) + " records",
              NoteWeight::partial);
  }
  std::vector<RankTrace> traces;
  traces.push_back(std::move(*trace));
  add_file(path, std::move(traces), std::move(notes), into);
  return {};
}

ImportNotes notes_on(const NsightFindings& findings, const std::vector<RankTrace>& traces) {
  ImportNotes notes;
  const auto has_records = [](const RankTrace& trace) { return !trace.records.empty(); };
  const auto some = std::ranges::find_if(traces, has_records);
  if (some != traces.end() && std::ranges::none_of(traces, has_activity)) {
    add_note_on_strangers("ranges and calls alone, with the names " + frequent_names(*some),
                          "Record kernels as well: nsys profile --trace=cuda,nvtx", notes);
  }
  if (findings.graph_launches > 0) {
    notes.add(std::to_string(findings.graph_launches) + " launches of CUDA graphs, " +
              percent(findings.graph_share) +
              " of the work's time, are recorded as a whole and count as computation: which of it "
              "is communication is not known. Record their kernels with nsys profile "
              "--cuda-graph-trace=node");
  }
  add_notes(findings.impossible, notes);
  add_notes_on_steps(findings.incomplete_steps, notes);
  if (!findings.unread_tables.empty()) {
    std::string tables;
    for (const std::string& table : findings.unread_tables)
      tables += (tables.empty() ? "" : ", ") + printable(table, kTableNameLimitBytes);
    notes.add("tables that are not read: " + tables, NoteWeight::informs);
  }
  return notes;
}

/// Returns whether the file identifies its rank. Nsight's exports and XLA's traces, which number
/// the devices of one host, do not, and neither does a file that claims to be the only rank.
bool says_whose_it_is(const ImportedTrace& each) {
  return each.trace.source != "nsight" && each.trace.source != "xla" &&
         (each.trace.rank != 0 || each.trace.ranks != 1);
}

/// Returns the begin of a file, in which an SQLite database has the names of its tables.
std::string first_bytes(const std::string& path) {
  constexpr std::size_t kBytes = 256 << 10;
  auto file = open_regular_file(path);
  if (!file) return {};
  FileReader in(std::move(*file));
  std::string bytes(kBytes, '\0');
  in.read(bytes.data(), std::ssize(bytes));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

/// Gives files that do not say whose they are, beside others that do, the ranks in their names.
void number_beside_others(ImportedTraces& imported) {
  auto& traces = imported.traces;
  const auto one = std::ranges::find_if(traces, says_whose_it_is);
  if (one == traces.end()) return;
  const std::int64_t ranks = one->trace.ranks;
  for (FileNotes& file : imported.files) {
    if (file.count != 1 || says_whose_it_is(traces[file.first])) continue;
    const auto rank = rank_in_name(file.path);
    if (!rank || *rank >= ranks) continue;
    traces[file.first].trace.rank = *rank;
    traces[file.first].trace.ranks = ranks;
    file.notes.remove(kTakenForRank0);
    imported.notes.push_back(file.path +
                             ": the file does not say which rank it is of: it is rank " +
                             std::to_string(*rank) + " by its name");
  }
}

Result<void> check_ranks(const std::vector<ImportedTrace>& traces) {
  std::map<std::int64_t, std::string> path_of;
  for (const ImportedTrace& each : traces) {
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
  return {};
}

/// A note and the files that have it.
struct SharedNote {
  ImportNote note;
  std::vector<const FileNotes*> files;
};

/// Returns "FILE: text" for a note of one file, "ranks 0 to 7: text" for one of several.
std::string shared_text(const SharedNote& shared) {
  if (shared.files.size() == 1) return shared.files.front()->path + ": " + shared.note.text;
  std::vector<std::int64_t> ranks;
  for (const FileNotes* file : shared.files)
    ranks.insert(ranks.end(), file->ranks.begin(), file->ranks.end());
  return ranks_text(std::move(ranks)) + ": " + shared.note.text;
}

}  // namespace

Result<void> read_trace_text(const std::string& path, std::istream& text,
                             const TraceReadOptions& options, ImportedTraces& into) {
  auto read = read_chrome_trace(
      text, {.step_range = options.step_range, .rank_is_known = options.rank_is_known});
  if (!read) return failure(read.error().in(path));
  add_file(path, std::move(read->traces), std::move(read->details), into);
  return {};
}

Result<void> read_trace_database(const std::string& path, const std::string& database,
                                 const TraceReadOptions& options, ImportedTraces& into) {
  const auto named = [&](const Error& error) {
    // The path of a database that was unpacked says nothing.
    if (path == database || !error.message.starts_with(database)) return error;
    return Error{error.code, path + error.message.substr(database.size())};
  };
  const auto kind = trace_file_kind(database);
  if (!kind) {
    const auto foreign = foreign_database(first_bytes(database));
    return foreign ? invalid(path + ": " + *foreign) : failure(named(kind.error()));
  }
  if (*kind == TraceFileKind::hocket) {
    auto read = read_own_database(path, database, into);
    return read ? read : failure(named(read.error()));
  }
  NsightFindings findings;
  auto traces = read_nsight_export(database, options.step_range, &findings);
  if (!traces) return failure(named(traces.error()));
  ImportNotes notes = notes_on(findings, *traces);
  add_file(path, std::move(*traces), std::move(notes), into);
  return {};
}

Result<void> settle_ranks(ImportedTraces& imported) {
  auto& traces = imported.traces;
  number_beside_others(imported);
  if (traces.size() > 1 && std::ranges::none_of(traces, says_whose_it_is)) {
    std::vector<std::string> paths;
    for (const ImportedTrace& each : traces) paths.push_back(each.path);
    const NumberedPaths numbered = ranks_of_paths(paths);
    for (std::size_t i = 0; i < traces.size(); ++i) {
      traces[i].trace.rank = numbered.ranks[i];
      traces[i].trace.ranks = *std::ranges::max_element(numbered.ranks) + 1;
    }
    for (FileNotes& file : imported.files) file.notes.remove(kTakenForRank0);
    imported.notes.push_back(
        "the files do not say whose they are: they are " + ranks_text(numbered.ranks) +
        (numbered.are_said ? ", by the numbers in their names" : " in the order of their names"));
  }
  HOCKET_TRY(check_ranks(traces));
  for (FileNotes& file : imported.files) {
    file.ranks.clear();
    for (std::size_t i = 0; i < file.count; ++i)
      file.ranks.push_back(traces[file.first + i].trace.rank);
  }
  std::ranges::sort(traces, {}, [](const ImportedTrace& each) { return each.trace.rank; });
  std::vector<RankTrace*> of_job;
  for (ImportedTrace& each : traces) of_job.push_back(&each.trace);
  unify_group_names(of_job);
  return {};
}

std::vector<std::string> joined_notes(const ImportedTraces& imported) {
  std::vector<SharedNote> shared;
  std::map<ImportNote, std::size_t> index_of;
  ImportNotes sums;
  std::vector<const FileNotes*> left_out_files;
  for (const FileNotes& file : imported.files) {
    for (const ImportNote& note : file.notes.notes()) {
      const auto [at, is_new] = index_of.try_emplace(note, shared.size());
      if (is_new) shared.push_back({note, {}});
      auto& files = shared[at->second].files;
      if (files.empty() || files.back() != &file) files.push_back(&file);
    }
    if (file.notes.left_out().empty()) continue;
    sums.add_counts(file.notes);
    left_out_files.push_back(&file);
  }
  std::ranges::stable_sort(shared, {}, [](const SharedNote& each) { return each.note.weight; });
  std::vector<std::string> texts;
  std::size_t next = 0;
  const auto add_up_to = [&](NoteWeight weight) {
    for (; next < shared.size() && shared[next].note.weight <= weight; ++next)
      texts.push_back(shared_text(shared[next]));
  };
  add_up_to(NoteWeight::withholds);
  texts.insert(texts.end(), imported.notes.begin(), imported.notes.end());
  add_up_to(NoteWeight::informs);
  if (left_out_files.empty()) return texts;
  SharedNote left_out;
  left_out.note.weight = NoteWeight::informs;
  left_out.note.text = sums.left_out();
  left_out.files = std::move(left_out_files);
  texts.push_back(shared_text(left_out));
  return texts;
}

}  // namespace hocket
