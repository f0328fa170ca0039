#include "daemon/live/live_tuning.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/live/live_search.h"

namespace hocket {

LiveTuning::LiveTuning(LiveParts parts)
    : parts_(std::move(parts)),
      started_{parts_.clock.now_ns(), parts_.now_unix_ns()},
      events_(std::make_shared<LiveEvents>(parts_.limits)) {}

LiveTuning::~LiveTuning() {
  thread_.request_stop();
}

Result<void> LiveTuning::check(const JobDescription& job) {
  if (job.explore == 0 || searched_knobs(job).empty()) return {};
  HOCKET_TRY(live_definition(job));
  return {};
}

Result<void> LiveTuning::job_arrived(std::uint64_t number) {
  return events_->job_changed(number);
}

void LiveTuning::job_left(std::uint64_t number) {
  // If it cannot be told, the key notices with its next event, and a registration that has ended is
  // removed like one that is silent.
  (void)events_->job_changed(number);
}

Result<void> LiveTuning::reported(std::uint64_t number, JobReport report) {
  if (!report.outcomes.empty() && sizes().waiting_outcomes >= parts_.limits.waiting_outcomes) {
    return failure(ErrorCode::unavailable,
                   "too many outcomes wait for the store; it is locked or cannot be written");
  }
  return events_->reported(number, std::move(report));
}

Result<void> LiveTuning::key_changed(const ConfigKey& key) {
  return events_->key_changed(key);
}

void LiveTuning::tick() {
  events_->tick();
}

void LiveTuning::run_pending() {
  for (;;) {
    const auto event = events_->take();
    show_state();
    if (!event) return;
    parts_.errors.contain(ErrorOrigin::tuning, {}, [&] { process(*event); });
  }
}

void LiveTuning::process(const LiveEvent& event) {
  if (const auto* report = std::get_if<JobReported>(&event)) return on_report(*report);
  if (const auto* job = std::get_if<JobChanged>(&event)) return on_change(job->number);
  if (std::holds_alternative<Tick>(event)) return on_tick();
  if (Key* found = find_key(std::get<KeyChanged>(event).key)) advance(*found);
}

void LiveTuning::show_state() {
  const std::lock_guard lock(mutex_);
  shown_counts_ = counts_;
  shown_keys_ = keys_.size();
  shown_claims_ = static_cast<std::size_t>(
      std::ranges::count_if(keys_, [](const auto& at) { return at.second->claim != nullptr; }));
  waiting_outcomes_ = outcomes_;
}

LiveTuning::Sizes LiveTuning::sizes() const {
  const std::lock_guard lock(mutex_);
  return {shown_keys_, events_->size(), waiting_outcomes_, shown_claims_};
}

void LiveTuning::start() {
  // Changes by other processes are looked for at each tick; a store on a server announces them at
  // once.
  auto listener = parts_.store.listen([events = std::weak_ptr(events_)](const auto&) {
    if (const auto still = events.lock()) still->tick();
  });
  if (listener) {
    listener_ = std::move(*listener);
  } else {
    parts_.log.write(LogLevel::error, "changes are looked for once a second",
                     {{"error", listener.error().message}});
  }
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (parts_.errors.contain(ErrorOrigin::tuning, {}, [&] { run(stop); })) {
    }
  });
}

void LiveTuning::run(const std::stop_token& stop) {
  constexpr auto kTick = std::chrono::seconds(1);
  auto next_tick = std::chrono::steady_clock::now() + kTick;
  while (!stop.stop_requested()) {
    run_pending();
    events_->wait_until(stop, next_tick);
    if (std::chrono::steady_clock::now() < next_tick) continue;
    next_tick = std::chrono::steady_clock::now() + kTick;
    events_->tick();
  }
}

LiveCounts LiveTuning::counts() const {
  std::lock_guard lock(mutex_);
  return shown_counts_;
}

std::map<std::string, std::string> LiveTuning::set_aside() const {
  std::lock_guard lock(mutex_);
  return set_aside_;
}

std::map<std::string, LiveTuning::ShownTuning> LiveTuning::tuning() const {
  std::lock_guard lock(mutex_);
  return shown_tuning_;
}

void LiveTuning::show_tuning(Key& key) {
  const std::string explorer = key.is_set_aside ? std::string() : key.tuner->explorer();
  if (key.shown_explorer.empty() && explorer.empty()) return;
  std::lock_guard lock(mutex_);
  if (key.shown_explorer != explorer) shown_tuning_.erase(key.shown_explorer);
  if (!explorer.empty()) {
    const tuning::State& state = key.tuner->state();
    ShownTuning shown{std::string(to_string(state))};
    if (const auto* at = std::get_if<tuning::Settled>(&state.at)) shown.search = at->search;
    shown_tuning_[explorer] = std::move(shown);
  }
  key.shown_explorer = explorer;
}

