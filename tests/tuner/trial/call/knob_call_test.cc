#include "tuner/trial/call/knob_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "tests/temporary_folder.h"
#include "tuner/space/built_in_knobs.h"
#include "tuner/space/job_value.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Words = std::vector<std::string>;

/// Variables and files of a job.
struct Job {
  Words command;
  std::map<std::string, std::string> variables = {}, files = {};

  KnobSurroundings surroundings() const {
    return {[this](const std::string& name) -> std::optional<std::string> {
              const auto found = variables.find(name);
              return found == variables.end() ? std::nullopt : std::optional(found->second);
            },
            [this](const std::string& path) -> Result<std::string> {
              const auto found = files.find(path);
              if (found == files.end()) return failure(ErrorCode::not_found, "no file " + path);
              return found->second;
            },
            "/copies"};
  }
};

const ToolKnob& knob(const std::string& name) {
  for (const KnobFile& file : built_in_knobs())
    for (const ToolKnob& each : file.knobs)
      if (each.parameter.name == name) return each;
  ADD_FAILURE() << name;
  return built_in_knobs().front().knobs.front();
}

/// Returns the call of a job with one knob, as a study makes it.
Result<CommandCall> call_of(const Job& job, const Params& params) {
  KnobPlaces places;
  Params defaults;
  for (const auto& [name, value] : params) {
    places[name] = knob(name).place;
    const auto parameter = parameter_in(knob(name), job.command, job.surroundings());
    HOCKET_TRY(parameter);
    defaults[name] = parameter->default_value;
  }
  auto call = call_with(job.command, params);
  HOCKET_TRY(call);
  HOCKET_TRY(apply_knobs(places, job.command, params, defaults, job.surroundings(), *call));
  return call;
}

std::string default_of(const std::string& name, const Job& job) {
  const auto parameter = parameter_in(knob(name), job.command, job.surroundings());
  return parameter ? to_text(parameter->default_value) : parameter.error().message;
}

constexpr const char* kScheduler = "xla.xla_gpu_enable_latency_hiding_scheduler";
constexpr const char* kCombine = "xla.xla_gpu_all_reduce_combine_threshold_bytes";
constexpr const char* kBucket = "deepspeed.zero_optimization.reduce_bucket_size";
constexpr const char* kOverlap = "deepspeed.zero_optimization.overlap_comm";
constexpr std::int64_t kMiB = 1 << 20;

TEST(KnobCall, TheDefaultIsTheCommandAsItIs) {
  const Job job{.command = {"train", "--deepspeed_config", "ds.json"},
                .files = {{"ds.json", R"({"zero_optimization":{"stage":2}})"}}};
  Params params;
  for (const KnobFile& file : built_in_knobs()) {
    for (const ToolKnob& each : file.knobs)
      if (each.needs.empty()) params[each.parameter.name] = each.parameter.default_value;
  }
  const auto call = call_of(job, params).value();
  EXPECT_EQ(call.argv, job.command);
  EXPECT_THAT(call.environment, IsEmpty());
  EXPECT_THAT(call.absent, IsEmpty());
  EXPECT_THAT(call.files, IsEmpty());
}

TEST(KnobCall, AVariableIsSetBesideTheUsersOwn) {
  const Job plain{.command = {"train"}};
  const auto call = call_of(plain, {{"NCCL_BUFFSIZE", std::int64_t{8 * kMiB}}}).value();
  EXPECT_THAT(call.environment, ElementsAre(Pair("NCCL_BUFFSIZE", "8388608")));
  const Job own{.command = {"train"}, .variables = {{"NCCL_BUFFSIZE", "1048576"}}};
  EXPECT_EQ(default_of("NCCL_BUFFSIZE", own), "1048576");
  // The tool's own default differs from the user's, so it is set like any other value.
  EXPECT_THAT(call_of(own, {{"NCCL_BUFFSIZE", std::int64_t{4 * kMiB}}})->environment,
              ElementsAre(Pair("NCCL_BUFFSIZE", "4194304")));
  EXPECT_THAT(call_of(own, {{"NCCL_BUFFSIZE", std::int64_t{kMiB}}})->environment, IsEmpty());
}

TEST(KnobCall, AValueOfTheUsersBetweenTwoLevelsIsOneAndOthersAreLeftAlone) {
  const auto with = [](const std::string& text) {
    return default_of("NCCL_BUFFSIZE",
                      {.command = {"train"}, .variables = {{"NCCL_BUFFSIZE", text}}});
  };
  EXPECT_EQ(with("3000000"), "3000000");
  EXPECT_THAT(with("1"), HasSubstr("the job has 1, which is not searched"));
  EXPECT_THAT(with("much"), HasSubstr("which is not searched"));
  EXPECT_THAT(
      default_of("NCCL_PROTO", {.command = {"train"}, .variables = {{"NCCL_PROTO", "^LL"}}}),
      HasSubstr("the job has ^LL, which is not searched"));
}

