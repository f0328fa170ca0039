// Tests the routes by which sites exchange configurations.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "archive/promotions/shared_promotions.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/daemon/assembled.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SharedConfigRoutes : public ::testing::Test {
 protected:
  nlohmann::json ask(const std::string& method, const std::string& target, const std::string& body,
                     int status) {
    const auto response = daemon_.call(method, target, body);
    EXPECT_EQ(response.status, status) << *response.body;
    return nlohmann::json::parse(*response.body);
  }

  const std::string file_ = shared_configs_text({shared_schedule(), shared_command()}, "").value();
  const std::string key_ = to_string(key_of(shared_schedule()));
  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_};
};

TEST_F(SharedConfigRoutes, AFileIsTakenAndJobsStartWithIt) {
  auto answer = ask("POST", "/v1/configs?dry_run=1", file_, 200);
  ASSERT_THAT(answer["configs"], SizeIs(2));
  EXPECT_EQ(answer["configs"][0]["action"], "imported");
  EXPECT_THAT(must(store_->promotions({})), IsEmpty());
  ask("POST", "/v1/configs", file_, 200);
  answer = ask("POST", "/v1/configs", file_, 200);
  for (const auto& item : answer["configs"]) EXPECT_EQ(item["action"], "same");
  const nlohmann::json who = {{"topology", to_json(shared_schedule().topology)},
                              {"workload", to_json(shared_schedule().workload)}};
  answer = ask("POST", "/v1/resolve", who.dump(), 200);
  EXPECT_EQ(answer["match"], "exact");
  EXPECT_EQ(answer["config"]["streams"], 2);
  EXPECT_THAT(answer["origin"].get<std::string>(),
              HasSubstr("imported from site cluster-a, measured 2023-11-14 by a study, sha256 "));
  const auto versions = ask("GET", "/v1/configs/" + key_ + "/versions", "", 200)["versions"];
  ASSERT_THAT(versions, SizeIs(1));
  EXPECT_EQ(versions[0]["origin"], "imported");
  EXPECT_EQ(versions[0]["gain"], 0.2);
}

TEST_F(SharedConfigRoutes, AnEntryComesBackAsItWas) {
  ask("GET", "/v1/configs/" + key_ + "/shared", "", 404);
  ask("POST", "/v1/configs", file_, 200);
  EXPECT_EQ(ask("GET", "/v1/configs/" + key_ + "/shared?site=b", "", 200),
            to_json(shared_schedule()));
}

TEST_F(SharedConfigRoutes, AFileThatIsNotRightChangesNothing) {
  auto damaged = nlohmann::json::parse(file_);
  damaged["configs"][0]["config"]["streams"] = 3;
  EXPECT_THAT(ask("POST", "/v1/configs", damaged.dump(), 400).dump(), HasSubstr("damaged"));
  SharedConfig hostile = shared_command();
  hostile.config = {{"PATH", "x"}};
  hostile.declared = {{"PATH", DeclaredWords{{"x"}}}};
  const auto file = shared_configs_text({shared_schedule(), hostile}, "").value();
  EXPECT_THAT(ask("POST", "/v1/configs", file, 400).dump(), HasSubstr("PATH"));
  ask("POST", "/v1/configs", "{}", 400);
  ask("POST", "/v1/configs?dry_run=2", file_, 400);
  EXPECT_THAT(must(store_->promotions({})), IsEmpty());
  EXPECT_THAT(must(store_->topologies()), IsEmpty());
}

}  // namespace
}  // namespace hocket
