// Tests hocket profile, through a daemon on loopback and through a store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/application.h"
#include "cli/inputs/access/daemon_access.h"
#include "core/protocol/job_message.h"
#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/daemon/running_daemon.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class ProfileVerb : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("HOCKET_DAEMON"); }

  Answer run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "profile");
    return ask_hocket(arguments);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
};

TEST_F(ProfileVerb, AsksThroughTheDaemonThatIsNamed) {
  const auto store = open_store_in_memory();
  const RunningDaemon daemon(*store);
  HttpClient client({.address = must(parse_daemon_address(daemon.url()))});
  JobDescription job{.id = "job-1", .name = "größe/1"};
  job.workload.name = "gpt2";
  must(ask_daemon(client, "POST", "/v1/jobs", to_json(job)));
  const auto asked = run({"größe/1", "--iterations", "20", "--daemon", daemon.url()});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("asked job-1 for a profile of 20 iterations (request "));
  EXPECT_THAT(asked.out, HasSubstr("it takes it up when it is back"));
  const auto requests = must(store->profile_requests());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].iterations, 20);
  const auto unknown = run({"other", "--daemon", daemon.url()});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there are job-1 (größe/1)"));
}

TEST_F(ProfileVerb, AsksThroughTheStoreOtherwise) {
  const auto asked = run({"gpt2", "--store", path_, "--json"});
  EXPECT_EQ(asked.status, 0) << asked.err;
  const auto answer = nlohmann::json::parse(asked.out);
  EXPECT_EQ(answer["job"], "gpt2");
  EXPECT_EQ(answer["iterations"], 10);
  const auto store = must(open_store(path_));
  const auto taken = must(store->take_profile_request("job-1", "gpt2", 1'000'000'000'000));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->id, answer["request"]);
  EXPECT_NE(taken->actor, "");
  EXPECT_THAT(run({"gpt2", "--store", path_}).out, HasSubstr("takes it up within a second"));
}

TEST_F(ProfileVerb, WaitsForAProfileThatIsNewerAndSaysWhenThereIsNone) {
  const auto store = must(open_store(path_));
  must(store->add_profile({.name = "older", .source = "host"}));
  const auto late = run({"gpt2", "--store", path_, "--wait", "0.001"});
  EXPECT_EQ(late.status, 1);
  EXPECT_THAT(late.err, HasSubstr("the request stands"));
  // The job, which takes requests.
  std::thread job([&] {
    for (;;) {
      const auto taken = must(store->take_profile_request("job-1", "gpt2", 1'000'000'000'000));
      if (taken && taken->iterations == 7) break;
      std::this_thread::yield();
    }
    must(store->add_profile({.name = "newer", .source = "host"}));
  });
  const auto asked =
      run({"gpt2", "--store", path_, "--iterations", "7", "--wait", "600", "--json"});
  job.join();
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_EQ(nlohmann::json::parse(asked.out)["profile"], "newer");
}

TEST_F(ProfileVerb, RefusesNumbersOutOfRangeAndStoresThatAreNone) {
  EXPECT_EQ(run({"gpt2", "--store", path_, "--iterations", "0"}).status, 2);
  EXPECT_EQ(run({"gpt2", "--store", path_, "--iterations", "10001"}).status, 2);
  EXPECT_EQ(run({}).status, 2);
  EXPECT_EQ(run({"gpt2", "--store", "/dev/null/x"}).status, 2);
  EXPECT_NE(run({"gpt2", "--daemon", "nowhere"}).status, 0);
}

}  // namespace
}  // namespace hocket