TEST(KnobCall, WhatTheCommandSetsItselfIsLeftAlone) {
  for (const Words& command : std::vector<Words>{{"env", "NCCL_ALGO=Ring", "train"},
                                                 {"mpirun", "-x", "NCCL_ALGO=Ring", "train"},
                                                 {"sh", "-c", "cd x; NCCL_ALGO=Ring ./train"}})
    EXPECT_THAT(default_of("NCCL_ALGO", {.command = command}),
                HasSubstr("the command sets NCCL_ALGO itself"));
  EXPECT_EQ(default_of("NCCL_ALGO", {.command = {"env", "MY_NCCL_ALGO=Ring", "train"}}), "unset");
  EXPECT_THAT(default_of(kScheduler, {.command = {"env", "XLA_FLAGS=--x", "train"}}),
              HasSubstr("the command sets XLA_FLAGS itself"));
}

TEST(KnobCall, AFlagComesBehindThoseOfTheUser) {
  const Job job{.command = {"train"}, .variables = {{"XLA_FLAGS", " --xla_dump_to=/d  --a=1 "}}};
  const auto call =
      call_of(job, {{kScheduler, std::string("on")}, {kCombine, std::int64_t{kMiB}}}).value();
  EXPECT_THAT(call.environment,
              ElementsAre(Pair("XLA_FLAGS",
                               "--xla_dump_to=/d --a=1 "
                               "--xla_gpu_all_reduce_combine_threshold_bytes=1048576 "
                               "--xla_gpu_enable_latency_hiding_scheduler=true")));
}

TEST(KnobCall, AFlagOfTheUserIsTheDefaultAndIsReplaced) {
  const std::string own = "--xla_gpu_enable_latency_hiding_scheduler";
  for (const std::string& flags : {own, own + "=true", own + "=1", own + "=false " + own})
    EXPECT_EQ(default_of(kScheduler, {.command = {"t"}, .variables = {{"XLA_FLAGS", flags}}}),
              "on");
  const Job job{.command = {"t"}, .variables = {{"XLA_FLAGS", own + "=true --b"}}};
  EXPECT_THAT(call_of(job, {{kScheduler, std::string("on")}})->environment, IsEmpty());
  EXPECT_THAT(call_of(job, {{kScheduler, std::string("off")}})->environment,
              ElementsAre(Pair("XLA_FLAGS", "--b " + own + "=false")));
  EXPECT_THAT(default_of(kScheduler, {.command = {"t"}, .variables = {{"XLA_FLAGS", "/a/file"}}}),
              HasSubstr("XLA_FLAGS names a file, /a/file"));
  EXPECT_THAT(default_of(kScheduler, {.command = {"t"}, .variables = {{"XLA_FLAGS", "--a='b c'"}}}),
              HasSubstr("quotes"));
}

TEST(KnobCall, AnOptionIsWrittenAtTheEnd) {
  const Job job{.command = {"torchrun", "pretrain.py", "--use-distributed-optimizer"}};
  const auto call = call_of(job, {{"megatron.overlap_grad_reduce", std::string("on")},
                                  {"megatron.overlap_param_gather", std::string("on")},
                                  {"megatron.ddp_bucket_size", std::string("40000000")}})
                        .value();
  EXPECT_THAT(call.argv, ElementsAre("torchrun", "pretrain.py", "--use-distributed-optimizer",
                                     "--ddp-bucket-size", "40000000", "--overlap-grad-reduce",
                                     "--overlap-param-gather"));
  EXPECT_THAT(call.environment, IsEmpty());
  EXPECT_THAT(default_of("megatron.overlap_param_gather", {.command = {"torchrun", "pretrain.py"}}),
              HasSubstr("it needs --use-distributed-optimizer or --use-megatron-fsdp"));
}

TEST(KnobCall, AnOptionOfTheUserIsTheDefaultAndIsReplaced) {
  const Job job{.command = {"p.py", "--ddp-bucket-size", "5000000", "--overlap-grad-reduce", "x"}};
  EXPECT_EQ(default_of("megatron.ddp_bucket_size", job), "5000000");
  EXPECT_EQ(default_of("megatron.overlap_grad_reduce", job), "on");
  EXPECT_EQ(call_of(job, {{"megatron.ddp_bucket_size", std::string("5000000")}})->argv,
            job.command);
  EXPECT_THAT(call_of(job, {{"megatron.ddp_bucket_size", std::string("unset")},
                            {"megatron.overlap_grad_reduce", std::string("off")}})
                  ->argv,
              ElementsAre("p.py", "x"));
  const Job equals{.command = {"p.py", "--ddp-bucket-size=5000000"}};
  EXPECT_THAT(call_of(equals, {{"megatron.ddp_bucket_size", std::string("10000000")}})->argv,
              ElementsAre("p.py", "--ddp-bucket-size", "10000000"));
  EXPECT_THAT(default_of("megatron.overlap_grad_reduce", {.command = {"bash", "-lc", "p.py"}}),
              HasSubstr("a text for a shell"));
}

