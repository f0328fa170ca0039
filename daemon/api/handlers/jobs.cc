#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json_reader.h"
#include "daemon/api/handlers/call.h"
#include "profiler/metrics/counted_stragglers.h"
#include "store/origin.h"

namespace hocket {
namespace {

/// Counts a stream of a job as open for as long as it lives.
class OpenJobStream final : public StreamHold {
 public:
  OpenJobStream(ApiParts& parts, std::uint64_t number,
                std::shared_ptr<const std::atomic<bool>> has_ended)
      : parts_(parts), number_(number), has_ended_(std::move(has_ended)) {}
  ~OpenJobStream() override {
    parts_.errors.contain(ErrorOrigin::stream, {}, [this] {
      if (parts_.jobs.stream_closed(number_, parts_.clock.now_ns())) parts_.live.job_left(number_);
    });
  }
  OpenJobStream(const OpenJobStream&) = delete;
  OpenJobStream& operator=(const OpenJobStream&) = delete;

  bool is_over() const override { return has_ended_->load(std::memory_order_relaxed); }

 private:
  ApiParts& parts_;
  const std::uint64_t number_;
  const std::shared_ptr<const std::atomic<bool>> has_ended_;
};

/// Returns `feed`'s topic for a stream whose client has seen the versions up to `last`.
EventStream::Topic topic_after(const Feed& feed, const std::string& name, std::int64_t last) {
  const auto position = feed.position(name);
  const bool is_known = position.newest && position.newest->id.value_or(last + 1) <= last;
  return {name, is_known ? position.sequence : 0};
}

/// Returns 0 if the id is absent or is not one of ours, as the standard requires.
std::int64_t last_event_of(const std::string& text) {
  if (text.empty() || text.size() > 18) return 0;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    value = 10 * value + (c - '0');
  }
  return value;
}

constexpr std::size_t kMaxListedJobs = 20;

/// Returns the job with that id, or the only job with that name.
Result<RunningJob> find_job(const std::vector<RunningJob>& jobs, const std::string& selector) {
  std::vector<RunningJob> named;
  for (const RunningJob& job : jobs) {
    if (job.description.id == selector) return job;
    if (job.description.name == selector) named.push_back(job);
  }
  if (named.size() == 1) return named.front();
  const auto& shown = named.empty() ? jobs : named;
  std::string list;
  for (std::size_t i = 0; i < std::min(shown.size(), kMaxListedJobs); ++i) {
    const RunningJob& job = shown[i];
    list += (list.empty() ? "" : ", ") + job.description.id;
    if (named.empty() && !job.description.name.empty()) list += " (" + job.description.name + ")";
  }
  if (shown.size() > kMaxListedJobs)
    list += " and " + std::to_string(shown.size() - kMaxListedJobs) + " more";
  if (!named.empty()) {
    return failure(ErrorCode::invalid_argument, std::to_string(named.size()) +
                                                    " jobs are named \"" + selector +
                                                    "\"; name one by its id: " + list);
  }
  return failure(ErrorCode::not_found,
                 "no job has the id or the name \"" + selector + "\"; " +
                     (list.empty() ? std::string("none is running") : "there are " + list));
}

nlohmann::json changes_json(const RunningJob& job, std::int64_t now_ns) {
  nlohmann::json list = nlohmann::json::array();
  for (const JobChange& change : job.changes) {
    nlohmann::json item = {{"ago_ns", now_ns - change.at_ns},
                           {"status", to_string(change.status)},
                           {"message", change.message}};
    if (change.version) item["version"] = *change.version;
    if (change.trial) item["trial"] = *change.trial;
    if (change.current_ns) item["current_ns"] = *change.current_ns;
    if (change.candidate_ns) item["candidate_ns"] = *change.candidate_ns;
    list.push_back(std::move(item));
  }
  return list;
}

bool has_answered(const RunningJob& job, const char* kind, std::int64_t number) {
  const auto member = kind == std::string_view("trial") ? &JobChange::trial : &JobChange::version;
  return std::ranges::any_of(job.changes,
                             [&](const JobChange& change) { return change.*member == number; });
}

/// Returns the candidate or version that the job was sent last and has not answered; null if there
/// is none.
nlohmann::json trying(const Feed& feed, const RunningJob& job) {
  const auto find = [&](const std::string& topic, const char* kind) -> nlohmann::json {
    const auto newest = feed.position(topic).newest;
    if (!newest) return nullptr;
    const auto message = nlohmann::json::parse(newest->data, nullptr, false);
    const auto number = message.is_object() ? message.value(kind, std::int64_t{0}) : 0;
    if (number <= 0 || has_answered(job, kind, number)) return nullptr;
    if (kind == std::string_view("version") && number <= job.version) return nullptr;
    return {{kind, number}, {"config", message.value("config", nlohmann::json::object())}};
  };
  auto candidate = find(job_candidate_topic(job.number), "trial");
  return candidate.is_null() ? find(job_config_topic(job.number), "version") : candidate;
}

/// Removes the request and older ones from the store. Otherwise a job that also polls the store
/// would serve the request twice, and later serve older requests made there.
Result<void> take_requests(Store& store, const ProfileRequestRow& request) {
  for (;;) {
    const auto taken = store.take_profile_request(request.job, request.job,
                                                  std::numeric_limits<std::int64_t>::max());
    HOCKET_TRY(taken);
    if (!*taken || (*taken)->id >= request.id) return {};
  }
}

/// Says where the versions come from that jobs run with, as the jobs' log does. Reads the versions
/// of a key once.
class VersionOrigins {
 public:
  explicit VersionOrigins(Store& store) : store_(store) {}

