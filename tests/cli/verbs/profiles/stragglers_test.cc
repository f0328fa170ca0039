// Tests `hocket stragglers` on profiles of simulated jobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/base/context.h"
#include "tests/archive/profiles/profiled_job.h"
#include "tests/cli/answer.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// A profile of 24 iterations of four ranks; rank 2 computes `scale` times as long as the others.
class StragglersVerb : public ::testing::Test {
 protected:
  ProfileRow profile(double scale, std::int64_t offset_ns = 0) {
    StepDescription step = small_step();
    step.ranks = step.ranks_per_host = 4;
    step.collective.beta_ns_per_byte = 0.1;
    step.jitter = {JitterKind::lognormal, 0.005, 3};
    step.rank_compute_scale = {1, 1, scale, 1};
    return job_.add(step, small_options(25), offset_ns);
  }
  Answer ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "stragglers");
    arguments.insert(arguments.end(), {"--store", job_.path});
    return ask_hocket(arguments);
  }

  ProfiledJob job_;
};

TEST_F(StragglersVerb, NamesTheSlowRankAndItsComputation) {
  const auto row = profile(1.3);
  const auto text = ask({row.name});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("rank 2 is late in 100.0 % of the steps"),
                              HasSubstr("its computation takes longer"),
                              HasSubstr("Confidence high"), HasSubstr("skew median"),
                              ContainsRegex("\n2 +100.0 %.*persistent: computation")));
  EXPECT_THAT(ask({row.name, "--collectives", "0"}).out, Not(HasSubstr("skew median")));
  const auto json = ask({row.name, "--json"}).json();
  EXPECT_EQ(json["verdict"], "late_ranks");
  EXPECT_EQ(json["ranks"][2]["pattern"], "persistent");
  EXPECT_EQ(json["ranks"][2]["cause"], "computation");
  EXPECT_EQ(json["ranks"][1]["pattern"], "none");
  EXPECT_FALSE(json["collectives"].empty());
}

TEST_F(StragglersVerb, NamesNobodyWhereAllRanksAreAlike) {
  const auto text = ask({profile(1).name});
  ASSERT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("no rank is"), Not(HasSubstr("Confidence"))));
}

TEST_F(StragglersVerb, ComparesTheStepsThatAreAskedFor) {
  const auto row = profile(1.3);
  const auto json = ask({row.name, "--steps", "10-19", "--json"}).json();
  EXPECT_EQ(json["steps"], 10);
  EXPECT_EQ(json["first_step"], 10);
  EXPECT_EQ(json["last_step"], 19);
  EXPECT_EQ(ask({row.name, "--steps", "-3", "--json"}).json()["last_step"], 3);
  EXPECT_THAT(ask({row.name, "--steps", "1-2"}).out, HasSubstr("no verdict: 2 steps"));
  const auto none = ask({row.name, "--steps", "500-"});
  EXPECT_EQ(none.status, kBadInput);
  EXPECT_THAT(none.err, HasSubstr("no iteration in --steps; it has 0 to 23"));
  for (const char* bad : {"", "-", "a-b", "9-3", "1-2-3", "99999999999999999999"}) {
    if (*bad == 0) continue;
    const auto refused = ask({row.name, std::string("--steps=") + bad});
    EXPECT_EQ(refused.status, kBadInput) << bad;
    EXPECT_THAT(refused.err, HasSubstr("--steps: expected")) << bad;
  }
}

TEST_F(StragglersVerb, SaysWhatItNeeds) {
  const auto row = profile(1);
  EXPECT_THAT(ask({}).err, HasSubstr("name a PROFILE"));
  EXPECT_EQ(ask({"unheard"}).status, kBadInput);
  EXPECT_EQ(ask_hocket({"stragglers", row.name, "--job", "a"}).status, kBadInput);
  StepDescription alone = small_step();
  alone.ranks = alone.ranks_per_host = 1;
  const auto one = ask({job_.add(alone).name});
  EXPECT_EQ(one.status, kBadInput);
  EXPECT_THAT(one.err, HasSubstr("only one has a trace"));
}

}  // namespace
}  // namespace hocket
