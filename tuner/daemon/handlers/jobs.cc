#include "tuner/daemon/handlers/call.h"

namespace hocket {
namespace {

/// `feed`'s topic for a stream whose client has seen the versions up to `last`.
EventStream::Topic topic_after(const Feed& feed, const std::string& name, std::int64_t last) {
  const auto position = feed.position(name);
  const bool is_known = position.newest && position.newest->id.value_or(last + 1) <= last;
  return {name, is_known ? position.sequence : 0};
}

/// 0 when it is absent or no number of ours, which is how the standard has it.
std::int64_t last_event_of(const std::string& text) {
  if (text.empty() || text.size() > 18) return 0;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    value = 10 * value + (c - '0');
  }
  return value;
}

}  // namespace

Result<Reply> watch(const Call& call) {
  const auto key_text = call.target.find("key");
  if (!key_text) {
    return failure(ErrorCode::invalid_argument, "query \"key\" is missing: which key to watch");
  }
  const auto key = parse_config_key(*key_text);
  if (!key) return failure(key.error());
  std::int64_t last = last_event_of(call.request.last_event_id);
  const auto& feed = call.parts.feed;
  EventStream stream;
  if (const auto job_text = call.target.find("job")) {
    const std::string id(*job_text);
    const auto job = call.parts.jobs.find(id);
    if (job && job->key != *key) {
      return failure(ErrorCode::invalid_argument,
                     "query \"key\": job " + id + " has the key " + to_string(job->key));
    }
    if (!job || !call.parts.jobs.stream_opened(id, call.parts.clock.now_ns())) {
      return failure(ErrorCode::not_found,
                     "job " + id + " is not known; POST its description to /v1/jobs");
    }
    last = std::max(last, job->version);
    stream.subscriber = id;
    stream.topics.push_back(topic_after(feed, job_config_topic(id), last));
    // A candidate has no id: a job that reconnects is told again, and knows it by its trial.
    stream.topics.push_back({job_candidate_topic(id), 0});
    call.parts.live.job_arrived(id);
  } else {
    call.parts.live.key_changed(*key);
  }
  stream.topics.push_back(topic_after(feed, ConfigBoard::topic(*key_text), last));
  return stream;
}

Result<Reply> enter_job(const Call& call) {
  const auto body = call.body();
  if (!body) return failure(body.error());
  const auto job = job_description_from_json(*body);
  if (!job) return failure(job.error());
  if (const auto id = call.parts.store.upsert_topology(job->topology); !id) {
    return failure(id.error());
  }
  if (const auto id = call.parts.store.upsert_workload(job->workload); !id) {
    return failure(id.error());
  }
  const auto entered = call.parts.jobs.enter(*job, call.parts.clock.now_ns());
  if (!entered) return failure(entered.error());
  call.parts.log.write(LogLevel::info, "job",
                       {{"id", job->id}, {"name", job->name}, {"host", job->host}});
  return json_response({{"key", to_string(entered->key)}});
}

Result<Reply> list_jobs(const Call& call) {
  const std::int64_t now_ns = call.parts.clock.now_ns();
  nlohmann::json list = nlohmann::json::array();
  for (const RunningJob& job : call.parts.jobs.list()) {
    list.push_back({{"job", job.description.id},
                    {"name", job.description.name},
                    {"host", job.description.host},
                    {"key", to_string(job.key)},
                    {"topology", readable_name(job.description.topology)},
                    {"workload", job.description.workload.name},
                    {"version", job.version},
                    {"config", to_json(job.description.config)},
                    {"step", job.step},
                    {"iteration_ns", job.iteration_ns},
                    {"explore", job.description.explore},
                    {"explored", job.explored},
                    {"connected", job.streams > 0},
                    {"silent_ns", now_ns - job.seen_at_ns},
                    {"last_change", job.last_change}});
  }
  return json_response({{"jobs", std::move(list)}});
}

Result<Reply> report(const Call& call) {
  const auto body = call.body();
  if (!body) return failure(body.error());
  auto report = job_report_from_json(*body);
  if (!report) return failure(report.error());
  if (!call.parts.jobs.report(*report, call.parts.clock.now_ns())) {
    return failure(ErrorCode::not_found,
                   "job " + report->job + " is not known; POST its description to /v1/jobs");
  }
  call.parts.live.reported(std::move(*report));
  return json_response(nlohmann::json::object());
}

}  // namespace hocket
