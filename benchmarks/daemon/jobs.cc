// Measures a daemon under running jobs: each keeps an event stream and reports at a fixed rate, one
// report in a hundred is followed by a reconnection, and configurations are pushed meanwhile. A
// bare server then takes the same load.
//
//   daemon_load jobs [--jobs N] [--keys K] [--minutes M] [--speed X] [--seed S] [--json]
//
// At speed X all happens X times as often, so an hour of such jobs passes in 60 / X minutes. The
// time of a report counts from when it was due, so that a slow server cannot thin out the load.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "archive/studies/job_similarity.h"
#include "benchmarks/daemon/load.h"
#include "benchmarks/daemon/load_kinds.h"
#include "benchmarks/daemon/server_process.h"
#include "benchmarks/measured_table.h"
#include "core/base/check.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"

namespace hocket {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kReportIntervalNs = kSecondNs, kPushIntervalNs = 10 * kSecondNs;
constexpr int kReportsPerReconnection = 100;
constexpr int kMemorySamples = 20;

struct JobsOptions {
  std::size_t jobs = 1'000, keys = 10;
  double minutes = 10, speed = 6;
  std::uint64_t seed = 1;
  bool json = false;
};

struct Job {
  enum class Stage { entering, subscribing, running };
  std::string id;
  std::size_t key = 0;
  Stage stage = Stage::entering;
  /// When the report in flight was due; 0 if none is.
  std::int64_t due_ns = 0;
  std::int64_t version = 0, untold_version = 0, steps = 0;
  /// Set while a version may be old news: until the first report on a new connection.
  bool is_new = true;
  std::string answer, events;
};

/// A version on its way: to a first job, the canary, and with the canary's report to the others.
struct Push {
  std::int64_t sent_ns = 0;
  const Job* canary = nullptr;
  std::int64_t told_ns = 0;
};

struct JobsFigures {
  std::vector<double> report_ms, push_ms, release_ms, memory_mb;
  std::size_t late = 0, refused = 0, reconnections = 0;
};

std::string post(const std::string& method, const std::string& target, const std::string& body) {
  return method + " " + target +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

double ms_since(std::int64_t begin_ns) {
  return static_cast<double>(monotonic_ns() - begin_ns) / 1e6;
}

TunedJob sample_job(std::size_t key) {
  return {Topology{}, {"load-" + std::to_string(key), {{"gradient", 1 << 20}}}};
}

std::string key_text(std::size_t key) {
  const TunedJob job = sample_job(key);
  return to_string(ConfigKey{fingerprint(job.topology), fingerprint(job.workload)});
}

class Load {
 public:
  Load(ServerProcess& server, ServerKind kind, const JobsOptions& options)
      : server_(server),
        kind_(kind),
        options_(options),
        connections_(server.port(), 2 * options.jobs + 1),
        jobs_(options.jobs),
        random_(options.seed) {
    for (std::size_t i = 0; i < options.keys; ++i) keys_.push_back(key_text(i));
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      jobs_[i].id = "job-" + std::to_string(i);
      jobs_[i].key = i % options.keys;
      enter(i);
    }
    while (running_ < jobs_.size()) receive(-1);
  }

  JobsFigures run() {
    const std::int64_t begin_ns = monotonic_ns();
    const auto length_ns = static_cast<std::int64_t>(options_.minutes * 60 * kSecondNs);
    const auto after = [&](double count, std::int64_t interval_ns) {
      return begin_ns +
             static_cast<std::int64_t>(count * static_cast<double>(interval_ns) / options_.speed);
    };
    std::size_t reports = 0, pushes = 1;
    std::int64_t next_sample_ns = begin_ns + length_ns / kMemorySamples;
    while (monotonic_ns() < begin_ns + length_ns) {
      const std::int64_t due_ns = after(
          static_cast<double>(reports) / static_cast<double>(jobs_.size()), kReportIntervalNs);
      if (const std::int64_t now_ns = monotonic_ns(); now_ns >= due_ns) {
        report(reports++ % jobs_.size(), due_ns);
        if (now_ns >= after(static_cast<double>(pushes), kPushIntervalNs)) push(pushes++);
        if (now_ns >= next_sample_ns) {
          figures_.memory_mb.push_back(server_.memory_mb());
          next_sample_ns += length_ns / kMemorySamples;
        }
        receive(0);
      } else {
        receive(static_cast<int>((due_ns - now_ns) / 1'000'000));
      }
    }
    return std::move(figures_);
  }

 private:
  std::size_t pusher() const { return 2 * jobs_.size(); }

  void enter(std::size_t number) {
    Job& job = jobs_[number];
    const TunedJob kind = sample_job(job.key);
    const JobDescription description{
        .id = job.id, .topology = kind.topology, .workload = kind.workload, .version = job.version};
    job.stage = Job::Stage::entering;
    connections_.send(2 * number, post("POST", "/v1/jobs", to_json(description).dump()));
  }

  void subscribe(std::size_t number) {
    Job& job = jobs_[number];
    job.stage = Job::Stage::subscribing;
    job.is_new = true;
    const std::string target =
        kind_ == ServerKind::bare ? "/watch" : "/v1/watch?key=" + keys_[job.key] + "&job=" + job.id;
    connections_.send(
        2 * number + 1,
        "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  }

  void reconnect(std::size_t number) {
    ++figures_.reconnections;
    --running_;
    Job& job = jobs_[number];
    job.answer.clear();
    job.events.clear();
    job.due_ns = 0;
    connections_.reopen(2 * number);
    connections_.reopen(2 * number + 1);
    enter(number);
  }

  void report(std::size_t number, std::int64_t due_ns) {
    Job& job = jobs_[number];
    if (job.stage != Job::Stage::running || job.due_ns != 0) {
      ++figures_.late;
      return;
    }
    JobReport report{.job = job.id, .version = job.version};
    for (int i = 0; i < 10; ++i) {
      report.iteration_ns.push_back(100'000'000 + static_cast<std::int64_t>(random_() % 1'000'000));
    }
    report.step = job.steps += 10;
    if (job.untold_version != 0) {
      report.outcomes.push_back({.version = job.untold_version,
                                 .current_ns = report.iteration_ns,
                                 .candidate_ns = report.iteration_ns});
      if (Push& push = pushes_[job.untold_version]; push.canary == &job) {
        push.told_ns = monotonic_ns();
      }
      job.untold_version = 0;
    }
    job.is_new = false;
    job.due_ns = due_ns;
    connections_.send(2 * number, post("POST", "/v1/reports", to_json(report).dump()));
  }

  void push(std::size_t number) {
    if (kind_ == ServerKind::bare) return server_.publish();
    if (is_pushing_) return;
    is_pushing_ = true;
    ScheduleConfig config;
    config.partition_bytes = std::int64_t{4096} << number % 7;
    const nlohmann::json body = {{"config", to_json(config)}};
    pushes_[newest_version_ + 1].sent_ns = monotonic_ns();
    connections_.send(pusher(),
                      post("PUT", "/v1/configs/" + keys_[number % options_.keys], body.dump()));
  }

  void receive(int timeout_ms) {
    for (const std::size_t connection : connections_.wait(timeout_ms)) {
      const std::string_view bytes = connections_.receive(connection);
      if (connection == pusher()) {
        push_answer_ += bytes;
        take_push_answer();
      } else if (connection % 2 == 0) {
        jobs_[connection / 2].answer += bytes;
        take_answer(connection / 2);
      } else {
        jobs_[connection / 2].events += bytes;
        take_events(connection / 2);
      }
    }
  }

  void take_push_answer() {
    const auto whole = response_bytes(push_answer_);
    if (!whole) return;
    HOCKET_CHECK(number_after(push_answer_, "\"version\":") == newest_version_ + 1,
                 "no other pushes are made");
    ++newest_version_;
    is_pushing_ = false;
    push_answer_.erase(0, *whole);
  }

  void take_answer(std::size_t number) {
    Job& job = jobs_[number];
    const auto whole = response_bytes(job.answer);
    if (!whole) return;
    const bool is_good = job.answer.starts_with("HTTP/1.1 200");
    job.answer.erase(0, *whole);
    if (!is_good) ++figures_.refused;
    if (job.stage == Job::Stage::entering) return is_good ? subscribe(number) : enter(number);
    if (job.due_ns == 0) return;
    figures_.report_ms.push_back(ms_since(job.due_ns));
    job.due_ns = 0;
    if (random_() % kReportsPerReconnection == 0) reconnect(number);
  }

  void take_events(std::size_t number) {
    Job& job = jobs_[number];
    if (job.stage == Job::Stage::subscribing) {
      const std::size_t end = job.events.find("\r\n\r\n");
      if (end == std::string::npos) return;
      job.events.erase(0, end + 4);
      job.stage = Job::Stage::running;
      ++running_;
    }
    for (std::size_t end; (end = job.events.find("\n\n")) != std::string::npos;) {
      take_event(job, std::string_view(job.events).substr(0, end));
      job.events.erase(0, end + 2);
    }
  }

  void take_event(Job& job, std::string_view event) {
    if (kind_ == ServerKind::bare) {
      const std::int64_t published_ns = number_after(event, ServerProcess::kPublishedAt);
      if (published_ns != 0 && !job.is_new) figures_.push_ms.push_back(ms_since(published_ns));
      return;
    }
    const std::int64_t version = number_after(event, "id: ");
    if (version == 0 || version == job.version) return;
    job.version = job.untold_version = version;
    const auto found = pushes_.find(version);
    if (found == pushes_.end() || job.is_new) return;
    Push& push = found->second;
    if (push.canary == nullptr) {
      push.canary = &job;
      figures_.push_ms.push_back(ms_since(push.sent_ns));
    } else if (push.told_ns != 0) {
      figures_.release_ms.push_back(ms_since(push.told_ns));
    }
  }

  /// Returns 0 if `word` is not in `text`.
  static std::int64_t number_after(std::string_view text, std::string_view word) {
    std::int64_t number = 0;
    if (const std::size_t at = text.find(word); at != std::string_view::npos) {
      std::from_chars(text.data() + at + word.size(), text.data() + text.size(), number);
    }
    return number;
  }

  ServerProcess& server_;
  const ServerKind kind_;
  const JobsOptions options_;
  /// Two for each job, of reports and of events, and the pusher's.
  Connections connections_;
  std::vector<Job> jobs_;
  std::vector<std::string> keys_;
  std::size_t running_ = 0;
  std::mt19937_64 random_;
  std::map<std::int64_t, Push> pushes_;
  /// ServerProcess has made the first version.
  std::int64_t newest_version_ = 1;
  bool is_pushing_ = false;
  std::string push_answer_;
  JobsFigures figures_;
};

void print(const char* name, const std::vector<double>& times_ms) {
  if (times_ms.empty()) return;
  std::printf("  %-22s %8zu: p50 %.2f ms, p99 %.2f ms, max %.1f ms\n", name, times_ms.size(),
              quantile(times_ms, 0.5), quantile(times_ms, 0.99), quantile(times_ms, 1));
}

void print(ServerKind kind, const JobsFigures& figures) {
  std::printf("%s: %zu reports late or skipped, %zu answers not 200, %zu reconnections\n",
              to_string(kind), figures.late, figures.refused, figures.reconnections);
  print("report", figures.report_ms);
  print(kind == ServerKind::bare ? "push" : "push, to the canary", figures.push_ms);
  print("release, to the others", figures.release_ms);
  std::printf("  memory after each twentieth, MB:");
  for (const double memory_mb : figures.memory_mb) std::printf(" %.1f", memory_mb);
  std::printf("\n");
}

void add_to(MeasuredTable& table, ServerKind kind, const JobsFigures& figures) {
  const auto add = [&](const char* event, const std::vector<double>& times_ms) {
    if (times_ms.empty()) return;
    const std::vector<std::string> row = {to_string(kind), event};
    table.add_count(row, "count", times_ms.size());
    table.add(row, "p50, ms", {quantile(times_ms, 0.5)});
    table.add(row, "p99, ms", {quantile(times_ms, 0.99)});
    table.add(row, "most, ms", {quantile(times_ms, 1)});
  };
  add("report", figures.report_ms);
  add(kind == ServerKind::bare ? "push, to all" : "push, to the canary", figures.push_ms);
  add("release, from the canary's report to the others", figures.release_ms);
}

void add_health(MeasuredTable& table, ServerKind kind, const JobsFigures& figures) {
  const std::vector<std::string> row = {to_string(kind)};
  table.add_count(row, "late", figures.late);
  table.add_count(row, "refused", figures.refused);
  table.add_count(row, "reconnections", figures.reconnections);
  if (figures.memory_mb.empty()) return;
  const auto add = [&](const char* column, std::size_t sample) {
    table.add(row, column, {figures.memory_mb[sample]});
  };
  add("memory after a twentieth, MB", 0);
  add("after a quarter", figures.memory_mb.size() / 4);
  add("in the middle", figures.memory_mb.size() / 2);
  add("at the end", figures.memory_mb.size() - 1);
}

int run(const JobsOptions& options) {
  if (!options.json) {
    std::printf("%zu jobs of %zu keys, %.3g times as often for %.3g minutes\n", options.jobs,
                options.keys, options.speed, options.minutes);
  }
  MeasuredTable times("daemon-jobs", {"server", "event"}), health("daemon-jobs-health", {"server"});
  for (const ServerKind kind : {ServerKind::hocket, ServerKind::bare}) {
    ServerProcess server(kind);
    const JobsFigures figures = Load(server, kind, options).run();
    if (options.json) {
      add_to(times, kind, figures);
      add_health(health, kind, figures);
      continue;
    }
    print(kind, figures);
    std::fflush(stdout);
  }
  if (options.json) {
    times.print();
    health.print();
  }
  return 0;
}

}  // namespace

void add_jobs(CLI::App& app, int& status) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App* jobs = app.add_subcommand("jobs", "Reports of many jobs, and pushes to them");
  jobs->add_option("--jobs", options->jobs, "Jobs")->check(CLI::Range(1, 8'000));
  jobs->add_option("--keys", options->keys, "Keys that the jobs share")
      ->check(CLI::Range(1, 8'000));
  jobs->add_option("--minutes", options->minutes, "Length")->check(CLI::Range(0.01, 600.0));
  jobs->add_option("--speed", options->speed, "Times as often")->check(CLI::Range(0.01, 100.0));
  jobs->add_option("--seed", options->seed, "Seed of the reconnections");
  jobs->add_flag("--json", options->json, "Print measurements for benchmarks/table");
  jobs->callback([options, &status] { status = run(*options); });
}

}  // namespace hocket