void LiveTuning::complain(const Key& key, const Error& error) {
  parts_.log.write(LogLevel::error, "live tuning",
                   {{"key", to_string(key.key)}, {"error", error.message}});
}

LiveTuning::Key* LiveTuning::find_key(const ConfigKey& key) {
  const std::string text = to_string(key);
  if (const auto found = keys_.find(text); found != keys_.end()) {
    found->second->used_ns = parts_.clock.now_ns();
    return found->second.get();
  }
  {
    const std::lock_guard lock(mutex_);
    if (set_aside_.contains(text)) return nullptr;
  }
  Result<std::unique_ptr<Key>> loaded;
  const auto thrown =
      parts_.errors.contain(ErrorOrigin::key, {{"key", text}}, [&] { loaded = load_key(key); });
  if (thrown) {
    note_set_aside(text, "internal error: " + *thrown);
    return nullptr;
  }
  if (loaded) return (keys_[text] = std::move(*loaded)).get();
  const ErrorCode code = loaded.error().code;
  if (code == ErrorCode::invalid_argument) {
    note_set_aside(text, loaded.error().message);
    return nullptr;
  }
  const bool is_unknown = code == ErrorCode::not_found;
  parts_.log.write(is_unknown ? LogLevel::debug : LogLevel::error, "live tuning",
                   {{"key", text}, {"error", loaded.error().message}});
  if (!is_unknown && unread_.size() < parts_.limits.pending_keys) unread_.emplace(text, key);
  return nullptr;
}

Result<std::unique_ptr<LiveTuning::Key>> LiveTuning::load_key(const ConfigKey& key) {
  std::optional<std::int64_t> topology_id, workload_id;
  UnreadRows unread;
  const auto topologies = parts_.store.topologies(&unread);
  HOCKET_TRY(topologies);
  for (const auto& row : *topologies) {
    if (row.fingerprint == key.topology) topology_id = row.id;
  }
  const auto workloads = parts_.store.workloads(key.workload, &unread);
  HOCKET_TRY(workloads);
  for (const auto& row : *workloads) {
    if (row.fingerprint == key.workload) workload_id = row.id;
  }
  if (!topology_id || !workload_id) {
    return failure(ErrorCode::not_found, "nothing is known of this topology and workload");
  }
  const auto current = parts_.board.refresh(key);
  HOCKET_TRY(current);
  parts_.board.publish(key);
  const std::int64_t version = *current ? (*current)->version : 0;
  return std::unique_ptr<Key>(new Key{
      .key = key,
      .topology_id = *topology_id,
      .workload_id = *workload_id,
      .used_ns = parts_.clock.now_ns(),
      .rollout = KeyRollout(parts_, counts_, started_, key, *topology_id, *workload_id, version),
      .tuner = new_tuner(key, *topology_id, *workload_id)});
}

std::unique_ptr<KeyTuner> LiveTuning::new_tuner(const ConfigKey& key, std::int64_t topology_id,
                                                std::int64_t workload_id) {
  auto wake = [key, events = std::weak_ptr(events_)] {
    // If it cannot be told, the next tick looks.
    if (const auto still = events.lock()) (void)still->key_changed(key);
  };
  return std::make_unique<KeyTuner>(parts_, counts_, key, topology_id, workload_id,
                                    std::move(wake));
}

template <class Work>
void LiveTuning::work_on(Key& key, Work work) {
  if (key.is_set_aside) return;
  const std::string text = to_string(key.key);
  const std::size_t waited = key.rollout.waiting_outcomes();
  Result<void> ok;
  const auto error = parts_.errors.contain(ErrorOrigin::key, {{"key", text}}, [&] { ok = work(); });
  if (error) {
    set_aside(key, "internal error: " + *error);
  } else if (!ok && ok.error().code == ErrorCode::invalid_argument) {
    set_aside(key, ok.error().message);
  } else if (!ok) {
    complain(key, ok.error());
  }
  outcomes_ = outcomes_ - waited + key.rollout.waiting_outcomes();
  show_tuning(key);
}

void LiveTuning::set_aside(Key& key, const std::string& reason) {
  key.is_set_aside = true;
  key.must_retry = false;
  key.rollout.drop_outcomes();
  note_set_aside(to_string(key.key), reason);
}

