#include "client/link/http_daemon_link.h"

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "client/link/event_stream_parser.h"
#include "client/link/http_client.h"
#include "client/link/newest_messages.h"
#include "client/link/report_queue.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/protocol/config_key.h"

namespace hocket {
namespace {

std::string text_of(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::function<double()> uniform(std::uint64_t seed) {
  return [random = std::mt19937_64(seed)]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(random);
  };
}

class HttpDaemonLink final : public DaemonLink {
 public:
  explicit HttpDaemonLink(DaemonLinkOptions options)
      : options_(std::move(options)),
        job_(options_.job),
        watch_client_(options_.daemon),
        report_client_(options_.daemon) {}

  /// Starts both threads. May throw; the destructor then stops those that were started.
  void start() {
    watching_ = options_.start_thread([this] { watch(); });
    reporting_ = options_.start_thread([this] { send_reports(); });
  }

  ~HttpDaemonLink() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    watch_client_.end_by(std::chrono::steady_clock::now());
    report_client_.end_by(deadline_after_ns(options_.flush_timeout_ns));
    if (watching_.joinable()) watching_.join();
    if (reporting_.joinable()) reporting_.join();
    if (unused_events_ > warned_types_.size()) {
      warn(std::to_string(unused_events_) + " events of the daemon were not used in all");
    }
  }

  DaemonStanding standing() const override {
    const std::lock_guard lock(mutex_);
    return standing_;
  }

  std::optional<DaemonMessage> take() override {
    const std::lock_guard lock(mutex_);
    return messages_.take();
  }

  void report(JobReport report) override {
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = has_ended_ || report.ended;
      queue_.add(std::move(report));
    }
    changed_.notify_all();
  }

  void update(const ScheduleConfig& config, std::int64_t version) override {
    const std::lock_guard lock(mutex_);
    job_.config = config;
    job_.version = version;
  }

  void warn(const std::string& message) const {
    if (options_.warn) options_.warn(message);
  }

 private:
  /// Warns about the first error of an outage; later errors are silent until `heard()`.
  void lost(const Error& error) {
    if (error.code == ErrorCode::interrupted) return;
    {
      const std::lock_guard lock(mutex_);
      const bool is_known = standing_.state == DaemonStanding::State::away;
      standing_ = {DaemonStanding::State::away, error.message};
      if (is_known) return;
    }
    warn(error.message + "; the job goes on and tries again");
  }
  void heard() {
    const std::lock_guard lock(mutex_);
    standing_ = {DaemonStanding::State::knows, ""};
  }

