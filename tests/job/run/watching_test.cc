#include "job/run/watching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(Watching, NeedsADaemonWithAnAddress) {
  {
    const ScopedEnvironment none("HOCKET_DAEMON", nullptr);
    const auto missing = check_daemon_to_watch();
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(missing.error().message, HasSubstr("--watch: HOCKET_DAEMON names no daemon"));
  }
  {
    const ScopedEnvironment wrong("HOCKET_DAEMON", "nonsense");
    EXPECT_THAT(check_daemon_to_watch().error().message, HasSubstr("nonsense"));
  }
  const ScopedEnvironment daemon("HOCKET_DAEMON", "http://127.0.0.1:7077");
  EXPECT_TRUE(check_daemon_to_watch());
}

TEST(Watching, WithoutADaemonTheJobGoesOnWithAWarning) {
  const ScopedEnvironment none("HOCKET_DAEMON", nullptr);
  std::string warned;
  const JobWatch watch =
      watch_daemon({.program = "toy"}, {}, {}, [&](const std::string& text) { warned += text; });
  EXPECT_EQ(watch.link, nullptr);
  EXPECT_EQ(watch.job.rfind("toy-", 0), 0u) << watch.job;
  EXPECT_THAT(warned, HasSubstr("goes on without the daemon"));
}

}  // namespace
}  // namespace hocket
