// Jobs, workers and operators use the daemon in any order. Each byte of the input picks a request
// and the bytes after it its parts: jobs enter, watch, answer what they were offered, report
// nonsense and return under old ids, operators push and pin, workers ask and tell, ranks meet,
// clients have too low a role, clocks jump, the store is locked for a while, and the daemon
// restarts over its store. Whatever the order, every answer can be read, none is a 5xx except 503,
// nothing throws, no key is set aside, nothing is logged as an error but a locked store, and the
// state stays bounded. The open streams of a job's present registration are counted, all others are
// told to end, and when all jobs have ended nothing is left of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "daemon/api/daemon_state.h"
#include "tests/set_clock.h"
#include "tests/store/faulty_store.h"

namespace {

using nlohmann::json;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kMostRequests = 80, kJobs = 4, kKeys = 3;

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  /// Returns a number below `count`; 0 at the end of the input.
  std::size_t below(std::size_t count) {
    if (rest_.empty()) return 0;
    const std::size_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte % count;
  }
  template <class T, std::size_t N>
  T one_of(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::span<const std::uint8_t> rest_;
};

constexpr const char* kTokens =
    "admin ada 0123456789abcdaa\nreport job 0123456789abcdbb\nread eve 0123456789abcdcc\n";

hocket::Topology topology_of(std::size_t key) {
  hocket::Topology topology;
  topology.link = "tcp";
  topology.world_size = key == 2 ? 4 : 2;
  return topology;
}

hocket::Workload workload_of(std::size_t key) {
  return {key == 1 ? "bert" : "gpt2", {{"a", 1024}}};
}

std::string key_of(std::size_t key) {
  return to_string(hocket::ConfigKey{fingerprint(topology_of(key)), fingerprint(workload_of(key))});
}

class Sequence {
 public:
  explicit Sequence(Bytes bytes) : bytes_(bytes) { restart(); }

  void run() {
    for (std::size_t i = 0; i < kMostRequests && !bytes_.empty(); ++i) {
      request();
      // Events may wait while further requests come.
      if (bytes_.below(4) != 0) daemon_->live.run_pending();
      check_state();
    }
    finish();
  }

 private:
  struct Stream {
    std::string job;
    std::uint64_t number = 0;  ///< of the registration; 0 for a stream of no job
    std::shared_ptr<const hocket::StreamHold> hold;
  };

  void request() {
    const std::string key = "/v1/configs/" + key_of(bytes_.below(kKeys));
    switch (bytes_.below(24)) {
      case 0:
      case 1:
        return enter();
      case 2:
        return watch();
      case 3:
        return close_stream();
      case 4:
      case 5:
        return report({});
      case 6:
      case 7:
        return answer_offer();
      case 8:
      case 9:
        return tick();
      case 10:
        ask("PUT", key, {{"config", config()}});
        return;
      case 11:
        ask("PUT", key + "/pin", pin());
        return;
      case 12:
        ask("PUT", key + "/freeze", {{"frozen", bytes_.below(2) == 0}});
        return;
      case 13:
        ask("PUT", key + "/rollback", json::object());
        return;
      case 14:
        return restart();
      case 15:
        wall_ahead_ns_ = bytes_.one_of({-3600 * kSecondNs, std::int64_t{0}, 3600 * kSecondNs});
        return;
      case 16:
        ask("POST", "/v1/jobs/" + job() + "/profile", {{"iterations", bytes_.below(30)}});
        return;
      case 17:
        ask("POST", "/v1/resolve",
            {{"topology", to_json(topology_of(bytes_.below(kKeys)))},
             {"workload", to_json(workload_of(bytes_.below(kKeys)))}});
        return;
      case 18:
        return work_on_study();
      case 19:
        return look(key);
      case 20:
        return meet();
      case 21:
        authorization_ = bytes_.one_of({"Bearer 0123456789abcdaa", "Bearer 0123456789abcdbb",
                                        "Bearer 0123456789abcdcc", "Bearer 0123456789abcddd", ""});
        return;
      case 22:
        return lock_store(bytes_.below(2) == 0);
      default:
        // As the server does within a second.
        std::erase_if(streams_,
                      [](const Stream& stream) { return stream.hold && stream.hold->is_over(); });
    }
  }