  /// Sleeps for `time_ns`. Returns false as soon as the link is stopping.
  bool pause(std::int64_t time_ns) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_until(lock, deadline_after_ns(time_ns), [&] { return stopping_; });
  }
  bool stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }
  /// Returns whether a stream that ends is no loss: the daemon ends it with the job.
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return stopping_ || has_ended_;
  }

  /// Registers the job and returns the key of its configurations in the daemon.
  Result<std::string> register_job(HttpClient& client) {
    JobDescription job;
    {
      const std::lock_guard lock(mutex_);
      job = job_;
    }
    const auto answer = post(client, "/v1/jobs", text_of(to_json(job)));
    HOCKET_TRY(answer);
    ConfigKey key;
    JsonReader reader(*answer);
    reader.value("key",
                 [&](const JsonValue& text) { text.take(parse_config_key(text.text()), key); });
    return reader.result(key).map([](const ConfigKey& read) { return to_string(read); });
  }

  Result<nlohmann::json> post(HttpClient& client, const std::string& target, std::string body) {
    const auto response = client.send({.method = "POST", .target = target, .body = std::move(body)},
                                      deadline_after_ns(options_.request_timeout_ns));
    HOCKET_TRY(response);
    auto answer = read_answer(*response);
    if (!answer) {
      return failure(
          answer.error().in("daemon " + to_string(options_.daemon.address) + ", " + target));
    }
    return answer;
  }

  void watch() {
    Backoff backoff(options_.backoff, uniform(options_.seed));
    while (!stopping()) {
      const auto key = register_job(watch_client_);
      const Error error = key ? watch_once(*key, backoff) : key.error();
      if (has_ended()) return;
      // A job that a restarted daemon does not know is registered again by the next pass.
      if (!key || error.code != ErrorCode::not_found) lost(error);
      if (!pause(backoff.next_ns())) return;
    }
  }

  /// Receives messages until the connection ends.
  Error watch_once(const std::string& key, Backoff& backoff) {
    HttpRequest request{.target = "/v1/watch?key=" + key + "&job=" + options_.job.id};
    if (!last_id_.empty()) request.headers.emplace_back("Last-Event-ID", last_id_);
    EventStreamParser parser;
    Error broken;
    const auto on_event = [this](const ServerEvent& event) { receive(event); };
    const Error error =
        watch_client_.stream(request, {.on_open =
                                           [&] {
                                             backoff.reset();
                                             heard();
                                           },
                                       .on_bytes =
                                           [&](std::string_view bytes) {
                                             const auto ok = parser.feed(bytes, on_event);
                                             if (!ok) broken = ok.error();
                                             return ok.has_value();
                                           },
                                       .open_timeout_ns = options_.request_timeout_ns,
                                       .silence_limit_ns = options_.silence_limit_ns});
    return broken.message.empty() ? error : broken;
  }

  void receive(const ServerEvent& event) {
    const auto document = parse_object(event.data, "the event");
    auto message = document ? daemon_message_from_json(event.type, *document)
                            : Result<DaemonMessage>(failure(document.error()));
    if (!message) {
      ++unused_events_;
      if (warned_types_.size() < 10 && warned_types_.insert(event.type).second)
        warn("an event of the daemon is not used: " + message.error().message);
      return;
    }
    // Only versions have an id. It is sent in a header, so it is built from digits only.
    if (const auto* const config = std::get_if<ConfigMessage>(&*message))
      last_id_ = std::to_string(config->version);
    const std::lock_guard lock(mutex_);
    messages_.put(std::move(*message));
  }

  /// Blocks until a report may be sent and returns it. When the link is stopping, returns only
  /// reports with outcomes or the job's end, then nothing.
  std::optional<JobReport> next_report(Deadline not_before) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    changed_.wait_until(lock, not_before, [&] { return stopping_ || queue_.has_news(); });
    return stopping_ ? queue_.take_news() : queue_.take();
  }

  void send_reports() {
    Backoff backoff(options_.backoff, uniform(~options_.seed));
    Deadline not_before;
    while (auto report = next_report(not_before)) {
      not_before = deadline_after_ns(options_.report_interval_ns);
      const auto ok = send(*report);
      if (ok) {
        backoff.reset();
        heard();
        continue;
      }
      lost(ok.error());
      if (ok.error().code == ErrorCode::invalid_argument) continue;  // retrying would fail again
      if (stopping()) return;
      {
        const std::lock_guard lock(mutex_);
        queue_.put_back(std::move(*report));
      }
      pause(backoff.next_ns());
    }
  }

  Result<void> send(const JobReport& report) {
    const std::string body = text_of(to_json(report));
    auto answer = post(report_client_, "/v1/reports", body);
    if (!answer && answer.error().code == ErrorCode::not_found) {
      // A restarted daemon does not know the job.
      HOCKET_TRY(register_job(report_client_));
      answer = post(report_client_, "/v1/reports", body);
    }
    HOCKET_TRY(answer);
    return {};
  }

  const DaemonLinkOptions options_;
  std::string last_id_;                              // used only by watching_
  std::set<std::string, std::less<>> warned_types_;  // used only by watching_
  std::size_t unused_events_ = 0;                    // used only by watching_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  JobDescription job_;
  NewestMessages messages_;
  ReportQueue queue_;
  DaemonStanding standing_;
  bool stopping_ = false, has_ended_ = false;  ///< has_ended_: the job, as its last report says

  HttpClient watch_client_, report_client_;
  std::thread watching_, reporting_;
};

}  // namespace

std::unique_ptr<DaemonLink> open_daemon_link(DaemonLinkOptions options) {
  auto link = std::make_unique<HttpDaemonLink>(std::move(options));
  try {
    link->start();
  } catch (const std::system_error& e) {
    link->warn(std::string("the job goes on without the daemon: cannot start a thread: ") +
               e.what());
    return nullptr;
  }
  return link;
}

}  // namespace hocket
