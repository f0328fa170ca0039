#include "cli/files/own_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "client/start/last_good.h"
#include "core/files/private_file.h"
#include "core/files/scratch_folder.h"
#include "core/protocol/daemon_token.h"
#include "core/protocol/state_folder.h"
#include "store/open.h"
#include "store/profile_folder.h"
#include "store/store_uri.h"
#include "store/trace_url.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

/// Opens a store to see whether it can be used, which does not take long where it can.
Result<std::unique_ptr<Store>> open_to_look(const std::string& store) {
  return open_store(store,
                    {.read_only = true, .busy_timeout_ms = 2'000, .answer_timeout_ms = 2'000});
}

constexpr const char* kPruneAdvice = "hocket prune";

enum class Symlinks { followed, kept };

PathStatus status_of(const std::string& path, Symlinks links) {
  struct stat found = {};
  const int missing =
      links == Symlinks::followed ? ::stat(path.c_str(), &found) : ::lstat(path.c_str(), &found);
  if (missing != 0) return {};
  return {found.st_mode, found.st_uid, S_ISREG(found.st_mode) ? std::int64_t{found.st_size} : 0,
          found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec};
}

/// Returns the paths in a folder, sorted; none if it cannot be read.
std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

std::string file_name_of(const std::string& path) {
  return fs::path(path).filename().string();
}

/// Bytes of all files below a folder, and the time of the last change there.
struct FolderContent {
  std::int64_t bytes = 0, changed_at_ns = 0;
};

FolderContent content_of(const std::string& folder) {
  FolderContent content{0, status_of(folder, Symlinks::kept).changed_at_ns};
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const PathStatus status = status_of(at->path().string(), Symlinks::kept);
    content.bytes += status.bytes;
    content.changed_at_ns = std::max(content.changed_at_ns, status.changed_at_ns);
  }
  return content;
}

/// The search of find_own_files(), kind by kind.
class FileSearch {
 public:
  FileSearch(const OwnPlaces& places, const FilesUser& files_user)
      : places_(places), files_user_(files_user) {}

  std::vector<OwnFile> all() {
    look_at_store();
    look_at_traces();
    if (!places_.state_folder.empty()) look_at_state_folder();
    if (!places_.cache_folder.empty()) look_at_cache_folder();
    look_at_scratch();
    return std::move(found_);
  }

 private:
  OwnFile judge(OwnKind kind, const std::string& path, Symlinks links) const {
    return judged_file(kind, path, status_of(path, links), files_user_.user,
                       places_.is_store_shared);
  }

  /// Says where files of a kind would be, if there are none.
  void add_if_none(OwnKind kind, const std::string& pattern) {
    if (std::ranges::find(found_, kind, &OwnFile::kind) != found_.end()) return;
    found_.push_back(judged_file(kind, pattern, {}, files_user_.user, places_.is_store_shared));
  }

  void look_at_store() {
    if (is_postgres_uri(places_.store)) return look_at_server();
    std::error_code error;
    // SQLite keeps the other files beside a link's target.
    const std::string target =
        fs::weakly_canonical(fs::absolute(places_.store, error), error).string();
    OwnFile store = judge(OwnKind::store, error ? places_.store : target, Symlinks::followed);
    std::vector<OwnFile> beside;
    // Before the store is opened, which may make them.
    for (const char* suffix : {"-wal", "-shm", "-journal"}) {
      OwnFile file = judge(OwnKind::store, store.path + suffix, Symlinks::kept);
      if (file.state != OwnState::missing) beside.push_back(std::move(file));
    }
    if (store.state != OwnState::missing && store.state != OwnState::unusable) read_profiles(store);
    found_.push_back(std::move(store));
    std::ranges::move(beside, std::back_inserter(found_));
  }

  /// Says whether a store on a server can be opened; its size is the server's affair.
  void look_at_server() {
    OwnFile store{OwnKind::store, shown_store(places_.store)};
    const auto opened = open_to_look(places_.store);
    if (!opened && opened.error().code == ErrorCode::not_found) {
      store.state = OwnState::missing;
      store.advice = "a database without the tables of a store; `hocket tune` makes them";
    } else {
      store.advice = "a database of PostgreSQL, which its operators keep";
      read_profiles(store);
    }
    found_.push_back(std::move(store));
  }

  void read_profiles(OwnFile& store) {
    const auto opened = open_to_look(places_.store);
    auto profiles = opened ? (*opened)->profiles() : failure(opened.error());
    if (profiles) {
      profiles_ = std::move(*profiles);
    } else if (store.state == OwnState::ok) {
      store.state = OwnState::unusable;
      store.advice = profiles.error().message;
    }
  }

  void look_at_traces() {
    const auto folder = profiles_folder(places_.store);
    if (!folder) return;
    for (const auto& path : entries_of(*folder)) {
      OwnFile traces = judge(OwnKind::traces, path, Symlinks::kept);
      // hocket writes nothing but folders there.
      if (traces.state == OwnState::unusable) continue;
      const FolderContent content = content_of(path);
      traces.bytes = content.bytes;
      const bool is_known = profiles_ && std::ranges::find(*profiles_, file_name_of(path),
                                                           &ProfileRow::name) != profiles_->end();
      if (!profiles_) {
        traces.state = OwnState::unusable;
        traces.advice = "which profile they are of cannot be said without the store";
      } else if (traces.state == OwnState::ok && !is_known && is_postgres_uri(places_.store)) {
        // Several stores on servers have one folder for traces.
        traces.state = OwnState::in_use;
        traces.advice = "of no profile in this store; another store may have it";
      } else if (traces.state == OwnState::ok && !is_known) {
        traces = judged_unfinished(OwnKind::traces, path, content.bytes, content.changed_at_ns,
                                   files_user_.now_unix_ns);
      }
      found_.push_back(std::move(traces));
    }
    if (profiles_) look_for_missing_traces();
    add_if_none(OwnKind::traces, *folder + "/NAME");
  }