  void lock_store(bool is_locked) {
    store_.set_locked(is_locked);
    was_locked_ = was_locked_ || is_locked;
  }

  void meet() {
    const std::string target = "/v1/meetings/" + std::string(bytes_.one_of({"m", "n", "."}));
    if (bytes_.below(2) == 0) {
      ask("GET", target);
      return;
    }
    ask("PUT", target, {{"text", std::string(bytes_.below(200), 'x')}});
  }

  std::string job() { return "job-" + std::to_string(bytes_.below(kJobs)); }

  json config() {
    hocket::ScheduleConfig config;
    config.partition_bytes = 4096LL << bytes_.below(16);
    if (bytes_.below(2) == 0) config.streams = static_cast<int>(bytes_.below(8));  // 0 is refused
    if (bytes_.below(4) == 0) config.regions["a"].streams = 2;
    return to_json(config);
  }

  json pin() {
    json body = {{"pinned", bytes_.below(2) == 0}};
    if (bytes_.below(2) == 0) body["version"] = bytes_.below(5);
    return body;
  }

  void enter() {
    static const char* const kKnobs[] = {
        "partition_bytes",    "bucket_bytes", "order",    "credit_bytes",      "regions.a.streams",
        "regions.a.priority", "step_issue",   "nonsense", "regions.a.nothing", "streams"};
    hocket::JobDescription job{.id = this->job(), .name = "train", .host = "here"};
    const std::size_t key = bytes_.below(kKeys);
    job.topology = topology_of(key);
    job.workload = workload_of(key);
    job.explore = bytes_.one_of({0.0, 0.1, 0.5});
    job.version = static_cast<std::int64_t>(bytes_.below(4));
    for (std::size_t count = bytes_.below(4); count > 0; --count) {
      job.knobs.emplace_back(bytes_.one_of(kKnobs));
    }
    json body = to_json(job);
    if (bytes_.below(2) == 0) body["config"] = config();
    ask("POST", "/v1/jobs", body);
  }

  void watch() {
    std::string target = "/v1/watch?key=" + key_of(bytes_.below(kKeys));
    if (bytes_.below(4) != 0) target += "&job=" + job();
    hocket::ServiceRequest request{.method = "GET", .target = target};
    request.authorization = authorization_;
    request.last_event_id = bytes_.one_of({"", "1", "3", "x"});
    const auto reply = daemon_->api.handle(request, false);
    if (const auto* stream = std::get_if<hocket::EventStream>(&reply)) {
      const auto at = target.find("&job=");
      const std::string id = at == target.npos ? "" : target.substr(at + 5);
      const std::uint64_t number = id.empty() ? 0 : daemon_->jobs.find(id)->number;
      last_number_ = std::max(last_number_, number);
      streams_.push_back({id, number, stream->hold});
    } else {
      check(std::get<hocket::ServiceResponse>(reply));
    }
  }

  void close_stream() {
    if (streams_.empty()) return;
    const auto closed =
        streams_.begin() + static_cast<std::ptrdiff_t>(bytes_.below(streams_.size()));
    streams_.erase(closed);
  }

  void report(json outcomes) {
    const std::int64_t scale = bytes_.one_of<std::int64_t>({1, 1000, 1'000'000, 1LL << 52});
    json times = json::array();
    for (std::size_t count = bytes_.below(24); count > 0; --count) {
      times.push_back(scale + static_cast<std::int64_t>(count % 3));
    }
    if (outcomes.is_null()) {
      outcomes = json::array();
      for (std::size_t count = bytes_.below(3); count > 0; --count) {
        const char* what = bytes_.one_of({"trial", "version"});
        outcomes.push_back(outcome(what, static_cast<std::int64_t>(bytes_.below(6)), scale));
      }
    }
    ask("POST", "/v1/reports",
        {{"job", job()},
         {"version", bytes_.below(4)},
         {"step", bytes_.below(200)},
         {"iteration_ns", times},
         {"outcomes", outcomes},
         {"ended", bytes_.below(8) == 1}});
  }