TEST(KnobCall, AKnobWithAPlaceholderStandsThereAlone) {
  const Job job{.command = {"sh", "-c", "p.py --ddp-bucket-size={megatron.ddp_bucket_size}"}};
  EXPECT_THAT(call_of(job, {{"megatron.ddp_bucket_size", std::string("10000000")}})->argv,
              ElementsAre("sh", "-c", "p.py --ddp-bucket-size=10000000"));
}

TEST(KnobCall, AFieldIsSetInACopyOfTheDocument) {
  const std::string text =
      R"({"train_batch_size":8,"zero_optimization":{"stage":2,"reduce_bucket_size":5e7}})";
  const Params params = {{kBucket, std::int64_t{200'000'000}}, {kOverlap, std::string("on")}};
  const json changed = {
      {"train_batch_size", 8},
      {"zero_optimization",
       {{"stage", 2}, {"reduce_bucket_size", 200'000'000}, {"overlap_comm", true}}}};
  const std::string copy = "/copies/knobs-ds.json";
  for (const auto& [command, called] : std::vector<std::pair<Words, Words>>{
           {{"t", "--deepspeed_config", "c/ds.json"}, {"t", "--deepspeed_config", copy}},
           {{"t", "--deepspeed_config=c/ds.json"}, {"t", "--deepspeed_config=" + copy}},
           {{"t", "--deepspeed", "c/ds.json", "x"}, {"t", "--deepspeed", copy, "x"}},
           {{"t", "--deepspeed", "--deepspeed_config", "c/ds.json"},
            {"t", "--deepspeed", "--deepspeed_config", copy}}}) {
    const Job job{.command = command, .files = {{"c/ds.json", text}}};
    const auto call = call_of(job, params);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->argv, called);
    ASSERT_THAT(call->files, ElementsAre(Pair(copy, ::testing::_)));
    EXPECT_EQ(json::parse(call->files.at(copy)), changed);
    EXPECT_EQ(default_of(kBucket, job), "50000000");
  }
}

TEST(KnobCall, AFieldThatAFrameworkComputesStaysOrIsReplaced) {
  const Job job{.command = {"t", "--deepspeed", "ds.json"},
                .files = {{"ds.json", R"({"zero_optimization":{"reduce_bucket_size":"auto"}})"}}};
  EXPECT_EQ(default_of(kBucket, job), "unset");
  EXPECT_THAT(call_of(job, {{kBucket, std::string("unset")}})->files, IsEmpty());
  const auto call = call_of(job, {{kBucket, std::string("5000000")}}).value();
  EXPECT_EQ(json::parse(call.files.begin()->second)["zero_optimization"]["reduce_bucket_size"],
            5'000'000);
}

TEST(KnobCall, ADocumentThatCannotBeReadOrHasNoPlaceIsAnError) {
  const auto with = [](const std::string& text) {
    return default_of(kBucket,
                      {.command = {"t", "--deepspeed", "ds.json"}, .files = {{"ds.json", text}}});
  };
  EXPECT_THAT(with("{"), HasSubstr("ds.json"));
  EXPECT_THAT(with("[]"), HasSubstr("ds.json"));
  EXPECT_THAT(with(R"({"zero_optimization":true})"), HasSubstr("has no object where"));
  EXPECT_THAT(with(R"({"zero_optimization":{"reduce_bucket_size":[1]}})"),
              HasSubstr("no single value"));
  EXPECT_THAT(default_of(kBucket, {.command = {"t", "--deepspeed", "ds.json"}}), "no file ds.json");
  EXPECT_THAT(default_of(kBucket, {.command = {"t", "--deepspeed"}}),
              HasSubstr("names no JSON document by --deepspeed_config FILE or --deepspeed FILE"));
}

TEST(KnobCall, FilesAreForTheirOwnerAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("knobs-ds.json");
  ASSERT_TRUE(write_files({.argv = {}, .environment = {}, .files = {{path, "{}\n"}}}));
  EXPECT_EQ(read_file(path).value(), "{}\n");
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(KnobCall, ReadsTheEnvironmentAndTheFolderOfTheCommand) {
  const TemporaryFolder folder;
  folder.write("ds.json", R"({"zero_optimization":{"overlap_comm":false}})");
  const auto surroundings = surroundings_of(folder.path(), "");
  const auto parameter =
      parameter_in(knob(kOverlap), {"t", "--deepspeed", "ds.json"}, surroundings);
  ASSERT_TRUE(parameter) << parameter.error().message;
  EXPECT_EQ(to_text(parameter->default_value), "off");
  EXPECT_EQ(surroundings.variable("HOME").has_value(), std::getenv("HOME") != nullptr);
}

}  // namespace
}  // namespace hocket
