#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive/profiles/load_profile.h"
#include "capi/hocket_client.h"
#include "store/open.h"
#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// A client of a job of two ranks, and the traces that PyTorch wrote of two steps.
class HocketTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.size = sizeof options_;
    options_.workload_name = "resnet";
    options_.world_size = 2;
    client_ = open();
  }
  void TearDown() override { EXPECT_EQ(hocket_client_close(client_), 0); }

  hocket_client* open() const {
    hocket_client* const client = hocket_client_open(&options_);
    EXPECT_NE(client, nullptr) << hocket_error();
    return client;
  }

  int save(const std::vector<const char*>& files, const char* config_json = nullptr) const {
    return hocket_client_save_traces(client_, files.data(), files.size(), config_json);
  }
  std::vector<ProfileRow> profiles() const {
    return must(must(open_store(folder_.file("store.db")))->profiles());
  }

  TemporaryFolder folder_;
  const ScopedEnvironment store_{"HOCKET_STORE", folder_.file("store.db").c_str()};
  const ScopedEnvironment daemon_{"HOCKET_DAEMON", nullptr}, config_{"HOCKET_CONFIG", nullptr};
  hocket_client_options options_ = {};
  hocket_client* client_ = nullptr;
  const char* const rank_0_ = HOCKET_PYTORCH_RECORDED "/rank-0.json";
  const char* const rank_1_ = HOCKET_PYTORCH_RECORDED "/rank-1.json";
};

TEST_F(HocketTraces, AllRanksTracesAreOneProfileOfTheJob) {
  ASSERT_EQ(save({rank_0_, rank_1_}), 0) << hocket_error();
  const auto rows = profiles();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0].name, StartsWith("resnet-"));
  const auto store = must(open_store(folder_.file("store.db")));
  EXPECT_EQ(rows[0].workload_id, must(store->workloads("resnet")).at(0).id)
      << "hocket profile --wait looks for the job's workload";
  const auto loaded = must(load_profile(rows[0]));
  ASSERT_THAT(loaded.traces, SizeIs(2));
  EXPECT_EQ(loaded.traces[0].rank, 0);
  EXPECT_EQ(loaded.traces[1].rank, 1);
  EXPECT_THAT(must(store->profile_iterations(rows[0].id)), SizeIs(4)) << "two of each rank";
}

TEST_F(HocketTraces, ARankWithoutATraceIsMissingWithTheReason) {
  const std::string broken = folder_.write("broken.json", "{\"traceEvents\": 7");
  ASSERT_EQ(save({rank_0_, broken.c_str()}), 0) << hocket_error();
  ASSERT_EQ(save({nullptr, rank_1_}), 0) << hocket_error();
  const auto rows = profiles();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(notes_of(rows[0]), Contains(HasSubstr("rank 1 has no trace: nothing in it")));
  EXPECT_THAT(notes_of(rows[1]), Contains(HasSubstr("rank 0 has no trace: it recorded none")));
  const auto loaded = must(load_profile(rows[1]));
  ASSERT_THAT(loaded.traces, SizeIs(1));
  EXPECT_EQ(loaded.traces[0].rank, 1);
}

TEST_F(HocketTraces, NotesNameTheRankAndNoFileThatIsGone) {
  const std::string list = folder_.write(
      "list.json",
      R"([{"name":"aten::mm","ph":"X","ts":200,"dur":10,"tid":1,"pid":"CPU functions"}])");
  ASSERT_EQ(save({rank_0_, list.c_str()}), 0) << hocket_error();
  const auto notes = notes_of(profiles().at(0));
  EXPECT_THAT(notes, Contains("rank 0: left out: 1 events of category trace"));
  EXPECT_THAT(notes, Contains(StartsWith("rank 1: no steps were found")));
  EXPECT_THAT(notes, Not(Contains(HasSubstr("taken for rank 0"))));
  EXPECT_THAT(notes, Not(Contains(HasSubstr("list.json"))));
}

TEST_F(HocketTraces, TheConfigurationIsThatOfTheStepsWhereItIsNoDefault) {
  const char* const config =
      R"({"format":"hocket-schedule","version":1,"streams":3,"a_newer_knob":{"x":1}})";
  ASSERT_EQ(save({rank_0_, rank_1_}, config), 0) << hocket_error();
  const auto store = must(open_store(folder_.file("store.db")));
  const auto shown = must(store->profile(profiles().at(0).name)).config;
  EXPECT_EQ(shown["streams"], 3);
  EXPECT_FALSE(shown.contains("a_newer_knob"));
  EXPECT_GT(shown["credit_bytes"], 1 << 30)
      << "nothing in the trace limits it, as the default does";
}

TEST_F(HocketTraces, WhatMakesNoSenseIsRefusedAndSavesNothing) {
  EXPECT_EQ(hocket_client_save_traces(nullptr, &rank_0_, 1, nullptr), -1);
  EXPECT_EQ(hocket_client_save_traces(client_, nullptr, 2, nullptr), -1);
  EXPECT_EQ(save({rank_0_}), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("there are 1 files, one for each of 2 ranks is needed"));
  EXPECT_EQ(save({nullptr, nullptr}), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("there is no trace: rank 0: it recorded none"));
  EXPECT_EQ(save({rank_0_, rank_1_}, "{"), -1);
  EXPECT_THAT(hocket_error(), StartsWith("config_json: "));
  options_.rank = 1;
  const std::string config = hocket_client_config(client_);
  options_.config_json = config.c_str();
  hocket_client* const other = open();
  const char* const files[] = {rank_0_, rank_1_};
  EXPECT_EQ(hocket_client_save_traces(other, files, 2, nullptr), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("rank 0 saves"));
  EXPECT_EQ(hocket_client_close(other), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("store.db")) && !profiles().empty());
}

}  // namespace
}  // namespace hocket
