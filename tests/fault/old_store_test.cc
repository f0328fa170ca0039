// Two daemons that open a store of an older version at once both serve it, with all it had.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <barrier>
#include <thread>

#include "core/step/schedule_config.h"
#include "store/sqlite/connection.h"
#include "tests/fault/daemon_process.h"
#include "tests/store/check_store.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

TEST(OldStore, TwoDaemonsOpenItAtOnce) {
  const TemporaryFolder folder;
  for (int round = 0; round < 5; ++round) {
    const std::string path = folder.file("store" + std::to_string(round) + ".db");
    {
      auto db = must(sqlite::Connection::open(path, sqlite::Connection::Mode::create, 0));
      must(db.execute_script(
          read_bytes(HOCKET_SOURCE_DIR "/tests/store/sqlite/version_1.sql").c_str()));
    }
    std::barrier both(2);
    const auto serve_and_push = [&](int number) {
      // A child ends with the thread that started it, so this thread does all.
      DaemonProcess daemon({.store = path, .log = folder.file("log" + std::to_string(number))});
      both.arrive_and_wait();
      EXPECT_TRUE(daemon.listens());
      DaemonClient client(daemon.port());
      const auto answer = client.ask("GET", "/v1/configs");
      EXPECT_TRUE(answer) << answer.error().message;
      const auto configs = answer ? answer->at("configs") : nlohmann::json::array();
      EXPECT_EQ(configs.size(), 1U);
      for (const auto& config : configs) {
        const std::string target = "/v1/configs/" + config.at("key").get<std::string>();
        EXPECT_TRUE(client.ask("PUT", target, {{"config", to_json(ScheduleConfig{})}}));
      }
      both.arrive_and_wait();
      EXPECT_EQ(daemon.stop(), 0);
    };
    {
      const std::jthread other(serve_and_push, 0);
      serve_and_push(1);
    }
    EXPECT_TRUE(check_store(path));
    EXPECT_EQ(must(must(open_store(path))->promotions({})).size(), 4U);
  }
}

}  // namespace
}  // namespace hocket
