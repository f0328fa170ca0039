#include "client/start/daemon_config_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/link/http_client.h"
#include "client/start/last_good.h"
#include "core/base/bounded_call.h"
#include "core/base/json_reader.h"
#include "core/base/text.h"
#include "core/protocol/config_key.h"

namespace hocket {
namespace {

using Found = Result<std::optional<StoredConfig>>;

constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;
constexpr std::size_t kMostWarnings = 8;

ConfigKey key_of(const Topology& topology, const Workload& workload) {
  return {fingerprint(topology), fingerprint(workload)};
}

/// The default, because there is only a neighbour.
void read_neighbour(JsonReader& reader, StoredConfig& found) {
  std::string from;
  reader.text("from", from);
  found.source = "default";
  found.is_unknown = true;
  found.origin = "nothing is known for this topology and workload yet; the nearest that is: " +
                 from.substr(0, 200);
}

void read_exact(JsonReader& reader, StoredConfig& found) {
  reader.part("config", found.config, read_known_knobs);
  reader.integer("version", found.version, 1, kMaxInteger);
  reader.text("origin", found.origin);
  found.source = "daemon";
}

/// The default; `found.warnings` has what the daemon passed over.
void read_nothing(JsonReader&, StoredConfig& found) {
  found.source = "default";
  found.origin = "the daemon has nothing that this job can run";
}

using ReadMatch = void (*)(JsonReader&, StoredConfig&);
constexpr std::array<Word<ReadMatch>, 3> kMatches{
    {{"exact", read_exact}, {"nearest", read_neighbour}, {"none", read_nothing}}};

void read_search(JsonReader& reader, std::string& text) {
  std::int64_t tried = 0, kept = 0, ended_at_ns = 0;
  std::string again;
  reader.integer("tried", tried, 0, kMaxInteger);
  reader.integer("kept", kept, 0, kMaxInteger);
  reader.integer("ended_at_ns", ended_at_ns, 0, INT64_MAX);
  reader.text("opened_again", again, "");
  constexpr std::size_t kReasonBytes = 200;
  text = "the search for its key has ended (tried " + std::to_string(tried) + ", kept " +
         std::to_string(kept) + ", on " + date_text(ended_at_ns) + ")";
  if (!again.empty()) text += " and is opened again: " + again.substr(0, kReasonBytes);
}

Found read_resolved(const nlohmann::json& answer, const ConfigKey& key) {
  JsonReader reader(answer);
  std::string answered;
  reader.text("key", answered);
  if (reader.finish() && answered != to_string(key)) {
    return failure(ErrorCode::unavailable, "it answered for another key, " +
                                               answered.substr(0, 80) + " in place of " +
                                               to_string(key));
  }
  ReadMatch read_match = read_nothing;
  reader.choice("match", read_match, kMatches);
  StoredConfig found;
  reader.texts("passed_over", found.warnings, kOptional);
  reader.object(
      "search", [&](JsonReader& search) { read_search(search, found.search); }, kOptional);
  read_match(reader, found);
  HOCKET_TRY(reader.done());
  if (read_match == read_nothing && found.warnings.empty()) {
    if (found.search.empty()) return std::nullopt;
    found.origin = "the daemon has nothing for this topology and workload";
    found.is_unknown = true;
  }
  found.warnings.resize(std::min(found.warnings.size(), kMostWarnings));
  for (std::string& warning : found.warnings) warning = warning.substr(0, 300);
  return std::optional(std::move(found));
}

class DaemonConfigSource final : public ConfigSource {
 public:
  DaemonConfigSource(DaemonAccess daemon, RunnableValues can_run)
      : name_("daemon " + to_string(daemon.address)),
        client_(std::move(daemon)),
        can_run_(std::move(can_run)) {}

  Found find(const Topology& topology, const Workload& workload, std::int64_t timeout_ns) override {
    nlohmann::json question = {{"topology", to_json(topology)}, {"workload", to_json(workload)}};
    if (can_run_ != RunnableValues{}) question["can_run"] = to_json(can_run_);
    const auto response = client_.send(
        {.method = "POST",
         .target = "/v1/resolve",
         .body = question.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)},
        deadline_after_ns(timeout_ns));
    HOCKET_TRY(response);
    const auto answer = read_answer(*response);
    if (!answer) return failure(answer.error().in(name_));
    auto found = read_resolved(*answer, key_of(topology, workload));
    if (!found) return failure(found.error().in(name_));
    return found;
  }

