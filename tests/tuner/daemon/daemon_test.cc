#include "tuner/daemon/daemon.h"

#include <gtest/gtest.h>

#include "tests/set_clock.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

TEST(Daemon, ListensForOtherHostsOnlyWhereItAsksWhoTheyAre) {
  const auto store = open_store_in_memory();
  const SetClock clock;
  const auto create = [&](const std::string& address, bool insecure) {
    DaemonOptions options;
    options.server.address = address;
    options.server.port = 0;
    options.server.insecure = insecure;
    return Daemon::create(std::move(options), *store, clock);
  };
  EXPECT_GT(must(create("127.0.0.1", false))->server().port(), 0);
  const auto refused = create("0.0.0.0", false);
  EXPECT_EQ(code_of(refused), ErrorCode::invalid_argument);
  EXPECT_NE(message_of(refused).find("token"), std::string::npos);
  EXPECT_TRUE(create("0.0.0.0", true));
}

}  // namespace
}  // namespace hocket