  /// Returns nothing for a job with a configuration of its own, and for a version that the store
  /// does not have, or not for the job's key: a job names its version itself.
  std::string of(const RunningJob& job) {
    if (job.version == 0) return "";
    const auto [found, is_new] = versions_.try_emplace(to_string(job.key));
    if (is_new) {
      UnreadRows unread;
      auto versions = store_.promotions({.key = job.key}, &unread);
      if (versions) found->second = std::move(*versions);
    }
    const auto row = std::ranges::find(found->second, job.version, &PromotionRow::id);
    if (row == found->second.end()) return "";
    return origin_of(store_, *row).value_or("");
  }

 private:
  Store& store_;
  std::map<std::string, std::vector<PromotionRow>> versions_;
};

/// The answer to a token that acts for the job of another one.
ServiceResponse not_its_job(const RouteCall& call, const std::string& id) {
  return forbidden("job " + id + " was registered with another token; only that one, and tokens " +
                   "with the role admin, act for it; this one is of " + call.who.name);
}

/// Returns a stream of what is for the job alone, after the versions up to `last`.
Result<ServiceReply> job_stream(const RouteCall& call, const ConfigKey& key, const std::string& id,
                                std::int64_t last) {
  ApiParts& parts = call.parts;
  const auto opened = parts.jobs.stream_opened(id, parts.clock.now_ns());
  if (!opened) {
    return failure(ErrorCode::not_found,
                   "job " + id + " is not known; POST its description to /v1/jobs");
  }
  const RunningJob& job = opened->job;
  EventStream stream;
  stream.hold = std::make_shared<OpenJobStream>(parts, job.number, opened->has_ended);
  if (!call.may_act_for(job.owner.token)) return not_its_job(call, id);
  if (job.key != key) {
    return failure(ErrorCode::invalid_argument,
                   "query \"key\": job " + id + " has the key " + to_string(job.key));
  }
  last = std::max(last, job.version);
  stream.topics.push_back(topic_after(parts.feed, job_config_topic(job.number), last));
  // A candidate has no event id: a job that reconnects receives it again and recognizes the
  // trial.
  stream.topics.push_back({job_candidate_topic(job.number), 0});
  // A request for a profile has no event id either; the job recognizes its number.
  stream.topics.push_back({job_profile_topic(job.number), 0});
  HOCKET_TRY(parts.live.job_arrived(job.number));
  stream.topics.push_back(
      topic_after(parts.feed, ConfigBoard::topic(to_string(key), job.owner.speaks_for()), last));
  stream.topics.back().receives = [&jobs = parts.jobs, last,
                                   number = job.number](const FeedEvent& event) {
    const bool is_newer = event.id.value_or(last + 1) > last;
    return is_newer && (!event.config || jobs.can_change_to(number, *event.config));
  };
  return stream;
}

Result<ServiceReply> watch(const RouteCall& call) {
  const auto key_text = call.target.find("key");
  if (!key_text) {
    return failure(ErrorCode::invalid_argument, "query \"key\" is missing: which key to watch");
  }
  const auto key = parse_config_key(*key_text);
  HOCKET_TRY(key);
  const std::int64_t last = last_event_of(call.request.last_event_id);
  if (const auto id = call.target.find("job")) {
    return job_stream(call, *key, std::string(*id), last);
  }
  HOCKET_TRY(call.parts.live.key_changed(*key));
  return EventStream{{topic_after(call.parts.feed, ConfigBoard::topic(*key_text), last)}};
}

Result<ServiceReply> enter_job(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  const auto job = job_description_from_json(*body);
  HOCKET_TRY(job);
  HOCKET_TRY(LiveTuning::check(*job));
  HOCKET_TRY(call.parts.store.upsert_topology(job->topology));
  HOCKET_TRY(call.parts.store.upsert_workload(job->workload));
  const auto entered = call.parts.jobs.enter(
      *job, call.parts.clock.now_ns(), call.request.body.size(),
      {.token = call.who.name, .is_admin = call.who.role == AccessRole::admin});
  HOCKET_TRY(entered);
  if (entered->is_anothers) return not_its_job(call, job->id);
  if (entered->ended) call.parts.live.job_left(*entered->ended);
  call.parts.log.write(LogLevel::info, "job",
                       {{"id", job->id}, {"name", job->name}, {"host", job->host}});
  return json_response({{"key", to_string(entered->job.key)}});
}

Result<ServiceReply> list_jobs(const RouteCall& call) {
  const std::int64_t now_ns = call.parts.clock.now_ns();
  const auto set_aside = call.parts.live.set_aside();
  const auto tuning = call.parts.live.tuning();
  VersionOrigins origins(call.parts.store);
  nlohmann::json list = nlohmann::json::array();
  for (const RunningJob& job : call.parts.jobs.list()) {
    list.push_back({{"job", job.description.id},
                    {"name", job.description.name},
                    {"host", job.description.host},
                    {"key", to_string(job.key)},
                    {"topology", readable_name(job.description.topology)},
                    {"world_size", job.description.topology.world_size},
                    {"workload", job.description.workload.name},
                    {"version", job.version},
                    {"config", to_json(job.description.config)},
                    {"step", job.step},
                    {"iteration_ns", job.iteration_ns},
                    {"explore", job.description.explore},
                    {"explored", job.explored},
                    {"connected", job.is_connected()},
                    {"silent_ns", now_ns - job.seen_at_ns},
                    {"last_change", job.last_change},
                    {"latest_ns", job.history_ns},
                    {"trying", trying(call.parts.feed, job)},
                    {"changes", changes_json(job, now_ns)}});
    if (job.activity) list.back()["activity"] = to_json(*job.activity);
    if (!job.values.empty()) list.back()["values"] = job.values;
    if (!job.note.empty()) list.back()["note"] = job.note;
    if (auto origin = origins.of(job); !origin.empty())
      list.back()["version_from"] = std::move(origin);
    if (auto traits = traits_text(job.description.workload); !traits.empty())
      list.back()["traits"] = std::move(traits);
    const auto state = tuning.find(job.description.id);
    if (state != tuning.end()) {
      list.back()["tuning"] = state->second.state;
      if (state->second.search) list.back()["search"] = to_json(*state->second.search);
    }
    const auto stopped = set_aside.find(to_string(job.key));
    if (stopped != set_aside.end()) list.back()["tuning_stopped"] = stopped->second;
  }
  return json_response({{"jobs", std::move(list)}});
}

Result<ServiceReply> list_ended_jobs(const RouteCall& call) {
  const std::int64_t now_ns = call.parts.clock.now_ns();
  nlohmann::json list = nlohmann::json::array();
  for (const EndedJob& job : call.parts.jobs.ended()) {
    list.push_back({{"job", job.id},
                    {"name", job.name},
                    {"host", job.host},
                    {"key", job.key},
                    {"ago_ns", now_ns - job.ended_at_ns},
                    {"was_silent", job.was_silent},
                    {"version", job.version},
                    {"step", job.step},
                    {"iteration_ns", job.iteration_ns},
                    {"explore", job.explore},
                    {"explored", job.explored},
                    {"tried", job.tried},
                    {"kept", job.kept},
                    {"last_change", job.last_change}});
    if (!job.values.empty()) list.back()["values"] = job.values;
  }
  return json_response({{"jobs", std::move(list)}});
}

Result<ServiceReply> profile_job(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  std::int64_t iterations = 0;
  JsonReader reader(*body);
  reader.integer("iterations", iterations, 1, kMaxProfiledIterations);
  HOCKET_TRY(reader.done());
  const auto job = find_job(call.parts.jobs.list(), call.parameter("job"));
  HOCKET_TRY(job);
  const std::string& id = job->description.id;
  // The row's id is the number of the request; it increases across restarts of the daemon.
  const auto request = call.parts.store.request_profile(
      {.job = id, .iterations = iterations, .actor = call.actor()});
  HOCKET_TRY(request);
  HOCKET_TRY(take_requests(call.parts.store, *request));
  HOCKET_TRY(call.parts.store.record_audit(
      {.actor = call.actor(),
       .action = "profile",
       .subject = to_string(job->key),
       .detail = {{"job", id}, {"request", request->id}, {"iterations", iterations}}}));
  const ProfileMessage message{request->id, iterations};
  const std::string topic = job_profile_topic(job->number);
  call.parts.feed.publish(topic, {.type = std::string(type_of(message)),
                                  .data = to_json(DaemonMessage(message)).dump()});
  // Nobody else forgets the topic of a job that was removed meanwhile.
  if (!call.parts.jobs.find(job->number)) call.parts.feed.forget(topic);
  return json_response({{"job", id},
                        {"request", request->id},
                        {"iterations", iterations},
                        {"connected", job->is_connected()}});
}

Result<ServiceReply> job_stragglers(const RouteCall& call) {
  const auto job = find_job(call.parts.jobs.list(), call.parameter("job"));
  HOCKET_TRY(job);
  const auto counted = call.parts.jobs.counted(job->description.id);
  auto document = counted_stragglers_json(counted, job->iteration_ns);
  document["job"] = job->description.id;
  document["name"] = job->description.name;
  document["first_step"] = counted.empty() ? 0 : counted.front().step - counted.front().steps + 1;
  document["last_step"] = counted.empty() ? 0 : counted.back().step;
  return json_response(document);
}

Result<ServiceReply> report(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  auto report = job_report_from_json(*body);
  HOCKET_TRY(report);
  const auto owner = call.parts.jobs.owner_of(report->job);
  if (owner && !call.may_act_for(owner->token)) return not_its_job(call, report->job);
  const auto number = call.parts.jobs.report(*report, call.parts.clock.now_ns());
  if (!number) {
    return failure(ErrorCode::not_found,
                   "job " + report->job + " is not known; POST its description to /v1/jobs");
  }
  report->counted.clear();  // the registry has it, and live tuning does not use it
  const bool has_ended = report->ended;
  HOCKET_TRY(call.parts.live.reported(*number, std::move(*report)));
  // At once, so that a job that enters under the same id now is another one.
  if (has_ended) call.parts.jobs.end(*number);
  return json_response(nlohmann::json::object());
}

}  // namespace

std::span<const ApiRoute> job_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"GET", "/v1/watch", AccessRole::read, watch, RequestLabour::brief, kAtOnce},
      {"GET", "/v1/jobs", AccessRole::read, list_jobs},
      {"GET", "/v1/jobs/ended", AccessRole::read, list_ended_jobs},
      {"POST", "/v1/jobs", AccessRole::report, enter_job},
      {"POST", "/v1/jobs/{job}/profile", AccessRole::admin, profile_job},
      {"GET", "/v1/jobs/{job}/stragglers", AccessRole::read, job_stragglers, RequestLabour::browse},
      {"POST", "/v1/reports", AccessRole::report, report},
  };
  return kRoutes;
}

}  // namespace hocket