void LiveTuning::note_set_aside(const std::string& key, const std::string& reason) {
  parts_.log.write(LogLevel::error, "live tuning of a key has stopped until the daemon restarts",
                   {{"key", key}, {"reason", reason}});
  const std::lock_guard lock(mutex_);
  if (set_aside_.size() < parts_.limits.pending_keys) set_aside_.emplace(key, reason);
}

void LiveTuning::advance(Key& key) {
  work_on(key, [&] { return advance_all(key); });
}

bool LiveTuning::has_jobs(const Key& key) const {
  bool has_some = false;
  parts_.jobs.for_each(key.key, [&](const RunningJob&) {
    has_some = true;
    return false;
  });
  return has_some;
}

Result<bool> LiveTuning::claim(Key& key) {
  if (key.claim && !key.claim->is_held()) {
    // As if this daemon had been started again: another one may have gone on with the study.
    parts_.log.write(LogLevel::info, "another daemon may decide for the key",
                     {{"key", to_string(key.key)}});
    key.claim.reset();
    parts_.feed.forget(job_candidate_topic(key.tuner->explorer_number()));
    key.tuner = new_tuner(key.key, key.topology_id, key.workload_id);
  }
  if (!key.claim) {
    auto claim = parts_.store.claim_key(key.topology_id, key.workload_id);
    HOCKET_TRY(claim);
    key.claim = std::move(*claim);
    note_claim(key);
  }
  return key.claim != nullptr;
}

void LiveTuning::note_claim(Key& key) const {
  // A daemon without jobs of the key leaves the claim as soon as it has looked.
  constexpr std::int64_t kBriefNs = 3'000'000'000;
  if (key.claim) {
    if (key.is_others) key.rollout.expect_jobs();
    key.refused_since_ns.reset();
    key.is_others = key.wants_claim = false;
    return;
  }
  const std::int64_t now_ns = parts_.clock.now_ns();
  if (!key.refused_since_ns) key.refused_since_ns = now_ns;
  key.is_others = now_ns - *key.refused_since_ns > kBriefNs;
  key.wants_claim = !key.is_others || has_jobs(key);
}

void LiveTuning::leave_claim(Key& key) const {
  const bool decides = key.rollout.staged() != 0 || !key.tuner->explorer().empty();
  if (!decides && !has_jobs(key)) key.claim.reset();
}

Result<void> LiveTuning::advance_all(Key& key) {
  const auto decides = claim(key);
  auto ok = decides ? key.rollout.take_outcomes() : failure(decides.error());
  if (ok && *decides) ok = key.tuner->conclude();
  if (ok) ok = key.rollout.look_for_versions(*decides);
  if (ok && !key.rollout.state().frozen) ok = key.rollout.advance();
  if (ok && *decides) {
    // Versions pushed by users are tried before candidates.
    const KeyState& state = key.rollout.state();
    ok = key.tuner->advance(!state.frozen && !state.pinned &&
                            !key.rollout.is_trying(key.tuner->explorer()));
  }
  if (ok) leave_claim(key);
  key.must_retry = !ok;
  if (!ok && ok.error().code == ErrorCode::not_found) {
    HOCKET_TRY(key.tuner->leave_removed_study());
  }
  return ok;
}

void LiveTuning::on_report(const JobReported& event) {
  const std::uint64_t number = event.number;
  const JobReport& report = event.report;
  const auto job = parts_.jobs.find(number);
  if (!job) return;
  if (Key* key = find_key(job->key)) {
    work_on(*key, [&]() -> Result<void> {
      for (const ChangeOutcome& outcome : report.outcomes) {
        if (outcome.version) key->rollout.add_outcome({*job, outcome, report.ended});
      }
      key->tuner->report(*job, report);
      // Only the explorer's times matter; other jobs may send thousands of reports.
      const bool is_news = !report.outcomes.empty() || number == key->tuner->explorer_number();
      return is_news ? advance_all(*key) : Result<void>();
    });
  }
  if (report.ended || job->has_ended) remove(*job);
}

void LiveTuning::remove(const RunningJob& job) {
  parts_.jobs.remove(job.number, parts_.clock.now_ns());
  forget(job);
}

void LiveTuning::forget(const RunningJob& gone) {
  parts_.feed.forget(job_config_topic(gone.number));
  parts_.feed.forget(job_candidate_topic(gone.number));
  parts_.feed.forget(job_profile_topic(gone.number));
  Key* const key = find_key(gone.key);
  if (!key) return;
  key->tuner->forget(gone);
  advance(*key);
}

