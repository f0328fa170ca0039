// Who may use a daemon on loopback: tried from outside, as a browser, a neighbour and the user.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "core/base/json.h"
#include "core/protocol/daemon_token.h"
#include "store/open.h"
#include "tests/daemon/raw_client.h"
#include "tests/fault/daemon_process.h"
#include "tests/reserved_port.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey =
    "11111111-1111-5111-8111-111111111111.22222222-2222-5222-8222-222222222222";

class OutsideAccess : public ::testing::Test {
 protected:
  struct Ended {
    int status = -1;
    std::string out, err;
  };

  /// Runs `hocket ARGUMENTS` for the user whose state folder is `state`.
  Ended hocket(std::vector<std::string> arguments, const std::string& state = "state") {
    ChildOptions child{.argv = {HOCKET_BIN "/hocket"}, .environment = user(state)};
    child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
    child.out_path = folder_.file("out");
    child.err_path = folder_.file("err");
    const int status = Child(child).wait(std::chrono::minutes(1)).value_or(-1);
    return {status, *read_file(child.out_path), *read_file(child.err_path)};
  }

  std::map<std::string, std::string> user(const std::string& state) const {
    return {{"XDG_STATE_HOME", folder_.file(state)},
            {"HOCKET_STORE", folder_.file("store.db")},
            {"HOCKET_DAEMON", port_.url()},
            {"HOCKET_TOKEN_FILE", ""}};
  }

  void serve(std::vector<std::string> arguments = {}) {
    daemon_.reset();
    daemon_ = std::make_unique<DaemonProcess>(
        DaemonProcess::Options{.store = folder_.file("store.db"),
                               .log = folder_.file("log"),
                               .port = port_.port(),
                               .arguments = std::move(arguments),
                               .child = {.environment = user("state")}});
    ASSERT_TRUE(daemon_->listens()) << *read_file(folder_.file("log"));
  }

  std::string token_path() const {
    return daemon_token_path(folder_.file("state/hocket"), port_.port());
  }

