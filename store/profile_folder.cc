#include "store/profile_folder.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "store/rules/row_rules.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTracePrefix = "rank-";
constexpr std::string_view kTraceSuffix = ".sqlite";

/// Returns whether this is a trace file, or a file that SQLite leaves beside one if its writer is
/// killed.
bool is_trace_file(const std::string& name) {
  return name.starts_with(kTracePrefix) && name.find(kTraceSuffix) != std::string::npos;
}

}  // namespace

Result<std::string> profiles_folder(const std::string& store_path) {
  std::error_code error;
  const fs::path path = fs::absolute(store_path, error);
  if (!error) return path.string() + ".profiles";
  return failure(ErrorCode::unavailable,
                 "the folder of " + store_path + " is not known: " + error.message());
}

Result<ProfileFolder> create_profile_folder(Store& store, const std::string& store_path,
                                            std::string_view workload_name) {
  const auto profiles = profiles_folder(store_path);
  HOCKET_TRY(profiles);
  const auto rows = store.profiles();
  HOCKET_TRY(rows);
  std::set<std::string> taken;
  for (const ProfileRow& row : *rows) taken.insert(row.name);
  std::error_code error;
  fs::create_directories(*profiles, error);
  const std::string stem = rules::name_stem({}, workload_name, "profile");
  for (std::int64_t number = std::ssize(*rows) + 1; !error; ++number) {
    const std::string name = stem + "-" + std::to_string(number);
    if (taken.contains(name)) continue;
    const fs::path path = fs::path(*profiles) / name;
    // Returns false if the folder exists, also if another process created it.
    if (fs::create_directory(path, error)) return ProfileFolder{name, path};
  }
  return failure(ErrorCode::unavailable,
                 "cannot make a folder for a profile in " + *profiles + ": " + error.message());
}

std::string trace_file_path(const std::string& folder, std::int64_t rank) {
  return fs::path(folder) /
         (std::string(kTracePrefix) + std::to_string(rank) + std::string(kTraceSuffix));
}

Result<void> remove_profile_folder(const std::string& store_path, const std::string& name) {
  if (auto ok = rules::check_name("profile", name); !ok) return ok;
  if (name == "." || name == "..")
    return failure(ErrorCode::invalid_argument, "\"" + name + "\" is no profile's folder");
  const auto profiles = profiles_folder(store_path);
  HOCKET_TRY(profiles);
  const fs::path folder = fs::path(*profiles) / name;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!is_trace_file(at->path().filename().string())) continue;
    std::error_code removing;
    fs::remove(at->path(), removing);
    if (removing) {
      return failure(ErrorCode::unavailable,
                     "cannot remove " + at->path().string() + ": " + removing.message());
    }
  }
  if (error == std::errc::no_such_file_or_directory) return {};
  if (!error) fs::remove(folder, error);
  if (!error || error == std::errc::directory_not_empty) return {};
  return failure(ErrorCode::unavailable,
                 "cannot remove " + folder.string() + ": " + error.message());
}

}  // namespace hocket