  void look_for_missing_traces() {
    for (const ProfileRow& profile : *profiles_) {
      for (const ProfileRank& rank : profile.ranks) {
        if (rank.trace_path.empty() || parse_trace_url(rank.trace_path) ||
            status_of(rank.trace_path, Symlinks::followed).mode) {
          continue;
        }
        found_.push_back({OwnKind::traces, rank.trace_path, 0, OwnState::missing,
                          "of profile " + profile.name + "; `hocket profiles rm " + profile.name +
                              "` forgets it"});
      }
    }
  }

  void look_at_state_folder() {
    const std::string& folder = places_.state_folder;
    found_.push_back(judge(OwnKind::state_folder, folder, Symlinks::followed));
    for (const auto& path : entries_of(folder)) look_at_token(path);
    add_if_none(OwnKind::token, folder + "/daemon-PORT.token");
    OwnFile traces = judge(OwnKind::served_traces, served_traces_folder(folder), Symlinks::kept);
    if (traces.state != OwnState::missing) traces.bytes = content_of(traces.path).bytes;
    found_.push_back(std::move(traces));
  }

  void look_at_cache_folder() {
    const std::string& folder = places_.cache_folder;
    found_.push_back(judge(OwnKind::cache_folder, folder, Symlinks::followed));
    for (const auto& path : entries_of(folder)) look_at_last_good(path);
    add_if_none(OwnKind::last_good, folder + "/KEY.json");
  }

  void look_at_token(const std::string& path) {
    const std::string name = file_name_of(path);
    if (is_daemon_token_name(name)) found_.push_back(judge(OwnKind::token, path, Symlinks::kept));
    if (is_daemon_token_name(finished_name(name))) add_unfinished(OwnKind::token, path);
  }

  void look_at_last_good(const std::string& path) {
    const std::string name = file_name_of(path);
    if (is_last_good_name(name)) found_.push_back(judge(OwnKind::last_good, path, Symlinks::kept));
    if (is_unfinished_last_good_name(name)) add_unfinished(OwnKind::last_good, path);
  }

  void add_unfinished(OwnKind kind, const std::string& path) {
    OwnFile file = judge(kind, path, Symlinks::kept);
    if (file.state == OwnState::ok) {
      file =
          judged_unfinished(kind, path, file.bytes, status_of(path, Symlinks::kept).changed_at_ns,
                            files_user_.now_unix_ns);
    }
    found_.push_back(std::move(file));
  }

  void look_at_scratch() {
    std::error_code error;
    if (!fs::is_directory(places_.temporary_folder, error)) {
      found_.push_back({OwnKind::scratch, places_.temporary_folder, 0, OwnState::unusable,
                        "it is not a folder; set TMPDIR to one that can be written"});
      return;
    }
    for (const FoundScratchFolder& each : find_scratch_folders(places_.temporary_folder)) {
      found_.push_back({OwnKind::scratch, each.path, content_of(each.path).bytes,
                        each.is_left_over ? OwnState::left_over : OwnState::in_use,
                        each.is_left_over ? kPruneAdvice : ""});
    }
    add_if_none(OwnKind::scratch, scratch_folder_pattern(places_.temporary_folder));
  }

  const OwnPlaces& places_;
  const FilesUser& files_user_;
  std::optional<std::vector<ProfileRow>> profiles_;  // absent if the store cannot be read
  std::vector<OwnFile> found_;
};

/// Removes the traces of a profile that the store does not have.
Result<bool> remove_traces(const OwnFile& file, const OwnPlaces& places) {
  const auto store = open_to_look(places.store);
  HOCKET_TRY(store);
  const std::string name = file_name_of(file.path);
  // It may have been saved since.
  const auto row = (*store)->profile(name);
  if (row) return false;
  if (row.error().code != ErrorCode::not_found) return failure(row.error());
  HOCKET_TRY(remove_profile_folder(places.store, name));
  return !status_of(file.path, Symlinks::kept).mode;
}

}  // namespace

OwnPlaces own_places(const std::string& store, const Environment& environment) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  OwnPlaces places;
  places.store = store;
  places.state_folder = state_folder(value("XDG_STATE_HOME"), value("HOME"));
  places.is_store_shared = store != places.state_folder + "/hocket.db";
  places.cache_folder = last_good_folder(environment).value_or("");
  places.temporary_folder = temporary_folder().value_or(value("TMPDIR"));
  return places;
}

std::vector<OwnFile> find_own_files(const OwnPlaces& places, const FilesUser& files_user) {
  return FileSearch(places, files_user).all();
}

Result<bool> remove_left_over(const OwnFile& file, const OwnPlaces& places) {
  if (file.kind == OwnKind::scratch) return remove_scratch_folder(file.path);
  if (file.kind == OwnKind::traces) return remove_traces(file, places);
  std::error_code error;
  const bool is_removed = fs::remove(file.path, error);
  if (!error) return is_removed;
  return failure(ErrorCode::unavailable, "cannot remove " + file.path + ": " + error.message());
}

}  // namespace hocket