  RawResponse send(const std::string& method, const std::string& target, const std::string& fields,
                   const std::string& body = "") const {
    RawClient client(port_.port());
    client.send(method + " " + target + " HTTP/1.1\r\n" + fields +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read_response();
  }

  const TemporaryFolder folder_;
  const ReservedPort port_;
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(OutsideAccess, TheSameUserNeedsNoTokenAndOthersDo) {
  serve();
  struct stat file = {}, state = {}, store = {};
  ASSERT_EQ(::stat(token_path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(folder_.file("state/hocket").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(folder_.file("store.db").c_str(), &store), 0);
  EXPECT_EQ(store.st_mode & 0777, 0600u);
  EXPECT_THAT(*read_file(folder_.file("log")), HasSubstr(token_path()));

  const auto own = hocket({"jobs"});
  EXPECT_EQ(own.status, 0) << own.err;
  const auto other = hocket({"jobs"}, "another");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("401: a token is needed"));
  for (const char* target : {"/v1/configs", "/v1/jobs", "/v1/studies", "/metrics"}) {
    EXPECT_EQ(send("GET", target, "Host: localhost\r\n").status, 401) << target;
  }
  EXPECT_EQ(send("GET", "/healthz", "Host: localhost\r\n").status, 200);

  const std::string token = *read_daemon_token(token_path());
  daemon_->kill();
  serve();
  EXPECT_EQ(*read_daemon_token(token_path()), token) << "a restart keeps it";
  EXPECT_EQ(hocket({"jobs"}).status, 0);

  serve({"--no-tokens"});
  EXPECT_EQ(hocket({"jobs"}, "another").status, 0);
}

TEST_F(OutsideAccess, ATokenThatOthersCouldHaveReadIsNotUsed) {
  serve();
  ASSERT_EQ(::chmod(token_path().c_str(), 0644), 0);
  EXPECT_THAT(hocket({"jobs"}).err, HasSubstr("chmod 600"));
  daemon_->stop();
  const auto refused = hocket({"serve", "--listen", "127.0.0.1:" + std::to_string(port_.port())});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("chmod 600"));
}

TEST_F(OutsideAccess, AJobWithoutTheTokenGoesOnWithTheDefault) {
  serve();
  ChildOptions child{.argv = {HOCKET_BIN "/gpt2", "--layers", "1", "--steps", "8", "--watch"},
                     .environment = user("another")};
  child.environment.insert(
      {{"XDG_CACHE_HOME", folder_.file("cache")}, {"OPENBLAS_NUM_THREADS", "1"}});
  child.environment["HOCKET_STORE"] = "/nonexistent/hocket.db";
  child.out_path = folder_.file("out");
  child.err_path = folder_.file("err");
  EXPECT_EQ(Child(child).wait(std::chrono::minutes(1)), 0) << *read_file(child.err_path);
  EXPECT_THAT(*read_file(child.err_path), HasSubstr("401: a token is needed"));
}

TEST_F(OutsideAccess, AWebPageChangesNothing) {
  serve({"--no-tokens"});
  const std::string host = "Host: 127.0.0.1:" + std::to_string(port_.port()) + "\r\n";
  const std::string json = "Content-Type: application/json\r\n";
  const std::string config = R"({"config":{"format":"hocket-schedule","version":1}})";
  const std::string target = std::string("/v1/configs/") + kKey;
  // After DNS rebinding, reads as well.
  EXPECT_EQ(send("GET", "/v1/jobs", "Host: evil.example\r\n").status, 421);
  EXPECT_EQ(send("PUT", target, "Host: evil.example\r\n" + json, config).status, 421);
  for (const std::string page :
       {"Origin: http://evil.example\r\n", "Origin: null\r\n", "Origin: http://127.0.0.1:3000\r\n",
        "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n"}) {
    EXPECT_EQ(send("PUT", target, host + json + page, config).status, 403) << page;
    EXPECT_EQ(send("OPTIONS", target, host + page).status, 403) << page;
    EXPECT_EQ(send("GET", "/v1/jobs", host + page).status, 403) << page;
  }
  for (const std::string type :
       {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"}) {
    for (const char* simple : {"/v1/jobs", "/v1/reports", "/v1/studies", "/v1/jobs/x/profile"}) {
      const auto answer = send("POST", simple, host + "Content-Type: " + type + "\r\n", "{}");
      EXPECT_EQ(answer.status, 415) << simple << " " << type;
    }
  }
  EXPECT_THAT(send("GET", "/v1/audit", host).body, Not(HasSubstr("promote")));
  const auto metrics = send("GET", "/metrics", host).body;
  EXPECT_THAT(metrics, HasSubstr("hocket_http_foreign_total 29"));

  serve({"--no-tokens", "--name", "tuner.example.org"});
  EXPECT_EQ(send("GET", "/v1/jobs", "Host: tuner.example.org\r\n").status, 200);
  EXPECT_EQ(send("GET", "/v1/jobs", "Host: evil.example\r\n").status, 421);
}

TEST_F(OutsideAccess, ATokenIsNotSentInPlainTextToAnotherHost) {
  serve();
  std::filesystem::copy_file(token_path(), folder_.file("token"));
  // Nobody has this address (RFC 5737), so a refusal without a timeout means that nothing was sent.
  ChildOptions child{.argv = {HOCKET_BIN "/hocket", "jobs", "--daemon", "http://192.0.2.1:7077"},
                     .environment = user("state")};
  child.environment["HOCKET_TOKEN_FILE"] = folder_.file("token");
  child.err_path = folder_.file("err");
  EXPECT_EQ(Child(child).wait(std::chrono::minutes(1)), 2);
  EXPECT_THAT(*read_file(child.err_path), HasSubstr("in plain text"));
}

TEST_F(OutsideAccess, AStrangerIsNoRank) {
  ChildOptions child{
      .argv = {HOCKET_BIN "/gpt2", "--layers", "1", "--steps", "5"},
      .environment = {{"HOCKET_DAEMON", ""},
                      {"HOCKET_STORE", "/nonexistent/hocket.db"},
                      {"XDG_CACHE_HOME", folder_.file("cache")},
                      {"OPENBLAS_NUM_THREADS", "1"},
                      {"HOCKET_RENDEZVOUS", "tcp://127.0.0.1:" + std::to_string(port_.port())},
                      {"WORLD_SIZE", "2"}}};
  const auto start = [&](const std::string& rank, const std::string& secret) {
    child.environment["RANK"] = child.environment["LOCAL_RANK"] = rank;
    child.environment["HOCKET_RENDEZVOUS_SECRET"] = secret;
    child.out_path = folder_.file("out." + rank + secret);
    child.err_path = folder_.file("err." + rank + secret);
    return Child(child);
  };
  const std::string ours = "0123456789abcdef";
  Child first = start("0", ours);
  for (const std::string secret : {"", "fedcba9876543210"}) {
    Child stranger = start("1", secret);
    EXPECT_NE(stranger.wait(std::chrono::minutes(1)), 0);
    EXPECT_THAT(*read_file(folder_.file("err.1" + secret)), HasSubstr("HOCKET_RENDEZVOUS_SECRET"));
  }
  Child second = start("1", ours);
  EXPECT_EQ(second.wait(std::chrono::minutes(1)), 0) << *read_file(folder_.file("err.1" + ours));
  EXPECT_EQ(first.wait(std::chrono::minutes(1)), 0) << *read_file(folder_.file("err.0" + ours));
}

TEST_F(OutsideAccess, AStudyThatCameOverHttpIsNotRun) {
  serve();
  const std::string planted = folder_.file("planted");
  const nlohmann::json study = {{"study", "planted"},
                                {"command", {"touch", planted}},
                                {"definition",
                                 {{"format", "hocket-study"},
                                  {"version", 1},
                                  {"objective", "wall"},
                                  {"seed", 1},
                                  {"trials", 2},
                                  {"skip", 0},
                                  {"confirm_pairs", 2},
                                  {"time_limit_ns", 60'000'000'000},
                                  {"working_directory", folder_.path().string()},
                                  {"space",
                                   {{"format", "hocket-space"},
                                    {"version", 1},
                                    {"parameters",
                                     {{{"name", "X"},
                                       {"type", "int"},
                                       {"low", 1},
                                       {"high", 3},
                                       {"log", false},
                                       {"default", 1}}}}}}}}};
  const auto made =
      send("POST", "/v1/studies",
           "Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " +
               *read_daemon_token(token_path()) + "\r\n",
           study.dump());
  ASSERT_EQ(made.status, 201) << made.body;
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"--take-over"},
                                               {"--study", "planted"},
                                               {"--study", "planted", "--take-over"}}) {
    std::vector<std::string> arguments = {"tune", "--resume"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ended = hocket(arguments);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr(more.size() < 2 ? "no unfinished study" : "over HTTP"));
  }
  EXPECT_FALSE(std::filesystem::exists(planted));
  const auto row = (*open_store(folder_.file("store.db"), {.read_only = true}))->study("planted");
  EXPECT_EQ(row->owner, "workers");
}

}  // namespace
}  // namespace hocket
