#include "store/profile_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>

#include "core/files/folder_removal.h"
#include "core/files/private_file.h"
#include "core/protocol/state_folder.h"
#include "store/rules/row_rules.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTracePrefix = "rank-";
constexpr std::string_view kTraceSuffix = ".sqlite";
constexpr std::size_t kMostNameBytes = 100;  // as rules::check_name() has it

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Returns whether this is a trace file, or a file that SQLite leaves beside one if its writer is
/// killed.
bool is_trace_file(std::string_view name) {
  return name.starts_with(kTracePrefix) && name.find(kTraceSuffix) != std::string_view::npos;
}

mode_t mode_of(const std::string& path, mode_t otherwise) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode : otherwise;
}

/// Makes the folder for the profiles of a store, if it is missing, for those who can use the store.
Result<void> make_profiles_folder(const std::string& store_path, const std::string& folder) {
  if (is_postgres_uri(store_path)) {
    if (variable("HOCKET_TRACES").empty()) return create_private_folders(folder);
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) return {};
    return failure(ErrorCode::unavailable,
                   "cannot make the folder " + folder + ": " + error.message());
  }
  HOCKET_TRY(create_private_folders(fs::path(folder).parent_path()));
  const mode_t readers = mode_of(store_path, 0600) & 0666;
  // Whoever can read a folder needs to enter it.
  if (::mkdir(folder.c_str(), 0700 | readers | (readers & 0444) >> 2) == 0 || errno == EEXIST)
    return {};
  return failure(ErrorCode::unavailable, "cannot make the folder " + folder + ": " +
                                             std::generic_category().message(errno));
}

/// Creates the folder of the first of name_of(0), name_of(1), … that no profile has.
Result<ProfileFolder> create_first_free(const std::vector<ProfileRow>& rows,
                                        const std::string& store_path,
                                        const std::function<std::string(std::int64_t)>& name_of) {
  const auto profiles = profiles_folder(store_path);
  HOCKET_TRY(profiles);
  std::set<std::string> taken;
  for (const ProfileRow& row : rows) taken.insert(row.name);
  HOCKET_TRY(make_profiles_folder(store_path, *profiles));
  const mode_t mode = (mode_of(*profiles, 0700) & 0777) | 0700;
  for (std::int64_t attempt = 0;; ++attempt) {
    const std::string name = name_of(attempt);
    if (taken.contains(name)) continue;
    const fs::path path = fs::path(*profiles) / name;
    if (::mkdir(path.c_str(), mode) == 0) return ProfileFolder{name, path};
    // Another process may have created it.
    if (errno == EEXIST) continue;
    return failure(ErrorCode::unavailable, "cannot make a folder for a profile in " + *profiles +
                                               ": " + std::generic_category().message(errno));
  }
}

}  // namespace

Result<std::string> profiles_folder(const std::string& store_path) {
  std::error_code error;
  if (is_postgres_uri(store_path)) {
    if (const auto shared = variable("HOCKET_TRACES"); !shared.empty()) {
      return fs::absolute(shared, error).string();
    }
    const auto folder = state_folder(variable("XDG_STATE_HOME"), variable("HOME"));
    if (!folder.empty()) return folder + "/profiles";
    return failure(
        ErrorCode::invalid_argument,
        "no place for traces: none of HOCKET_TRACES, XDG_STATE_HOME and HOME is set; set "
        "HOCKET_TRACES to a folder that all hosts see");
  }
  const fs::path path = fs::absolute(store_path, error);
  if (!error) return path.string() + ".profiles";
  return failure(ErrorCode::unavailable,
                 "the folder of " + store_path + " is not known: " + error.message());
}

Result<ProfileFolder> create_profile_folder(Store& store, const std::string& store_path,
                                            std::string_view workload_name) {
  // Whoever has the name of a row that cannot be read has its folder, too.
  UnreadRows unread;
  const auto rows = store.profiles(&unread);
  HOCKET_TRY(rows);
  const std::string stem = rules::name_stem({}, workload_name, "profile");
  const auto first = std::ssize(*rows) + 1;
  return create_first_free(*rows, store_path, [&](std::int64_t attempt) {
    return stem + "-" + std::to_string(first + attempt);
  });
}

Result<ProfileFolder> create_named_profile_folder(Store& store, const std::string& store_path,
                                                  std::string_view name) {
  std::string stem(name);
  if (!rules::check_name("profile", name)) stem = rules::name_stem({}, name, "");
  if (!rules::check_name("profile", stem))
    return failure(rules::check_name("profile", name).error());
  // Whoever has the name of a row that cannot be read has its folder, too.
  UnreadRows unread;
  const auto rows = store.profiles(&unread);
  HOCKET_TRY(rows);
  return create_first_free(*rows, store_path, [&](std::int64_t attempt) {
    if (attempt == 0) return stem;
    const std::string number = "-" + std::to_string(attempt + 1);
    return stem.substr(0, kMostNameBytes - number.size()) + number;
  });
}

std::string served_traces_folder(const std::string& state_folder) {
  return state_folder + "/served-traces";
}

std::string trace_file_path(const std::string& folder, std::int64_t rank) {
  return fs::path(folder) /
         (std::string(kTracePrefix) + std::to_string(rank) + std::string(kTraceSuffix));
}

bool is_own_trace(const std::string& store_path, const std::string& trace, std::string_view name) {
  const fs::path path = trace, folder = path.parent_path();
  if (!rules::check_name("profile", name) || !is_trace_file(path.filename().string())) return false;
  if (folder.filename() != name) return false;
  if (folder.parent_path().extension() == ".profiles") return true;
  const auto profiles = profiles_folder(store_path);
  return profiles && folder.parent_path() == fs::path(*profiles);
}

Result<std::int64_t> remove_trace_files(const std::string& folder) {
  return remove_own_files(folder, is_trace_file);
}

Result<std::int64_t> remove_profile_folder(const std::string& store_path, const std::string& name) {
  HOCKET_TRY(rules::check_name("profile", name));
  const auto profiles = profiles_folder(store_path);
  HOCKET_TRY(profiles);
  return remove_trace_files(fs::path(*profiles) / name);
}

}  // namespace hocket
