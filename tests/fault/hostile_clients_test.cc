// A daemon with hostile clients continues to serve the others.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <list>
#include <random>

#include "core/protocol/job_message.h"
#include "tests/daemon/raw_client.h"
#include "tests/fault/daemon_process.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
const std::string kBearer = std::string("Authorization: Bearer ") + kToken + "\r\n";

class HostileClients : public ::testing::Test {
 protected:
  void SetUp() override {
    // Every connection is a file.
    rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    folder_.write("tokens", std::string("report job ") + kToken + "\n");
    chmod(folder_.file("tokens").c_str(), 0600);
    daemon_ = std::make_unique<DaemonProcess>(
        DaemonProcess::Options{.store = folder_.file("store.db"),
                               .log = folder_.file("log"),
                               .arguments = {"--token-file", folder_.file("tokens")}});
    ASSERT_TRUE(daemon_->listens());
    expect_well();
    memory_kb_ = status_kb(daemon_->pid(), "VmRSS");
  }

  void TearDown() override {
    expect_well();
    EXPECT_LT(status_kb(daemon_->pid(), "VmHWM"), memory_kb_ + (32 << 10));
    EXPECT_EQ(daemon_->stop(), 0);
  }

  RawClient& connect() { return clients_.emplace_back(daemon_->port()); }

  /// Expects that other clients are served.
  void expect_well() {
    RawClient client(daemon_->port());
    client.get("/healthz");
    EXPECT_EQ(client.read_response().status, 200);
    const nlohmann::json job = {{"topology", to_json(sample_topology())},
                                {"workload", to_json(sample_workload())}};
    client.send(post("/v1/resolve", job.dump()));
    EXPECT_EQ(client.read_response().status, 200);
  }

  static std::string post(const std::string& target, const std::string& body) {
    return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\n" + kBearer +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  /// Returns the status of the response; 0 if the connection was closed without one.
  int status_of(const std::string& bytes) {
    RawClient client(daemon_->port());
    client.send(bytes);
    client.end_sending();
    return client.read_response().status;
  }

  void expect_refused(const std::string& bytes) {
    const int status = status_of(bytes);
    EXPECT_TRUE(status == 0 || (status >= 400 && status < 500)) << status;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::list<RawClient> clients_;
  std::int64_t memory_kb_ = 0;
};

TEST_F(HostileClients, ThousandsThatSayLittleOrNothing) {
  for (int i = 0; i < 1000; ++i) connect();
  expect_well();
  const std::string request = "POST /v1/resolve HTTP/1.1\r\nHost: localhost\r\n" + kBearer;
  // Sends a byte from each client in turn; the requests are never completed.
  for (std::size_t at = 0; at < request.size(); ++at) {
    for (RawClient& client : clients_) client.send(request.substr(at, 1));
    if (at % 20 == 0) expect_well();
  }
  // The daemon times out the requests that have begun.
  EXPECT_EQ(clients_.front().read_response().status, 408);
  EXPECT_TRUE(clients_.back().read_response().status == 408 && clients_.back().is_closed());
}

TEST_F(HostileClients, HeadersAndBodiesWithoutEnd) {
  const std::string million(1'000'000, 'a');
  EXPECT_EQ(status_of("GET /" + million + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), 431);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + million + "\r\n\r\n"), 431);
  std::string fields;
  while (fields.size() < million.size()) fields += "A: b\r\n";
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n"), 431);
  EXPECT_EQ(
      status_of(
          "POST /v1/resolve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"),
      413);
  EXPECT_EQ(status_of(post("/v1/resolve", std::string(2 << 20, ' '))), 413);
}

