// Tests the declared knobs of other tools, in each way in which they reach a job: from hocket tune
// --knobs to hocket with, and hocket knobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class TuneKnobs : public ::testing::Test {
 protected:
  /// Writes a job that prints what reaches it, and takes 10 where that matches, else 30.
  void write_job(const std::string& fast) const {
    std::ofstream(folder_.file("job.sh"))
        << "seen=\"algo=${NCCL_ALGO-absent} flags=${XLA_FLAGS-absent} words=$*\"\n"
           "case $2 in *.json) seen=\"$seen document=$(tr -d ' \\n' < $2)\";; esac\n"
           "echo \"$seen\"\n"
           "case $seen in "
        << fast << ") echo t=10;; *) echo t=30;; esac\n";
  }

  Ended tune(Words options, const Words& words = {}) const {
    options.insert(options.begin(), {"tune", "--study", "k", "--objective", "regex:t=([0-9]+)",
                                     "--method", "grid", "--all-trials", "--confirm", "2"});
    options.insert(options.end(), {"--", "sh", "job.sh"});
    options.insert(options.end(), words.begin(), words.end());
    return hocket_run(folder_, options, environment_);
  }

  std::string first_log() const {
    return hocket_run(folder_, {"trials", "k", "--log", "1"}, environment_).out;
  }

  Ended with(const Words& words = {}, const Words& options = {}) const {
    Words arguments = {"with"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "sh", "job.sh"});
    arguments.insert(arguments.end(), words.begin(), words.end());
    return hocket_run(folder_, arguments, environment_);
  }

  /// Writes a file with one knob of the tool "mine".
  std::string write_knobs(const std::string& name) const {
    const nlohmann::json knob = {{"name", "size"},   {"as", "--size"},    {"set", "one"},
                                 {"type", "levels"}, {"levels", {1, 2}},  {"default", 1},
                                 {"about", "Size."}, {"source", "job.sh"}};
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    std::ofstream(folder_.file(name)) << nlohmann::json{
        {"format", "hocket-knobs"}, {"version", 1},         {"tool", "mine"}, {"about", "My job"},
        {"way", "argument"},        {"unknown", "refused"}, {"knobs", {knob}}};
    return folder_.file(name);
  }

  TemporaryFolder folder_;
  Program::Environment environment_ = {{"XDG_CONFIG_HOME", folder_.file("config")}};
};

TEST_F(TuneKnobs, OfAVariableReachTrialsAndLaterJobs) {
  write_job("*algo=Ring\\ *");
  const auto ended = tune({"--trials", "16", "--knobs", "nccl:algorithm@2.17"});
  ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
  EXPECT_THAT(first_log(), HasSubstr("algo=absent flags=absent words=\n"));
  EXPECT_THAT(ended.out, HasSubstr("NCCL_ALGO=Ring"));
  EXPECT_THAT(ended.out, Not(HasSubstr("NCCL_PAT_ENABLE"))) << "2.17 does not have it";
  EXPECT_THAT(ended.out, HasSubstr("run with it: hocket with"));
  EXPECT_THAT(with().out, HasSubstr("algo=Ring flags=absent words=\n"));
}

TEST_F(TuneKnobs, OfAVariableOfFlagsComeBehindTheUsersOwn) {
  environment_["XLA_FLAGS"] = "--mine=1";
  write_job("*mine=1\\ --xla_gpu_enable_latency_hiding_scheduler=true*");
  const auto ended = tune({"--trials", "4", "--knobs", "xla:overlap@0.4.30"});
  ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
  EXPECT_THAT(first_log(), HasSubstr("flags=--mine=1 words=\n"));
  EXPECT_THAT(with().out,
              HasSubstr("flags=--mine=1 --xla_gpu_enable_latency_hiding_scheduler=true"));
  const auto fetched =
      hocket_run(folder_, {"fetch", "--format", "env", "--", "sh", "job.sh"}, environment_);
  EXPECT_EQ(fetched.status, 2);
  EXPECT_THAT(fetched.err, HasSubstr("`hocket with` gives it to the command"));
}

