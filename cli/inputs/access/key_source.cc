#include "cli/inputs/access/key_source.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "archive/promotions/stored_promotions.h"
#include "cli/inputs/access/store_access.h"
#include "client/link/environment.h"
#include "core/protocol/config_key.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

Result<KeySource> open_store_source(const std::string& option, bool for_writing) {
  auto store = for_writing ? open_for_writing(option) : open_for_reading(option);
  HOCKET_TRY(store);
  return KeySource{nullptr, std::move(*store)};
}

}  // namespace

void add_key_source_options(CLI::App& verb, KeySourceChoice& choice) {
  auto* store = verb.add_option("--store", choice.store, "the store's file, without a daemon");
  verb.add_option("--daemon", choice.daemon.address,
                  "the daemon (default: $HOCKET_DAEMON, else " + std::string(kDefaultDaemon) +
                      " if it answers, else the default store)")
      ->excludes(store);
  add_plain_token_option(verb, choice.daemon);
}

Result<KeySource> open_key_source(const KeySourceChoice& choice, bool for_writing,
                                  std::ostream& err) {
  if (!choice.store.empty()) return open_store_source(choice.store, for_writing);
  const bool is_named =
      !choice.daemon.address.empty() || !process_environment("HOCKET_DAEMON").value_or("").empty();
  auto access = daemon_access(choice.daemon);
  HOCKET_TRY(access);
  auto client = std::make_unique<HttpClient>(std::move(*access));
  if (is_named || answers(*client)) return KeySource{std::move(client), nullptr};
  const auto path = store_path("");
  HOCKET_TRY(path);
  err << "no daemon at " << kDefaultDaemon << "; using the store " << shown_store(*path)
      << std::endl;
  return open_store_source("", for_writing);
}

std::string workload_selector(const std::string& given) {
  if (given.find('/') == std::string::npos) return given;
  std::error_code error;
  const auto path = std::filesystem::canonical(given, error);
  return error ? given : path.string();
}

Result<std::string> find_key(KeySource& source, const std::string& given) {
  const std::string selector = workload_selector(given);
  if (source.daemon) return find_key(*source.daemon, selector);
  if (parse_config_key(selector)) return selector;
  const auto keys = source.store->keys();
  HOCKET_TRY(keys);
  UnreadRows unread;
  const auto rows = source.store->workloads("", &unread);
  HOCKET_TRY(rows);
  std::map<std::string, KeyWorkload> workloads;
  for (const KeyRow& row : *keys) {
    KeyWorkload& workload = workloads[to_string(row.key)];
    workload.name = row.workload_name;
    const auto stored = std::ranges::find(*rows, row.workload_id, &WorkloadRow::id);
    if (stored != rows->end()) workload.program = program_of(*stored);
  }
  return choose_key(workloads, selector, "the store");
}

}  // namespace hocket
