// Two processes of a job under one id, in every order in which their requests, the ends of their
// streams, a push and the work of live tuning may come: whatever the order, the process that lives
// is reachable in the end and gets the push, and nothing of the job is left when both have ended.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/daemon/assembled.h"

namespace hocket {
namespace {

enum class Op { enter, open_first, open_second, close_first, close_second, end };
constexpr int kOps = 6;
// Neither process's: live tuning works, a version is pushed.
constexpr int kWork = 2 * kOps, kPush = kWork + 1, kSteps = kPush + 1;

/// Returns the steps that must come before `step`: a process enters first, and a stream is closed
/// once it was opened. The second process enters after the first has; its end comes in settle().
std::vector<int> before(int step) {
  if (step >= kWork) return {};
  const int process = step / kOps * kOps;
  switch (static_cast<Op>(step % kOps)) {
    case Op::enter:
      return process == 0 ? std::vector<int>{} : std::vector{0};
    case Op::close_first:
      return {process + static_cast<int>(Op::open_first)};
    case Op::open_second:
    case Op::close_second:
      return {step - 1};
    default:
      return {process};
  }
}

class TwoProcesses {
 public:
  explicit TwoProcesses(bool has_other_key) : has_other_key_(has_other_key) {}

  void run(const std::vector<int>& steps) {
    if (runs_++ % 20 == 0) restart();  // versions and studies add up in the store
    id_ = "job-" + std::to_string(runs_);
    processes_[0] = {};
    processes_[1] = {.world_size = has_other_key_ ? 4 : 2};
    pushed_ = 0;
    for (const int step : steps) {
      take(step);
      check();
    }
    settle();
    expect_reachable();
    expect_nothing_left();
  }

 private:
  struct Process {
    int world_size = 2;
    std::vector<EventStream> streams = {};
    bool has_entered = false, has_ended = false;
    bool must_enter = false;  ///< the daemon does not know the job any more
    std::int64_t version = 0;
  };

  void restart() {
    processes_[0] = processes_[1] = {};
    daemon_.reset();
    store_ = open_store_in_memory([this] { return clock_.now; });
    daemon_ = std::make_unique<Assembled>(*store_, clock_);
  }

  JobDescription description(const Process& process) const {
    JobDescription job = sample_job(id_, 0);
    job.topology = sample_topology(process.world_size);
    job.version = process.version;
    return job;
  }
  static std::string key_of(const Process& process) {
    return to_string(
        {fingerprint(sample_topology(process.world_size)), fingerprint(sample_workload())});
  }

  int post(const std::string& target, const nlohmann::json& body) {
    ServiceRequest request{.method = "POST", .target = target};
    request.body = body.dump();
    return std::get<ServiceResponse>(daemon_->api.handle(request, true)).status;
  }

  void enter(Process& process) {
    EXPECT_EQ(post("/v1/jobs", to_json(description(process))), 200);
    process.has_entered = true;
    process.must_enter = false;
  }
  void open(Process& process) {
    auto reply = daemon_->reply(
        {.method = "GET", .target = "/v1/watch?key=" + key_of(process) + "&job=" + id_});
    if (auto* stream = std::get_if<EventStream>(&reply)) {
      process.streams.push_back(std::move(*stream));
    } else {
      process.must_enter = true;  // a client registers again
    }
  }
  void end(Process& process) {
    const int status = post("/v1/reports", to_json(JobReport{.job = id_, .ended = true}));
    EXPECT_TRUE(status == 200 || status == 404) << status;
    process.has_ended = true;
  }

  void take(int step) {
    if (step == kWork) return daemon_->settle();
    if (step == kPush) {
      const std::string key = key_of(processes_[1]);
      ServiceRequest request{.method = "PUT", .target = "/v1/configs/" + key};
      ScheduleConfig config;
      config.partition_bytes = 4096 * (1 + runs_ % 1000);
      request.body = nlohmann::json{{"config", to_json(config)}}.dump();
      const auto answer = std::get<ServiceResponse>(daemon_->api.handle(request, true));
      if (answer.status == 200) pushed_ = nlohmann::json::parse(*answer.body)["version"];
      return;
    }
    Process& process = processes_[step / kOps];
    switch (static_cast<Op>(step % kOps)) {
      case Op::enter:
        return enter(process);
      case Op::open_first:
      case Op::open_second:
        return open(process);
      case Op::close_first:
      case Op::close_second:
        if (!process.streams.empty()) process.streams.erase(process.streams.begin());
        return;
      case Op::end:
        return end(process);
    }
  }

  /// Holds whatever has happened so far.
  void check() {
    const auto job = daemon_->jobs.find(id_);
    if (!job) return;
    int open = 0;
    for (const Process& process : processes_) {
      for (const EventStream& stream : process.streams) open += !stream.hold->is_over();
    }
    EXPECT_EQ(job->streams, open) << "what is not told to end is counted, and nothing else";
    EXPECT_EQ(job->is_connected(), open > 0);
  }

  /// The server ends the streams that are over, the second process comes back as its client does,
  /// and reads what it is sent.
  void settle() {
    if (!processes_[0].has_ended) end(processes_[0]);
    processes_[0].streams.clear();
    Process& process = processes_[1];
    for (int round = 0; round < 6; ++round) {
      daemon_->tick();
      std::erase_if(process.streams, [](const EventStream& s) { return s.hold->is_over(); });
      if (!process.has_entered || process.must_enter || process.streams.empty()) {
        enter(process);
        open(process);
      }
      daemon_->settle();
      read(process);
    }
  }

