#include "cli/inputs/access/store_access.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "archive/studies/study_job.h"
#include "cli/inputs/access/shown_commands.h"
#include "client/link/environment.h"
#include "core/base/bounded_call.h"
#include "store/open.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

bool is_away(const Result<std::unique_ptr<Store>>& store) {
  return !store && (store.error().code == ErrorCode::timed_out ||
                    store.error().code == ErrorCode::unavailable);
}

/// A verb reads what people look at, which no server takes longer for.
constexpr int kAnswerTimeoutMs = 6'000;

Result<std::unique_ptr<Store>> open(const std::string& option, bool read_only) {
  const auto path = store_path(option);
  HOCKET_TRY(path);
  auto store = open_in_time(*path);
  // A store that hangs is left alone. To open another one may take long: it is made, or migrated.
  if (!read_only && !is_away(store)) store = open_store(*path);
  if (!store) return failure(as_bad_input(store.error()));
  return store;
}

}  // namespace

CLI::Option* add_store_option(CLI::App& verb, std::string& store) {
  return verb.add_option("--store", store, "the store: a file, or a URI of PostgreSQL");
}

Result<std::string> store_path(const std::string& option) {
  if (!option.empty()) return option;
  return default_store_path();
}

std::string store_argument_for_start(const std::string& option) {
  const bool has_daemon = !process_environment("HOCKET_DAEMON").value_or("").empty();
  if (!option.empty() || !has_daemon) return store_argument(option);
  const auto path = store_path(option);
  return path ? store_argument(*path) : std::string();
}

Result<std::unique_ptr<Store>> open_in_time(const std::string& path) {
  return call_within(kOpeningLimitNs, "store " + shown_store(path), [path] {
    return open_store(path, {.read_only = true, .answer_timeout_ms = kAnswerTimeoutMs});
  });
}

Result<std::unique_ptr<Store>> open_for_reading(const std::string& option) {
  auto store = open(option, true);
  if (!store && store.error().code == ErrorCode::not_found) {
    return failure(store.error().in("nothing is tuned yet"));
  }
  return store;
}

Result<std::unique_ptr<Store>> open_existing(const std::string& option) {
  auto store = open_for_reading(option);
  if (!store && store.error().code == ErrorCode::not_found) return store;
  return open(option, false);
}

Result<std::unique_ptr<Store>> open_for_writing(const std::string& option) {
  return open(option, false);
}

}  // namespace hocket