TEST_F(TuneKnobs, OfTheCommandAreItsOptions) {
  write_job("*--ddp-bucket-size*5000000*overlap-grad-reduce*");
  const auto ended = tune({"--trials", "9", "--knobs", "megatron:ddp"}, {"train"});
  ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("note: megatron.overlap_param_gather is not searched: it needs "
                                   "--use-distributed-optimizer"));
  EXPECT_THAT(first_log(), HasSubstr("words=train\n"));
  EXPECT_THAT(with({"train"}).out,
              HasSubstr("words=train --ddp-bucket-size 5000000 --overlap-grad-reduce\n"));
  // A user who has since chosen another value keeps it.
  const auto other = with({"train", "--ddp-bucket-size", "7"});
  EXPECT_THAT(other.out, HasSubstr("words=train --ddp-bucket-size 7 --overlap-grad-reduce\n"));
  EXPECT_THAT(other.err, HasSubstr("megatron.ddp_bucket_size is not applied: the job has 7"));
}

TEST_F(TuneKnobs, OfADocumentAreSetInACopy) {
  std::ofstream(folder_.file("ds.json")) << R"({"zero_optimization":{"stage":2}})";
  write_job("*overlap_comm*true*");
  const Words words = {"--deepspeed_config", "ds.json"};
  const auto ended = tune({"--trials", "3", "--knobs", "deepspeed:overlap"}, words);
  ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
  EXPECT_THAT(first_log(), HasSubstr("words=--deepspeed_config ds.json "
                                     "document={\"zero_optimization\":{\"stage\":2}}"));
  EXPECT_THAT(with(words).out,
              AllOf(HasSubstr("knobs-ds.json document="), HasSubstr("\"overlap_comm\":true")));
  // Without a place for the copy the job starts all the same.
  environment_["TMPDIR"] = folder_.file("no folder");
  const auto without = with(words);
  EXPECT_THAT(without.out, HasSubstr("words=--deepspeed_config ds.json "));
  EXPECT_THAT(without.err, HasSubstr("the command runs as it is"));
}

TEST_F(TuneKnobs, AreSetByASettingOnlyWhereAFileDeclaresThem) {
  const std::string path = write_knobs("mine.json");
  write_job("*words=--size\\ 2");
  const auto ended = tune({"--trials", "2", "--knobs", path});
  ASSERT_EQ(ended.status, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("run with it: hocket with --knobs " + path));
  EXPECT_THAT(with({}, {"--knobs", path}).out, HasSubstr("words=--size 2\n"));
  const auto unknown = with();
  EXPECT_THAT(unknown.out, HasSubstr("words=\n")) << "the job runs as it is";
  EXPECT_THAT(unknown.err, HasSubstr("mine.size is no knob of any tool that is known here"));
  write_knobs("config/hocket/knobs/mine.json");
  EXPECT_THAT(with().out, HasSubstr("words=--size 2\n"));
}

TEST_F(TuneKnobs, AreListedWithTheUsersOwn) {
  const auto run = [&](Words words) {
    words.insert(words.begin(), "knobs");
    return hocket_run(folder_, words, environment_);
  };
  write_knobs("config/hocket/knobs/mine.json");
  std::ofstream(folder_.file("config/hocket/knobs/bad.json")) << "{}";
  const auto listed = run({"list", "--json"});
  EXPECT_THAT(listed.err, HasSubstr("not read: "));
  std::map<std::string, nlohmann::json> tools;
  const nlohmann::json document = listed.json();
  for (const auto& tool : document.at("tools")) tools[tool.at("tool")] = tool;
  EXPECT_EQ(tools.size(), 6u);
  EXPECT_EQ(tools.at("mine").at("knobs"), 1);
  EXPECT_TRUE(tools.at("nccl").at("file").is_null());
  EXPECT_THAT(run({"list"}).out, HasSubstr("config/hocket/knobs/mine.json"));
  EXPECT_THAT(run({"show", "nccl:net"}).out,
              AllOf(HasSubstr("NCCL_SOCKET_NTHREADS"), HasSubstr("https://github.com/NVIDIA/nccl"),
                    Not(HasSubstr("NCCL_BUFFSIZE"))));
  EXPECT_EQ(run({"show", "mine", "--json"}).json().at("knobs").at(0).at("as"), "--size");
  const auto unknown = run({"show", "ncl"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"nccl\""));
}

}  // namespace
}  // namespace hocket