TEST_F(HostileClients, TextsThatNoParserLikes) {
  const std::string deep(10'000, '['), objects = [] {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += R"({"topology":)";
    return text;
  }();
  const std::string invalid = "\xff\xc0\x80\xed\xa0\x80\xf5";
  for (const char* target : {"/v1/resolve", "/v1/jobs", "/v1/reports", "/v1/studies",
                             "/v1/studies/x/ask", "/v1/studies/x/tell"}) {
    SCOPED_TRACE(target);
    expect_refused(post(target, deep));
    expect_refused(post(target, objects));
    expect_refused(post(target, "{\"topology\":" + deep + std::string(10'000, ']') + "}"));
    expect_refused(post(target, invalid));
    expect_refused(post(target, "{\"" + invalid + "\":\"" + invalid + "\"}"));
    expect_refused(post(target, R"({"topology":1e999,"workload":-0,"job":"\ud800"})"));
  }
  expect_refused("GET /v1/configs/" + invalid + " HTTP/1.1\r\nHost: localhost\r\n" + kBearer +
                 "\r\n");
  expect_refused("GET /v1/audit?subject=" + invalid + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect_refused(invalid + " / HTTP/1.1\r\nHost: " + invalid + "\r\n\r\n");
  expect_refused("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + invalid +
                 "\r\n\r\n");
}

TEST_F(HostileClients, JobsWithKnobsThatCannotBeTuned) {
  JobDescription job{
      .id = "job", .topology = sample_topology(), .workload = sample_workload(), .explore = 0.5};
  for (const char* knob : {"nonsense", "regions.a.nothing", ""}) {
    job.knobs = {"partition_bytes", knob};
    RawClient client(daemon_->port());
    client.send(post("/v1/jobs", to_json(job).dump()));
    const RawResponse refused = client.read_response();
    EXPECT_EQ(refused.status, 400) << knob;
    EXPECT_NE(refused.body.find("knobs[1]"), std::string::npos) << refused.body;
  }
  // A job that is tuned: it watches, and reports until it has a candidate.
  job.knobs = {"bucket_bytes"};
  RawClient client(daemon_->port()), watcher(daemon_->port());
  client.send(post("/v1/jobs", to_json(job).dump()));
  const RawResponse entered = client.read_response();
  ASSERT_EQ(entered.status, 200) << entered.body;
  const std::string key = nlohmann::json::parse(entered.body)["key"];
  watcher.get("/v1/watch?key=" + key + "&job=job", kBearer);
  watcher.read_until("\r\n\r\n");
  JobReport report{.job = "job"};
  for (int i = 0; i < 20; ++i) report.iteration_ns.push_back(1'000'000 + i % 5);
  client.send(post("/v1/reports", to_json(report).dump()));
  EXPECT_EQ(client.read_response().status, 200);
  std::string metrics;
  EXPECT_TRUE(eventually([&] {
    client.get("/metrics", kBearer);
    metrics = client.read_response().body;
    return metrics.find("hocket_candidates_offered_total 1") != std::string::npos;
  })) << metrics;
  EXPECT_NE(metrics.find("hocket_keys_set_aside 0"), std::string::npos);
  EXPECT_NE(metrics.find("hocket_internal_errors_total{where=\"key\"} 0"), std::string::npos);
}

TEST_F(HostileClients, StrangersAndThievesOfPaths) {
  for (const std::string token : {"", "Authorization: Bearer\r\n", "Authorization: Bearer x\r\n",
                                  "Authorization: Basic eDp5\r\n"}) {
    EXPECT_EQ(status_of("GET /v1/configs HTTP/1.1\r\nHost: localhost\r\n" + token + "\r\n"), 401)
        << token;
  }
  const std::string key = std::string(36, 'a') + "." + std::string(36, 'b');
  EXPECT_EQ(status_of("PUT /v1/configs/" + key + " HTTP/1.1\r\nHost: localhost\r\n" + kBearer +
                      "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
            403);
  for (const std::string target :
       {"/%2e%2e/%2e%2e/etc/passwd", "/../../etc/passwd", "/v1/studies/%2e%2e%2f%2e%2e/trials",
        "/v1/configs/%00", "/v1//configs", "//v1/configs", "/v1/configs/", "/v1/configs%2f",
        "http://evil/v1/secrets", "*", "v1/configs", "/%", "/%zz", "/v1/configs?wait=%00",
        "/v1/studies/%ff%fe"}) {
    SCOPED_TRACE(target);
    for (const char* method : {"GET", "POST", "PUT", "DELETE", "TRACE", "CONNECT", "PATCH"}) {
      expect_refused(std::string(method) + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" +
                     kBearer + "Content-Length: 0\r\n\r\n");
    }
  }
}

TEST_F(HostileClients, RequestsThatAreCutOffOrBroken) {
  const std::string whole = post("/v1/resolve", R"({"topology":{},"workload":{}})");
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  for (std::size_t end = 0; end < whole.size(); end += 1 + random() % 5) {
    expect_refused(whole.substr(0, end));
    RawClient rude(daemon_->port());
    rude.send(whole.substr(0, end));
    rude.reset();
  }
  for (int i = 0; i < 300; ++i) {
    std::string broken = whole;
    for (int times = 0; times < 3; ++times) {
      broken[random() % broken.size()] = static_cast<char>(random());
    }
    expect_refused(broken);
  }
}

}  // namespace
}  // namespace hocket
