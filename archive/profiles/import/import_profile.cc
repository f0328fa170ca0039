#include "archive/profiles/import/import_profile.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "archive/profiles/common_structure.h"
#include "archive/profiles/import/communication_patterns.h"
#include "archive/profiles/load_profile.h"
#include "archive/profiles/save_profile.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::string_view kNameSeparators = "-_. ";

/// Copies the traces, configuration and structure of an existing profile.
Result<void> take_along(Store& store, const std::string& name, ImportedTraces& imported,
                        ProfileToSave& save) {
  const auto row = store.profile(name);
  HOCKET_TRY(row);
  auto loaded = load_profile(*row);
  HOCKET_TRY(loaded);
  for (RankTrace& trace : loaded->traces) {
    imported.traces.push_back({"profile " + row->name, std::move(trace)});
  }
  save.topology_id = row->topology_id;
  save.workload_id = row->workload_id;
  save.config = row->config;
  if (loaded->structure) save.structure = std::move(*loaded->structure);
  imported.notes.push_back("with the traces of profile " + row->name);
  return {};
}

/// Adds rows for ranks without a file, up to a limit, since a file may claim any number of ranks.
void add_missing(const std::vector<ImportedTrace>& traces, ProfileToSave& save) {
  constexpr std::int64_t kMostRows = 4096;
  const std::int64_t ranks = traces.front().trace.ranks;
  if (ranks > kMostRows) {
    save.notes.push_back("of " + std::to_string(ranks) + " ranks there are " +
                         std::to_string(traces.size()) + " traces");
    return;
  }
  std::set<std::int64_t> here;
  for (const ImportedTrace& each : traces) here.insert(each.trace.rank);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    if (!here.contains(rank)) save.missing.push_back({rank, "no file of it was imported"});
  }
}

/// Returns a file's name without its folder and the endings that say what it is.
std::string bare_name(const std::string& path) {
  constexpr std::array<std::string_view, 15> kEndings{
      ".json", ".gz",     ".zst", ".xz", ".bz2",   ".lz4",    ".tar", ".tgz",
      ".zip",  ".sqlite", ".db",  ".pt", ".trace", ".chrome", ".nsys"};
  std::filesystem::path file(path);
  if (file.filename().empty()) file = file.parent_path();  // "folder/"
  std::string name = file.filename().string();
  const auto is_ending = [&](std::string_view ending) {
    return name.size() > ending.size() && name.ends_with(ending);
  };
  for (auto found = std::ranges::find_if(kEndings, is_ending); found != kEndings.end();
       found = std::ranges::find_if(kEndings, is_ending)) {
    name.resize(name.size() - found->size());
  }
  return name;
}

/// Returns the words of a name that do not only say what kind of file it is or number it.
std::string telling_part(std::string_view name) {
  static const std::set<std::string_view> kKinds{"rank",   "trace",  "traces", "profile",  "report",
                                                 "worker", "kineto", "nsys",   "timeline", "node"};
  std::string part;
  while (!name.empty()) {
    const auto begin = std::min(name.find_first_not_of(kNameSeparators), name.size());
    const auto end = std::min(name.find_first_of(kNameSeparators, begin), name.size());
    const std::string_view separator = name.substr(0, begin);
    const std::string_view word = name.substr(begin, end - begin);
    name.remove_prefix(end);
    const auto letters = word.substr(0, word.find_last_not_of("0123456789") + 1);
    if (letters.empty() && !part.empty() && word.size() < 5) {
      part.append(separator).append(word);  // a size, such as the one in "resnet-50"
    } else if (!letters.empty() && !kKinds.contains(letters)) {
      part.append(part.empty() ? "" : separator).append(word);
    }
  }
  return part;
}

/// Marks what the user names as communication, and notes patterns that name nothing.
void mark_communication(const CommunicationPatterns& patterns,
                        const std::vector<std::string>& texts, ImportedTraces& imported) {
  std::vector<std::int64_t> matched(texts.size());
  for (ImportedTrace& each : imported.traces) {
    const auto of_trace = patterns.mark(each.trace);
    for (std::size_t i = 0; i < matched.size(); ++i) matched[i] += of_trace[i];
  }
  constexpr std::size_t kShownBytes = 80;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (matched[i] > 0) continue;
    imported.notes.push_back("--communication \"" + printable(texts[i], kShownBytes) +
                             "\": no computation has such a name");
  }
}

}  // namespace

std::string name_of_traces(const std::vector<std::string>& paths) {
  std::string common;
  for (const std::string& path : paths) {
    if (path == "-") return {};
    const std::string name = bare_name(path);
    const bool is_first = &path == &paths.front();
    const auto end = std::ranges::mismatch(common, name).in1;
    common = is_first ? name : std::string(common.begin(), end);
  }
  // A number at the end of what several files' names share is a part of the ranks' numbers.
  if (paths.size() > 1) common.resize(common.find_last_not_of("0123456789") + 1);
  const std::string part = telling_part(common);
  constexpr std::size_t kFewestLetters = 3;
  return part.size() < kFewestLetters ? std::string() : part;
}

Result<ImportedTraces> read_traces(const ImportRequest& request) {
  ImportedTraces imported;
  const auto patterns = CommunicationPatterns::compile(request.communication);
  HOCKET_TRY(patterns);
  const TraceReadOptions options{.step_range = request.step_range};
  auto notes = read_trace_inputs(request.paths, request.inputs, [&](const TraceInput& input) {
    return input.text != nullptr
               ? read_trace_text(input.name, *input.text, options, imported)
               : read_trace_database(input.name, input.database, options, imported);
  });
  HOCKET_TRY(notes);
  if (imported.traces.empty())
    return invalid("there is no trace to import; name at least one file");
  imported.notes = std::move(*notes);
  mark_communication(*patterns, request.communication, imported);
  return imported;
}

Result<ProfileRow> import_profile(Store& store, const std::string& store_path,
                                  const ImportRequest& request) {
  ProfileToSave save;
  auto imported = read_traces(request);
  HOCKET_TRY(imported);
  if (!request.with.empty()) {
    HOCKET_TRY(take_along(store, request.with, *imported, save));
  }
  HOCKET_TRY(settle_ranks(*imported));
  save.notes = joined_notes(*imported);
  add_missing(imported->traces, save);
  std::vector<RankTrace> traces;
  for (ImportedTrace& each : imported->traces) traces.push_back(std::move(each.trace));
  if (save.structure.tasks.empty()) save.structure = infer_common_structure(traces, save.notes);
  for (RankTrace& trace : traces) save.ranks.push_back({.trace = std::move(trace)});
  auto folder = request.name.empty()
                    ? create_profile_folder(store, store_path, name_of_traces(request.paths))
                    : create_named_profile_folder(store, store_path, request.name);
  HOCKET_TRY(folder);
  save.folder = std::move(*folder);
  return save_profile(store, store_path, std::move(save));
}

}  // namespace hocket