  void read(Process& process) {
    for (EventStream& stream : process.streams) {
      for (auto& topic : stream.topics) {
        const auto position = daemon_->feed.position(topic.name);
        if (!position.newest || position.sequence <= topic.seen) continue;
        topic.seen = position.sequence;
        if (position.newest->type != "config" || !position.newest->id) continue;
        if (topic.receives && !topic.receives(*position.newest)) continue;
        process.version = *position.newest->id;
        EXPECT_EQ(
            post("/v1/reports", to_json(JobReport{.job = id_,
                                                  .version = process.version,
                                                  .outcomes = {{.version = process.version}}})),
            200);
      }
    }
  }

  void expect_reachable() {
    const auto job = daemon_->jobs.find(id_);
    ASSERT_TRUE(job);
    EXPECT_TRUE(job->is_connected());
    EXPECT_EQ(to_string(job->key), key_of(processes_[1]));
    EXPECT_GE(processes_[1].version, pushed_);
  }

  void expect_nothing_left() {
    std::set<std::string> topics;
    for (const EventStream& stream : processes_[1].streams) {
      for (const auto& topic : stream.topics) {
        if (topic.name.starts_with("job/")) topics.insert(topic.name);
      }
    }
    end(processes_[1]);
    daemon_->settle();
    EXPECT_EQ(daemon_->jobs.size(), 0u);
    EXPECT_EQ(daemon_->jobs.registrations(), 0u);
    processes_[1].streams.clear();
    daemon_->tick();
    EXPECT_EQ(daemon_->jobs.registrations(), 0u);
    for (const std::string& topic : topics) {
      EXPECT_EQ(daemon_->feed.position(topic).newest, nullptr) << topic;
    }
    EXPECT_EQ(daemon_->live.sizes().pending_events, 0u);
    EXPECT_EQ(daemon_->live.sizes().claims, 0u);
    EXPECT_TRUE(daemon_->live.set_aside().empty());
    for (std::size_t i = 0; i < kErrorOrigins; ++i)
      EXPECT_EQ(daemon_->errors.count(static_cast<ErrorOrigin>(i)), 0u);
  }

  const bool has_other_key_;
  int runs_ = 0;
  std::string id_;
  SetClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Assembled> daemon_;
  Process processes_[2];
  std::int64_t pushed_ = 0;
};

/// Calls `visit` with every order of the steps that `before` allows. Returns their number.
int for_each_order(std::vector<int> steps, std::vector<int>& order,
                   const std::function<bool(const std::vector<int>&)>& visit) {
  if (steps.empty()) return visit(order) ? 1 : -1'000'000;
  int count = 0;
  for (std::size_t i = 0; i < steps.size() && count >= 0; ++i) {
    const int step = steps[i];
    const auto needed = before(step);
    const bool may_come = std::none_of(needed.begin(), needed.end(), [&](int earlier) {
      return std::find(steps.begin(), steps.end(), earlier) != steps.end();
    });
    if (!may_come) continue;
    std::vector<int> rest = steps;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    order.push_back(step);
    count += for_each_order(std::move(rest), order, visit);
    order.pop_back();
  }
  return count;
}

std::string shown(const std::vector<int>& order) {
  static const char* const kNames[] = {"enter", "open 1", "open 2", "close 1", "close 2", "end"};
  std::string text;
  for (const int step : order) {
    text += step == kWork   ? "work"
            : step == kPush ? "push"
            : step >= kOps  ? std::string("second: ") + kNames[step % kOps]
                            : std::string("first: ") + kNames[step];
    text += "; ";
  }
  return text;
}

int explore(const std::vector<int>& steps, bool has_other_key) {
  TwoProcesses processes(has_other_key);
  std::vector<int> order;
  return for_each_order(steps, order, [&](const std::vector<int>& each) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, shown(each));
    processes.run(each);
    return !testing::Test::HasFailure();
  });
}

constexpr int at(int process, Op op) {
  return process * kOps + static_cast<int>(op);
}

const std::vector<int> kOneStreamEach = {at(0, Op::enter),       at(0, Op::open_first),
                                         at(0, Op::close_first), at(0, Op::end),
                                         at(1, Op::enter),       at(1, Op::open_first)};

TEST(Registrations, AProcessThatTookAnIdIsReachableWhateverItsPredecessorsStreamsDo) {
  std::vector<int> steps = kOneStreamEach;
  steps.insert(steps.end(), {kWork, kPush});
  EXPECT_GT(explore(steps, false), 1000);
}

TEST(Registrations, AlsoIfItHasAnotherKey) {
  std::vector<int> steps = kOneStreamEach;
  steps.insert(steps.end(), {at(1, Op::close_first), kPush});
  EXPECT_GT(explore(steps, true), 100);
}

TEST(Registrations, AlsoIfBothHaveTwoStreams) {
  const std::vector<int> steps = {at(0, Op::enter),        at(0, Op::open_first),
                                  at(0, Op::open_second),  at(0, Op::close_first),
                                  at(0, Op::close_second), at(0, Op::end),
                                  at(1, Op::enter),        at(1, Op::open_first),
                                  at(1, Op::open_second),  at(1, Op::close_first)};
  EXPECT_GT(explore(steps, false), 1000);
}

}  // namespace
}  // namespace hocket