 private:
  const std::string name_;
  HttpClient client_;
  const RunnableValues can_run_;
};

class LastGoodSource final : public ConfigSource {
 public:
  LastGoodSource(std::unique_ptr<ConfigSource> source, std::optional<std::string> folder)
      : source_(std::move(source)), folder_(std::move(folder)) {}

  Found find(const Topology& topology, const Workload& workload, std::int64_t timeout_ns) override {
    const auto begin = std::chrono::steady_clock::now();
    // Reserves a tenth of the time for the disk.
    auto found = source_->find(topology, workload, timeout_ns - timeout_ns / 10);
    if (!folder_) return found;
    const std::int64_t left_ns =
        timeout_ns - std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    // A process that was suspended during the request still gets time to read its last good
    // configuration.
    const std::int64_t limit_ns = std::max(left_ns, timeout_ns / 10);
    const ConfigKey key = key_of(topology, workload);
    if (!found) return kept(found.error(), key, limit_ns);
    return keep(std::move(*found), key, limit_ns);
  }

 private:
  std::string disk() const { return "folder " + *folder_; }

  Found keep(std::optional<StoredConfig> found, const ConfigKey& key, std::int64_t limit_ns) const {
    const bool is_good = found && found->source == "daemon";
    LastGood last_good;
    if (is_good) last_good = {found->config, found->version, found->origin};
    const auto ok = call_within(limit_ns, disk(), [=, folder = *folder_] {
      return is_good ? write_last_good(folder, key, last_good) : remove_last_good(folder, key);
    });
    if (!ok && is_good) {
      found->warnings.push_back("the configuration is not kept for when the daemon is away: " +
                                ok.error().message);
    }
    return found;
  }

  Found kept(const Error& error, const ConfigKey& key, std::int64_t limit_ns) const {
    auto last_good = call_within(limit_ns, disk(),
                                 [=, folder = *folder_] { return read_last_good(folder, key); });
    if (!last_good) {
      return failure(error.code, error.message + "; and what it said last cannot be used: " +
                                     last_good.error().message);
    }
    if (!*last_good) return failure(error);
    StoredConfig found;
    found.config = std::move((*last_good)->config);
    found.origin = std::move((*last_good)->origin);
    found.source = "last good";
    found.version = (*last_good)->version;
    found.warnings = {error.message};
    return found;
  }

  const std::unique_ptr<ConfigSource> source_;
  const std::optional<std::string> folder_;
};

/// Stands in for a daemon that is known to be unusable; every request returns `error`.
class BrokenSource final : public ConfigSource {
 public:
  explicit BrokenSource(Error error) : error_(std::move(error)) {}
  Found find(const Topology&, const Workload&, std::int64_t) override { return failure(error_); }

 private:
  const Error error_;
};

}  // namespace

std::unique_ptr<ConfigSource> open_daemon_config_source(DaemonAccess daemon,
                                                        RunnableValues can_run) {
  return std::make_unique<DaemonConfigSource>(std::move(daemon), std::move(can_run));
}

std::unique_ptr<ConfigSource> with_last_good(std::unique_ptr<ConfigSource> source,
                                             std::optional<std::string> folder) {
  return std::make_unique<LastGoodSource>(std::move(source), std::move(folder));
}

std::unique_ptr<ConfigSource> daemon_source_from_environment(const Environment& environment,
                                                             RunnableValues can_run) {
  auto daemon = daemon_from_environment(environment);
  if (!daemon && daemon.error().code == ErrorCode::not_found) return nullptr;
  auto source = daemon ? open_daemon_config_source(std::move(*daemon), std::move(can_run))
                       : std::make_unique<BrokenSource>(daemon.error());
  return with_last_good(std::move(source), last_good_folder(environment));
}

}  // namespace hocket
