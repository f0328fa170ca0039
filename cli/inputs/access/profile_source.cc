#include "cli/inputs/access/profile_source.h"

#include <vector>

#include "archive/studies/study_job.h"
#include "cli/inputs/access/store_access.h"
#include "core/base/nearest_name.h"
#include "store/open.h"

namespace hocket {
namespace {

Result<std::vector<std::string>> profile_names(Store& store) {
  UnreadRows unread;
  const auto rows = store.profiles(&unread);
  HOCKET_TRY(rows);
  std::vector<std::string> names;
  for (const ProfileRow& row : *rows) names.push_back(row.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<Store>> open_profiles(const std::string& store_option, bool to_change) {
  const auto path = store_path(store_option);
  HOCKET_TRY(path);
  // Opened read-only first, because opening a missing store for changes would create it.
  auto store = open_in_time(*path);
  if (!store && store.error().code == ErrorCode::not_found) {
    return failure(store.error().in("nothing is profiled yet"));
  }
  if (store && to_change) store = open_store(*path);
  if (!store) return failure(as_bad_input(store.error()));
  return store;
}

Result<ProfileRow> find_named_profile(Store& store, const std::string& name) {
  auto row = store.profile(name);
  if (row || row.error().code != ErrorCode::not_found) return row;
  const auto names = profile_names(store);
  HOCKET_TRY(names);
  return failure(
      ErrorCode::not_found,
      row.error().message + (names->empty() ? ""
                                            : "; the nearest is \"" +
                                                  std::string(nearest_name(name, *names)) + "\""));
}

Result<ProfileRow> find_profile(Store& store, const std::string& name) {
  auto row = find_named_profile(store, name);
  if (row || row.error().code != ErrorCode::not_found || name.empty()) return row;
  auto names = profile_names(store);
  HOCKET_TRY(names);
  std::erase_if(*names, [&](const std::string& other) { return !other.starts_with(name); });
  if (names->empty()) return row;
  if (names->size() == 1) return store.profile(names->front());
  std::string all;
  for (const std::string& other : *names) all += (all.empty() ? "" : ", ") + other;
  return failure(ErrorCode::invalid_argument,
                 "several profiles begin with \"" + name + "\": " + all);
}

}  // namespace hocket