void LiveTuning::on_change(std::uint64_t number) {
  const auto job = parts_.jobs.find(number);
  if (!job) return;
  if (job->has_ended) {
    if (!events_->has_report_of(number)) remove(*job);
  } else if (Key* key = find_key(job->key)) {
    advance(*key);
  }
}

void LiveTuning::on_tick() {
  for (const RunningJob& gone : parts_.jobs.remove_silent(parts_.clock.now_ns())) {
    parts_.errors.contain(ErrorOrigin::tick, {}, [&] { forget(gone); });
  }
  parts_.errors.contain(ErrorOrigin::tick, {}, [&] {
    const auto ok = look_for_changes();
    reaches_store_ = ok || ok.error().code == ErrorCode::invalid_argument;
    if (!ok) {
      parts_.log.write(LogLevel::error, "live tuning", {{"error", ok.error().message}});
    }
  });
  for (const auto& [text, key] : std::exchange(unread_, {})) {
    if (Key* found = find_key(key)) advance(*found);
  }
  for (const auto& [text, key] : keys_) {
    const bool is_asking = std::holds_alternative<tuning::Asking>(key->tuner->state().at);
    const bool is_waiting = key->rollout.is_waiting() || is_asking || key->wants_claim;
    if (key->must_retry || is_waiting) advance(*key);
  }
  evict_keys();
}

bool LiveTuning::is_idle(const Key& key) const {
  return !has_jobs(key) && !key.must_retry && key.rollout.waiting_outcomes() == 0 &&
         key.rollout.staged() == 0 && key.tuner->explorer().empty() &&
         parts_.clock.now_ns() - key.used_ns > parts_.limits.idle_key_ns &&
         !parts_.feed.is_watched(ConfigBoard::topic(to_string(key.key)));
}

void LiveTuning::evict_keys() {
  for (auto at = keys_.begin(); at != keys_.end() && keys_.size() > parts_.limits.idle_keys;) {
    const Key& key = *at->second;
    if (!is_idle(key)) {
      ++at;
      continue;
    }
    parts_.board.forget(key.key);
    const std::lock_guard lock(mutex_);
    set_aside_.erase(at->first);
    at = keys_.erase(at);
  }
}

Result<void> LiveTuning::look_for_changes() {
  const auto changes = parts_.store.change_count();
  HOCKET_TRY(changes);
  if (change_count_ == *changes) return {};
  UnreadRows unread;
  const auto staged = parts_.store.promotions({.stage = PromotionStage::staged}, &unread);
  HOCKET_TRY(staged);
  for (const std::string& row : unread)
    parts_.log.write(LogLevel::error, "live tuning leaves a row out", {{"error", row}});
  const auto rows = parts_.store.keys();
  HOCKET_TRY(rows);
  for (const KeyRow& row : *rows) {
    const std::string text = to_string(row.key);
    Result<void> ok;
    const auto error = parts_.errors.contain(ErrorOrigin::tick, {{"key", text}},
                                             [&] { ok = look_at_key(row, *staged); });
    if (error || ok) continue;
    if (ok.error().code != ErrorCode::invalid_argument) return ok;
    // It fails again; the other keys go on.
    parts_.log.write(LogLevel::error, "live tuning",
                     {{"key", text}, {"error", ok.error().message}});
  }
  change_count_ = *changes;
  return {};
}

Result<void> LiveTuning::look_at_key(const KeyRow& row, const std::vector<PromotionRow>& staged) {
  const std::string text = to_string(row.key);
  const auto shown = parts_.board.cached(text);
  const bool is_new = !shown ? row.current_id.has_value()
                             : shown->version != row.current_id || shown->state != row.state;
  const auto found = keys_.find(text);
  if (found == keys_.end() || found->second->is_set_aside) {
    const bool is_kept = std::ranges::any_of(staged, [&](const PromotionRow& promotion) {
      return promotion.topology_id == row.topology_id && promotion.workload_id == row.workload_id &&
             !promotion.kept_by.empty();
    });
    if (!shown || !(is_new || is_kept)) return {};
    HOCKET_TRY(parts_.board.refresh(row.key));
    return {};
  }
  Key& key = *found->second;
  const bool has_staged = std::ranges::any_of(staged, [&](const PromotionRow& promotion) {
    return promotion.topology_id == row.topology_id && promotion.workload_id == row.workload_id &&
           promotion.id > row.current_id.value_or(0) && !key.rollout.has_seen(promotion);
  });
  if (is_new || has_staged || row.state != key.rollout.state()) advance(key);
  return {};
}

}  // namespace hocket
