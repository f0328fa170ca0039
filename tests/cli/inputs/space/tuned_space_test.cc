#include "cli/inputs/space/tuned_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/step/schedule_config.h"
#include "tests/temporary_folder.h"
#include "tuner/space/built_in_knobs.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

std::optional<std::string> variables(const char* name) {
  const std::map<std::string, std::string> values = {{"A", "11"}, {"B", "12"}, {"OUT", "1000"}};
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

Result<TunedSpace> space_of(SpaceRequest request) {
  if (!request.surroundings.variable)
    request.surroundings.variable = [](const std::string&) { return std::nullopt; };
  const SteadyClock clock;
  return tuned_space(request, clock);
}

TEST(TunedSpace, TheWayOfSumsIsSearchedOnlyWhereThereAreServers) {
  const auto searches = [](std::vector<std::string> command,
                           const std::optional<std::string>& addresses) {
    SpaceRequest request{.params = {}, .defaults = {}, .constraints = {}, .command = command};
    request.has_servers = has_servers(command, addresses);
    return space_of(request).value().space.defaults().contains("communication");
  };
  using Words = std::vector<std::string>;
  EXPECT_TRUE(searches({"build/bin/hocket", "run", "--ranks", "2", "--servers", "1", "--", "job"},
                       std::nullopt));
  EXPECT_TRUE(searches({"hocket", "run", "--servers=2", "--ranks=2", "--", "job"}, std::nullopt));
  EXPECT_TRUE(searches({"mpirun", "-n", "2", "job"}, "10.0.0.5:7100"));
  for (const Words& command :
       {Words{"hocket", "run", "--ranks", "2", "--", "job"},
        Words{"hocket", "run", "--servers", "0", "--", "job"},
        Words{"hocket", "run", "--ranks", "2", "--", "job", "--servers", "2"},
        Words{"run", "--servers", "2"}, Words{"job", "--servers", "2"}, Words{}})
    EXPECT_FALSE(searches(command, "")) << testing::PrintToString(command);
}

TEST(TunedSpace, KnobsOfPyTorchAreSearchedWhereHocketHandsThemOver) {
  SpaceRequest request{.params = {"HOCKET_TORCH_BUCKET_CAP_MB=choice:unset,3", "N=int:1..4"},
                       .knobs = {*find_built_in_knobs("torch")},
                       .defaults = {},
                       .constraints = {},
                       .command = {"srun", "bin/hocket", "torch", "--", "torchrun", "train.py"}};
  const auto tuned = space_of(request).value();
  ASSERT_EQ(tuned.space.parameters().size(), 5u);
  EXPECT_EQ(std::get<Choices>(tuned.space.parameters()[0].domain).names.size(), 2u);
  for (const auto& [name, value] : tuned.space.defaults()) {
    EXPECT_EQ(to_text(value), name == "N" ? "2" : "unset") << name;
  }
  EXPECT_EQ(tuned.sources.at("HOCKET_TORCH_OPTIMIZE_DDP").origin, DefaultOrigin::scheduler);
  EXPECT_EQ(tuned.knobs.size(), 4u);
  EXPECT_EQ(tuned.objective, "iteration[ms]=regex:hocket: iteration_ms=([0-9.]+)");
  request.params.clear();
  request.command = {"torchrun", "train.py"};
  const auto refused = space_of(request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("-- hocket torch -- COMMAND"));
}

TEST(TunedSpace, KnobsOfToolsHaveTheValuesThatTheJobHas) {
  SpaceRequest request{.params = {"NCCL_ALGO=Ring,Tree", "N=int:1..4"},
                       .knobs = {*find_built_in_knobs("nccl"), *find_built_in_knobs("megatron")},
                       .defaults = {"NCCL_BUFFSIZE=8M"},
                       .constraints = {"N<=3"},
                       .command = {"env", "NCCL_PROTO=LL", "pretrain.py", "--overlap-grad-reduce"}};
  request.surroundings.variable = [](const std::string& name) {
    return name == "NCCL_MAX_CTAS" ? std::optional<std::string>("16") : std::nullopt;
  };
  const auto tuned = space_of(request).value();
  const Params defaults = tuned.space.defaults();
  EXPECT_EQ(to_text(defaults.at("NCCL_MAX_CTAS")), "16");
  EXPECT_EQ(tuned.sources.at("NCCL_MAX_CTAS").origin, DefaultOrigin::given);
  EXPECT_EQ(tuned.sources.at("NCCL_MIN_CTAS").origin, DefaultOrigin::scheduler);
  EXPECT_EQ(to_text(defaults.at("megatron.overlap_grad_reduce")), "on");
  EXPECT_EQ(to_text(defaults.at("NCCL_BUFFSIZE")), "8388608");
  EXPECT_EQ(to_text(defaults.at("NCCL_ALGO")), "Ring") << "a range of one's own";
  EXPECT_FALSE(defaults.contains("NCCL_PROTO"));
  EXPECT_FALSE(defaults.contains("megatron.overlap_param_gather"));
  EXPECT_THAT(tuned.notes,
              ::testing::Contains(HasSubstr("NCCL_PROTO is not searched: the command sets")));
  EXPECT_TRUE(tuned.knobs.contains("NCCL_ALGO"));
  EXPECT_FALSE(tuned.knobs.contains("N"));
  Params crossed = defaults;
  crossed["NCCL_MIN_CTAS"] = std::int64_t{32};
  EXPECT_FALSE(tuned.space.allows(crossed)) << "the file's constraints hold";
  EXPECT_EQ(tuned.objective, "");
}

TEST(TunedSpace, AKnobNeedsAFileThatSaysWhereItIsSet) {
  const auto refused = space_of(
      {.params = {"mine.size=int:1..4"}, .defaults = {}, .constraints = {}, .command = {"job"}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("add --knobs mine or --knobs FILE"));
  SpaceRequest none{.params = {},
                    .knobs = {*find_built_in_knobs("deepspeed")},
                    .defaults = {},
                    .constraints = {},
                    .command = {"job"}};
  EXPECT_THAT(space_of(none).error().message,
              HasSubstr("nothing is left to search; deepspeed.zero_optimization."));
}

TEST(TunedSpace, TakesEachDefaultFromWhereItIsKnown) {
  const TemporaryFolder folder;
  const std::string script = folder.write("train.py",
                                          "p.add_argument('--a', default=21)\n"
                                          "p.add_argument('--b', default=22)\n"
                                          "p.add_argument('--c', default=23)\n"
                                          "p.add_argument('--far', default=1000)\n");
  const auto tuned = space_of({.params = {"A=int:1..64", "B=int:1..64", "C=int:1..64",
                                          "FAR=int:1..64", "D=choice:x,y", "streams"},
                               .defaults = {"A=31"},
                               .constraints = {},
                               .command = {"python3", script, "--a", "{A}", "--b={B}", "--c", "{C}",
                                           "--far", "{FAR}", "{D}"},
                               .environment = variables});
  ASSERT_TRUE(tuned) << tuned.error().message;
  const Params defaults = tuned->space.defaults();
  EXPECT_EQ(defaults.at("A"), ParameterValue(std::int64_t{31}));
  EXPECT_EQ(defaults.at("B"), ParameterValue(std::int64_t{12}));
  EXPECT_EQ(defaults.at("C"), ParameterValue(std::int64_t{23}));
  EXPECT_EQ(defaults.at("FAR"), ParameterValue(std::int64_t{32}));
  EXPECT_EQ(
      tuned->sources,
      (DefaultSources{{"A", {DefaultOrigin::given}},
                      {"B", {DefaultOrigin::environment}},
                      {"C", {DefaultOrigin::script, "train.py"}},
                      {"D", {DefaultOrigin::assumed}},
                      {"FAR", {DefaultOrigin::assumed, "train.py has 1000, which is not searched"}},
                      {"streams", {DefaultOrigin::scheduler}}}));
}

TEST(TunedSpace, AKnobKeepsItsDefaultWithinARangeOfOnesOwn) {
  const auto tuned =
      space_of({.params = {"partition_bytes=int:1M..64M:log", "streams=int:2..8", "credit_bytes"},
                .defaults = {},
                .constraints = {},
                .command = {"job"}});
  ASSERT_TRUE(tuned) << tuned.error().message;
  const Params defaults = tuned->space.defaults();
  EXPECT_EQ(defaults.at("partition_bytes"), ParameterValue(ScheduleConfig{}.partition_bytes));
  EXPECT_EQ(defaults.at("credit_bytes"), ParameterValue(ScheduleConfig{}.credit_bytes));
  // A range without the default has its middle, of which it is said that nobody gave it.
  EXPECT_EQ(defaults.at("streams"), ParameterValue(std::int64_t{5}));
  EXPECT_EQ(tuned->sources, (DefaultSources{{"partition_bytes", {DefaultOrigin::scheduler}},
                                            {"credit_bytes", {DefaultOrigin::scheduler}},
                                            {"streams", {DefaultOrigin::assumed}}}));
}

TEST(TunedSpace, TheEnvironmentIsAskedOnlyWhereItShall) {
  const auto tuned =
      space_of({.params = {"A=int:1..64"}, .defaults = {}, .constraints = {}, .command = {"job"}});
  EXPECT_EQ(tuned->sources.at("A").origin, DefaultOrigin::assumed);
  SpaceRequest outside{.params = {"OUT=int:1..64"},
                       .defaults = {},
                       .constraints = {},
                       .command = {"job"},
                       .environment = variables};
  EXPECT_THAT(space_of(outside).error().message,
              HasSubstr("--default-from-env: default of OUT: expected an integer from 1 to 64"));
  outside.defaults = {"OUT=3"};
  EXPECT_TRUE(space_of(outside));
}

}  // namespace
}  // namespace hocket