  json outcome(const char* what, std::int64_t number, std::int64_t scale) {
    json outcome = {{what, number}, {"message", "m"}};
    outcome["status"] = bytes_.one_of({"applied", "rejected", "rolled_back"});
    for (const char* times : {"current_ns", "candidate_ns"}) {
      outcome[times] = json::array();
      for (std::size_t count = bytes_.below(4); count > 0; --count) {
        outcome[times].push_back(scale + static_cast<std::int64_t>(bytes_.below(100)));
      }
    }
    return outcome;
  }

  /// Reports an outcome of what was offered last, as a job would, or as another job might.
  void answer_offer() {
    const std::string id = job();
    const bool is_version = bytes_.below(2) == 1;
    const std::uint64_t number = daemon_->jobs.find(id).value_or(hocket::RunningJob{}).number;
    const auto newest = daemon_->feed
                            .position(is_version ? hocket::job_config_topic(number)
                                                 : hocket::job_candidate_topic(number))
                            .newest;
    if (!newest) return;
    const char* what = is_version ? "version" : "trial";
    const std::int64_t offered = json::parse(newest->data).at(what);
    report(json::array({outcome(what, offered, 1'000'000)}));
  }

  void tick() {
    clock_.now += bytes_.one_of({1, 1, 1, 100, 4000}) * kSecondNs;
    daemon_->live.tick();
    daemon_->live.run_pending();
  }

  void refuse_error(std::string_view line) const {
    if (was_locked_ && line.find("the store is locked") != line.npos) return;
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    HOCKET_CHECK(false, "a client made the daemon log an error");
  }

  void restart() {
    streams_.clear();
    last_number_ = 0;
    daemon_ = std::make_unique<hocket::DaemonState>(
        store_, clock_,
        hocket::DaemonStateOptions{
            .tokens = *hocket::AccessTokens::parse(kTokens),
            .log = hocket::Log({.level = hocket::LogLevel::error,
                                .sink = [this](std::string_view line) { refuse_error(line); }}),
            .now_unix_ns = [this] { return clock_.now + wall_ahead_ns_; },
            // The model would take seconds for each candidate.
            .method = hocket::SearchMethod::random});
  }

