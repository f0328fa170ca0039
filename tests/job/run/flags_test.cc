#include "job/run/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using testing::HasSubstr;

struct Flags {
  /// Returns the error, or "".
  std::string parse(const std::string& arguments) {
    CLI::App app;
    add_device_flags(app, device);
    add_network_flags(app, network);
    add_run_flags(app, run);
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  }

  DeviceOptions device;
  NetworkOptions network;
  RunOptions run;
};

TEST(Flags, FillTheOptions) {
  Flags flags;
  ASSERT_EQ(flags.parse("--device cuda:1 --offload-k auto --link 1gbit --server-link 2gbit "
                        "--colocated-servers --timeout 7 --step s.json --record r.tape "
                        "--profile-at 4 --profile-iterations 6 --profile-interleave 2 "
                        "--profile-level L2 --watch --explore 5%"),
            "");
  EXPECT_EQ(flags.device.device, "cuda:1");
  EXPECT_EQ(flags.device.offload_k, "auto");
  EXPECT_EQ(flags.network.link, "1gbit");
  EXPECT_EQ(flags.network.server_link, "2gbit");
  EXPECT_TRUE(flags.network.colocated_servers);
  EXPECT_EQ(flags.network.timeout_seconds, 7);
  EXPECT_EQ(flags.run.step, "s.json");
  EXPECT_EQ(flags.run.record, "r.tape");
  EXPECT_EQ(flags.run.profiled.first_step, 4);
  EXPECT_EQ(flags.run.profiled.steps, 6);
  EXPECT_EQ(flags.run.profiled.interleave, 2);
  EXPECT_EQ(flags.run.profile_level, "L2");
  EXPECT_TRUE(flags.run.watch);
  EXPECT_DOUBLE_EQ(flags.run.explore, 0.05);
}

TEST(Flags, ThatContradictEachOtherAreRefused) {
  EXPECT_THAT(Flags().parse("--profile p.json --record r.tape"), HasSubstr("--profile"));
  EXPECT_THAT(Flags().parse("--profile p.json --watch"), HasSubstr("--profile"));
  EXPECT_THAT(Flags().parse("--profile p.json --profile-at 3"), HasSubstr("--profile"));
  EXPECT_THAT(Flags().parse("--profile p.json --profile-on-request"), HasSubstr("--profile"));
  EXPECT_THAT(Flags().parse("--profile-at 3 --profile-iterations 0"),
              HasSubstr("--profile-iterations"));
  EXPECT_THAT(Flags().parse("--watch --profile-on-request"), HasSubstr("--profile-on-request"));
  EXPECT_THAT(Flags().parse("--profile-iterations 3"), HasSubstr("--profile-at"));
  EXPECT_THAT(Flags().parse("--explore 5%"), HasSubstr("--watch"));
  EXPECT_THAT(Flags().parse("--watch --explore 60%"), HasSubstr("--explore"));
  EXPECT_THAT(Flags().parse("--timeout 0"), HasSubstr("--timeout"));
}

TEST(Flags, TheStepIsThatOfTheEnvironmentUnlessAFlagNamesOne) {
  const ScopedEnvironment step("HOCKET_STEP", "environment.json");
  Flags flags;
  EXPECT_EQ(flags.parse(""), "");
  EXPECT_EQ(flags.run.step, "environment.json");
  EXPECT_EQ(flags.parse("--step flag.json"), "");
  EXPECT_EQ(flags.run.step, "flag.json");
}

}  // namespace
}  // namespace hocket
