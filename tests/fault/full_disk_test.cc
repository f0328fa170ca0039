// A daemon with a full disk reports errors, keeps answering requests that need no space, and loses
// no data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/json.h"
#include "daemon/http/line_limit.h"
#include "tests/fault/daemon_process.h"
#include "tests/store/check_store.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FullDisk : public ::testing::Test {
 protected:
  void start(const ChildOptions& limits) {
    daemon_ = std::make_unique<DaemonProcess>(
        DaemonProcess::Options{.store = store_, .log = folder_.file("log"), .child = limits});
    if (daemon_->listens()) client_ = std::make_unique<DaemonClient>(daemon_->port());
  }
  std::string log() const { return read_file(folder_.file("log")).value_or(""); }

  void serve(const ChildOptions& limits, const std::string& store) {
    store_ = store;
    start(limits);
    if (!daemon_->listens()) return;
    StudyDefinition definition{.space = must(Space::make({must(parse_parameter("X=int:1..1000"))})),
                               .objective = {.kind = ObjectiveKind::wall, .argument = {}}};
    definition.method = SearchMethod::random;
    definition.trials = 10'000;
    ask("POST", "/v1/studies", {{"study", "s"}, {"definition", to_json(definition)}});
    key_ = ask("POST", "/v1/resolve",
               {{"topology", to_json(sample_topology())},
                {"workload", to_json(sample_workload())}})["key"];
    version_ =
        ask("PUT", "/v1/configs/" + key_, {{"config", to_json(ScheduleConfig{})}})["version"];
  }

  nlohmann::json ask(const std::string& method, const std::string& target,
                     const nlohmann::json& body = nullptr) {
    const auto answer = client_->ask(method, target, body);
    EXPECT_TRUE(answer) << method << " " << target << ": " << answer.error().message;
    return answer.value_or(nlohmann::json::object());
  }

  /// Asks for a trial and tells its result, with a long text. Returns the first response that is an
  /// error, otherwise the last one.
  HttpResponse work() {
    if (!trial_) {
      auto asked = client_->send("POST", "/v1/studies/s/ask", {{"worker", "w"}}).value();
      if (asked.status != 200) return asked;
      trial_ = nlohmann::json::parse(asked.body)["trial"];
    }
    auto told =
        client_
            ->send(
                "POST", "/v1/studies/s/tell",
                {{"trial", *trial_}, {"status", "failed"}, {"message", std::string(20'000, 'x')}})
            .value();
    if (told.status == 200) told_.push_back(*std::exchange(trial_, std::nullopt));
    return told;
  }

  /// Returns the path by which other processes reach a file of the daemon.
  std::string in_daemon(const std::string& path) const {
    return "/proc/" + std::to_string(daemon_->pid()) + "/root" + path;
  }

  int failures_logged() const {
    std::istringstream lines(log());
    int count = 0;
    for (std::string line; std::getline(lines, line);)
      count += line.find("request failed") != std::string::npos;
    return count;
  }

  /// Works until the disk is full, and checks that requests that need no space still succeed.
  void fill() {
    HttpResponse answer{.status = 200};
    for (int i = 0; i < 2000 && answer.status == 200; ++i) answer = work();
    EXPECT_EQ(answer.status, 503);
    EXPECT_THAT(answer.body, AllOf(HasSubstr("disk full"), HasSubstr("free some space")));
    EXPECT_GT(told_.size(), 3u);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(work().status, 503);
    EXPECT_EQ(failures_logged(), kLinesOfACause) << "a full disk is not filled by its own log";
    for (const char* target : {"/healthz", "/readyz", "/metrics", "/v1/configs", "/v1/studies",
                               "/v1/studies/s/trials", "/v1/audit", "/v1/jobs"}) {
      EXPECT_EQ(client_->send("GET", target).value().status, 200) << target;
    }
    EXPECT_TRUE(eventually(
        [&] { return client_->send("GET", "/v1/configs/" + key_).value().status == 200; }));
  }

  /// Checks, after space was freed, that refused requests succeed and acknowledged data exists.
  void expect_recovered() {
    EXPECT_EQ(work().status, 200);
    EXPECT_EQ(work().status, 200);
    std::map<std::int64_t, std::string> status;
    const auto answer = ask("GET", "/v1/studies/s/trials");
    for (const auto& trial : answer.at("trials")) {
      status[trial["trial"]] = trial["status"];
    }
    for (const std::int64_t trial : told_) EXPECT_EQ(status[trial], "failed") << trial;
    EXPECT_GE(ask("GET", "/v1/configs/" + key_)["version"], version_);
    // The disk may disappear together with the daemon.
    for (const char* end : {"", "-wal"}) {
      std::filesystem::copy_file(in_daemon(store_ + end), folder_.file("copy") + end);
    }
    EXPECT_EQ(daemon_->stop(), 0);
    const auto whole = check_store(folder_.file("copy"));
    EXPECT_TRUE(whole) << whole.error().message;
  }

  const TemporaryFolder folder_;
  std::string store_, key_;
  std::int64_t version_ = 0;
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<DaemonClient> client_;
  std::optional<std::int64_t> trial_;
  std::vector<std::int64_t> told_;
};

TEST_F(FullDisk, OfItsOwn) {
  const std::string disk = folder_.file("disk");
  std::filesystem::create_directory(disk);
  serve({.disk_folder = disk, .disk_bytes = 3 << 20}, disk + "/store.db");
  if (!daemon_->listens() && daemon_->child().wait(std::chrono::seconds(1)) == 125) {
    GTEST_SKIP() << "a file system cannot be made here, not even in a namespace of its own";
  }
  ASSERT_TRUE(daemon_->listens());
  const std::string ballast = in_daemon(disk + "/ballast");
  std::ofstream(ballast) << std::string(1 << 20, 'x');
  ASSERT_EQ(std::filesystem::file_size(ballast), 1u << 20);
  fill();
  std::filesystem::remove(ballast);
  expect_recovered();
}

/// A disk that outlives the daemon, since a process of its own holds it.
class KeptDisk {
 public:
  explicit KeptDisk(const TemporaryFolder& folder) : folder_(folder.file("disk")) {
    std::filesystem::create_directory(folder_);
    holder_ = std::make_unique<Child>(ChildOptions{
        .argv = {"/bin/sh", "-c", "echo held; exec sleep 600"},
        .out_path = folder.file("holder"),
        .disk_folder = folder_,
        .disk_bytes = 3 << 20,
    });
    is_made_ = eventually([&] {
                 return read_file(folder.file("holder")).value_or("") == "held\n" ||
                        !holder_->is_running();
               }) &&
               holder_->is_running();
  }
  bool is_made() const { return is_made_; }
  std::string folder() const { return folder_; }
  pid_t holder() const { return holder_->pid(); }
  /// Returns the path by which this process reaches a file of the disk.
  std::string reached(const std::string& name) const {
    return "/proc/" + std::to_string(holder()) + "/root" + folder_ + "/" + name;
  }
  /// Writes until not a byte is left.
  void fill_up() const {
    std::ofstream ballast(reached("ballast"), std::ios::binary | std::ios::app);
    while (ballast.write(std::string(4096, 'x').data(), 4096).flush()) continue;
  }

 private:
  const std::string folder_;
  std::unique_ptr<Child> holder_;
  bool is_made_ = false;
};

TEST_F(FullDisk, KeepsNoKilledDaemonFromStartingAgain) {
  const KeptDisk disk(folder_);
  if (!disk.is_made())
    GTEST_SKIP() << "a file system cannot be made here, not even in a namespace of its own";
  const ChildOptions on_disk{.mounts_of = disk.holder()};
  serve(on_disk, disk.folder() + "/store.db");
  ASSERT_TRUE(daemon_->listens());
  std::ofstream(disk.reached("ballast")) << std::string(1 << 20, 'x');
  fill();
  disk.fill_up();
  for (int again = 0; again < 2; ++again) {
    daemon_->kill();
    start(on_disk);
    ASSERT_TRUE(daemon_->listens()) << log();
    EXPECT_EQ(work().status, 503);
    EXPECT_EQ(client_->send("GET", "/v1/configs/" + key_).value().status, 200);
  }
  // Without the index of its log, which takes space to make again, the store cannot be opened.
  EXPECT_EQ(daemon_->stop(), 0);
  std::filesystem::remove(disk.reached("store.db-shm"));
  disk.fill_up();
  start(on_disk);
  EXPECT_FALSE(daemon_->listens());
  EXPECT_THAT(log(), AllOf(HasSubstr("disk full: store " + store_), HasSubstr("free some space")));
  std::filesystem::remove(disk.reached("ballast"));
  start(on_disk);
  ASSERT_TRUE(daemon_->listens()) << log();
  expect_recovered();
}

TEST_F(FullDisk, ThatIsALimitOfFiles) {
  serve({.file_bytes = 1 << 20}, folder_.file("store.db"));
  ASSERT_TRUE(daemon_->listens());
  fill();
  const rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  ASSERT_EQ(prlimit(daemon_->pid(), RLIMIT_FSIZE, &all, nullptr), 0);
  expect_recovered();
}

}  // namespace
}  // namespace hocket
