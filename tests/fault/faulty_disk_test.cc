// A daemon whose disk stalls or becomes read-only goes on with what needs no disk, refuses the rest
// with a reason, and has lost nothing when the disk is well again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/protocol/job_message.h"
#include "core/step/schedule_config.h"
#include "tests/fault/daemon_process.h"
#include "tests/store/check_store.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

class FaultyDisk : public ::testing::Test {
 protected:
  FaultyDisk() {
    key_ = ask("POST", "/v1/resolve",
               {{"topology", to_json(sample_topology())},
                {"workload", to_json(sample_workload())}})["key"];
    EXPECT_EQ(must(push(client_)).status, 200);
    // The version is released after it was staged.
    EXPECT_TRUE(eventually([&] { return get("/v1/configs/" + key_) == 200; }));
  }

  nlohmann::json ask(const std::string& method, const std::string& target,
                     const nlohmann::json& body) {
    const auto answer = client_.ask(method, target, body);
    EXPECT_TRUE(answer) << method << " " << target << ": " << answer.error().message;
    return answer.value_or(nlohmann::json::object());
  }

  Result<HttpResponse> push(DaemonClient& client) const {
    return client.send("PUT", "/v1/configs/" + key_, {{"config", to_json(ScheduleConfig{})}});
  }
  std::int64_t version() {
    return nlohmann::json::parse(must(client_.send("GET", "/v1/configs/" + key_)).body)["version"];
  }
  /// Returns 0 if there is no answer.
  int get(const std::string& target) {
    const auto answer = client_.send("GET", target);
    return answer ? answer->status : 0;
  }

  void set_fault(const std::string& fault) {
    // Renamed, so that the daemon never reads half of it.
    std::ofstream(fault_ + ".new") << fault;
    std::filesystem::rename(fault_ + ".new", fault_);
  }
  void mend() { std::filesystem::remove(fault_); }

  void expect_whole(std::int64_t least_version) {
    EXPECT_EQ(daemon_.stop(), 0);
    EXPECT_TRUE(check_store(store_));
    const auto promotions = must(must(open_store(store_))->promotions({}));
    EXPECT_GE(promotions.back().id, least_version);
  }

  const TemporaryFolder folder_;
  const std::string store_ = folder_.file("store.db"), fault_ = folder_.file("fault");
  DaemonProcess daemon_{{.store = store_,
                         .log = folder_.file("log"),
                         .child = {.environment = {{"LD_PRELOAD", HOCKET_DISK_FAULT},
                                                   {"HOCKET_TEST_DISK", fault_}}}}};
  DaemonClient client_{daemon_.port()};
  std::string key_;
};

TEST_F(FaultyDisk, WhileItStallsWhatNeedsNoDiskIsAnswered) {
  constexpr int kWriters = 4;  // more than the daemon has workers
  set_fault("stalled");
  std::vector<std::int64_t> versions(kWriters);
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < kWriters; ++i) {
      writers.emplace_back([&, i] {
        DaemonClient client(daemon_.port());
        const auto pushed = push(client);
        ASSERT_TRUE(pushed) << pushed.error().message;
        ASSERT_EQ(pushed->status, 200) << pushed->body;
        versions[static_cast<std::size_t>(i)] = nlohmann::json::parse(pushed->body)["version"];
      });
    }
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(fault_ + ".waiting"); }));
    for (const std::string& target :
         {std::string("/healthz"), std::string("/metrics"), "/v1/configs/" + key_}) {
      EXPECT_EQ(get(target), 200) << target;
    }
    mend();
  }
  expect_whole(std::ranges::max(versions));
}

TEST_F(FaultyDisk, WhileItIsSlowEverythingIsAnsweredAndKept) {
  set_fault("slow");
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(must(push(client_)).status, 200);
    EXPECT_EQ(get("/healthz"), 200);
  }
  mend();
  expect_whole(version());
}

TEST_F(FaultyDisk, WhileItStallsReportsWaitAsFarAsThereIsRoom) {
  const std::int64_t pushed = version();
  const JobDescription job{
      .id = "job", .topology = sample_topology(), .workload = sample_workload(), .version = pushed};
  ASSERT_EQ(must(client_.send("POST", "/v1/jobs", to_json(job))).status, 200);
  JobReport report{.job = "job", .version = pushed};
  for (int i = 0; i < 1'000; ++i) {
    report.outcomes.push_back(
        {.version = pushed, .status = ChangeStatus::rolled_back, .message = std::string(500, 'x')});
  }
  set_fault("stalled");
  // Each report has half a megabyte; 64 may wait, and outcomes that are already being stored.
  HttpResponse answer;
  int reports = 0;
  do {
    answer = must(client_.send("POST", "/v1/reports", to_json(report)));
  } while (answer.status == 200 && ++reports < 500);
  EXPECT_EQ(answer.status, 503) << reports;
  EXPECT_GT(reports, 1);
  EXPECT_EQ(get("/healthz"), 200);
  EXPECT_LT(status_kb(daemon_.pid(), "VmHWM"), 400 << 10);
  mend();
}

TEST_F(FaultyDisk, WhileItIsReadOnlyWritesAreRefusedWithTheReason) {
  const std::int64_t before = version();
  set_fault("read-only");
  for (int i = 0; i < 5; ++i) {
    const HttpResponse refused = must(push(client_));
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, ::testing::HasSubstr("store.db"));
  }
  for (const char* target :
       {"/healthz", "/readyz", "/metrics", "/v1/configs", "/v1/studies", "/v1/audit", "/v1/jobs"}) {
    EXPECT_EQ(get(target), 200) << target;
  }
  EXPECT_EQ(version(), before);
  mend();
  EXPECT_EQ(must(push(client_)).status, 200);
  expect_whole(before + 1);
}

}  // namespace
}  // namespace hocket