  void work_on_study() {
    static const char* const kDefinition = R"({"format":"hocket-study","version":1,
        "space":[{"name":"x","type":"integer","low":1,"high":40,"default":20}],
        "objective":"report","skip":0,"seed":1,"trials":4,"confirm_pairs":1,
        "time_limit_ns":1000000000,"working_directory":"/"})";
    const std::string name = bytes_.one_of({"s", "t"}), path = "/v1/studies/" + name;
    const std::size_t trial = bytes_.below(6);
    switch (bytes_.below(6)) {
      case 0:
        ask("POST", "/v1/studies", {{"definition", json::parse(kDefinition)}, {"study", name}});
        return;
      case 1:
        ask("POST", path + "/ask", {{"worker", "w"}, {"lease_ns", kSecondNs}});
        return;
      case 2:
        ask("POST", path + "/tell",
            {{"trial", trial}, {"status", "complete"}, {"value", bytes_.below(9)}});
        return;
      case 3:
        ask("POST", path + "/tell",
            {{"trial", trial},
             {"status", bytes_.one_of({"failed", "complete", "running"})},
             {"measurements", {{"objective", {bytes_.below(9)}}}}});
        return;
      case 4:
        ask("POST", path + "/renew", {{"trial", trial}});
        return;
      default:
        ask("GET", path);
        ask("GET", path + "/trials");
    }
  }

  void look(const std::string& key) {
    for (const std::string& target :
         {key, std::string("/v1/configs"), std::string("/v1/jobs"), std::string("/v1/studies"),
          std::string("/v1/audit"), std::string("/healthz"), std::string("/readyz")}) {
      ask("GET", target);
    }
  }

  int ask(const std::string& method, const std::string& target, const json& body = nullptr) {
    hocket::ServiceRequest request{.method = method, .target = target};
    if (!body.is_null()) request.body = body.dump();
    request.authorization = authorization_;
    const auto response = std::get<hocket::ServiceResponse>(daemon_->api.handle(request, true));
    check(response);
    return response.status;
  }

  static void check(const hocket::ServiceResponse& response) {
    HOCKET_CHECK(response.status < 500 || response.status == 503, "the daemon failed");
    HOCKET_CHECK(response.status != 503 || response.retry_after_seconds,
                 "nobody knows when to try again");
    const auto document = json::parse(*response.body, nullptr, false);
    HOCKET_CHECK(document.is_object(), "an answer cannot be read");
    HOCKET_CHECK(response.status < 400 || !document.at("error").at("message").empty(),
                 "an error has no message");
  }

  void check_state() {
    for (std::size_t i = 0; i < hocket::kErrorOrigins; ++i) {
      HOCKET_CHECK(daemon_->errors.count(static_cast<hocket::ErrorOrigin>(i)) == 0,
                   "something threw");
    }
    HOCKET_CHECK(daemon_->live.set_aside().empty(), "a client has ended the tuning of its key");
    HOCKET_CHECK(daemon_->jobs.size() <= kJobs, "a job is there twice");
    check_streams();
  }

  void check_streams() const {
    for (const hocket::RunningJob& job : daemon_->jobs.list()) {
      const auto open = std::ranges::count(streams_, job.number, &Stream::number);
      HOCKET_CHECK(job.streams == open, "the streams of a job are not those that are open");
    }
    for (const Stream& stream : streams_) {
      if (stream.number == 0) continue;
      const auto job = daemon_->jobs.find(stream.job);
      const bool is_present = job && job->number == stream.number;
      HOCKET_CHECK(stream.hold->is_over() != is_present,
                   "a stream is not told of the end of its registration, or of another's");
    }
  }

  /// Every list can be read, and when all jobs have ended nothing is left of them.
  void finish() {
    lock_store(false);
    authorization_ = "Bearer 0123456789abcdaa";
    tick();
    check_state();
    for (const char* target : {"/v1/configs", "/v1/jobs", "/v1/studies", "/v1/audit", "/v1/knobs",
                               "/v1/profiles", "/healthz", "/readyz"}) {
      HOCKET_CHECK(ask("GET", target) == 200, "a list cannot be read");
    }
    for (std::size_t i = 0; i < kJobs; ++i) {
      ask("POST", "/v1/reports",
          {{"job", "job-" + std::to_string(i)},
           {"version", 0},
           {"step", 0},
           {"iteration_ns", json::array()},
           {"ended", true}});
    }
    daemon_->live.run_pending();
    check_state();
    HOCKET_CHECK(daemon_->jobs.registrations() == 0, "a job that has ended is still there");
    streams_.clear();
    clock_.now += 100 * kSecondNs;
    daemon_->live.tick();
    daemon_->live.run_pending();
    HOCKET_CHECK(daemon_->live.sizes().pending_events == 0, "an event is never processed");
    for (std::uint64_t number = 1; number <= last_number_; ++number) {
      for (const auto& topic :
           {hocket::job_config_topic(number), hocket::job_candidate_topic(number),
            hocket::job_profile_topic(number)}) {
        HOCKET_CHECK(!daemon_->feed.position(topic).newest, "a topic of a job is left");
      }
    }
  }

  Bytes bytes_;
  hocket::SetClock clock_;
  std::int64_t wall_ahead_ns_ = 0;
  std::string authorization_ = "Bearer 0123456789abcdaa";
  bool was_locked_ = false;
  std::unique_ptr<hocket::Store> whole_store_ =
      hocket::open_store_in_memory([this] { return clock_.now + wall_ahead_ns_; });
  hocket::FaultyStore store_{*whole_store_, 0};
  std::unique_ptr<hocket::DaemonState> daemon_;
  std::vector<Stream> streams_;
  std::uint64_t last_number_ = 0;  ///< of the registrations that have had a stream
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Sequence(Bytes({data, size})).run();
  return 0;
}
