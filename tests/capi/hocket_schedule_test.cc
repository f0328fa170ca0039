#include "capi/hocket_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/host/local_collective.h"
#include "store/open.h"
#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kLongNs = 60'000'000'000;

std::string config_json(const char* order, int partition_bytes = 4096, int credit_bytes = 16384) {
  return nlohmann::json{{"format", "hocket-schedule"},
                        {"version", 1},
                        {"order", order},
                        {"partition_bytes", partition_bytes},
                        {"credit_bytes", credit_bytes},
                        {"comm_channels", 2}}
      .dump();
}

/// A rank of a framework in C: a thread computes, others sum the parts over the ranks.
class FrameworkRank {
 public:
  FrameworkRank(int rank, int ranks, std::unique_ptr<Collective> messages,
                const std::vector<std::size_t>& sizes, const std::string& config,
                const char* step = nullptr)
      : rank_(rank), messages_(std::move(messages)) {
    hocket_schedule_options options = {};
    options.size = sizeof options;
    options.rank = rank;
    options.world_size = ranks;
    options.config_json = config.c_str();
    options.step_json = step;
    options.broadcast = [](void* bytes, std::size_t size, void* context) {
      return static_cast<FrameworkRank*>(context)->broadcast(static_cast<char*>(bytes), size);
    };
    options.broadcast_timeout_ns = 1'000'000'000;
    options.context = this;
    schedule_ = hocket_schedule_open(&options);
    EXPECT_NE(schedule_, nullptr) << hocket_error();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string name = "t" + std::to_string(i);
      hocket_schedule_tensor tensor = {};
      tensor.size = sizeof tensor;
      tensor.name = name.c_str();
      tensor.bytes = static_cast<std::int64_t>(sizes[i] * sizeof(float));
      tensor.priority = static_cast<std::int64_t>(i);
      EXPECT_EQ(hocket_schedule_add(schedule_, &tensor), static_cast<std::int64_t>(i));
      values_.emplace_back(sizes[i]);
    }
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { communicate(); });
  }
  ~FrameworkRank() {
    EXPECT_EQ(hocket_schedule_stop(schedule_), 0);
    threads_.clear();
    hocket_schedule_close(schedule_);
  }

  /// Trains a step: each tensor's elements are `value`, and then the sum over the ranks.
  void step(float value) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      ASSERT_EQ(hocket_schedule_wait(schedule_, number(i), kLongNs), 0) << hocket_error();
      ASSERT_EQ(hocket_schedule_enqueue(schedule_, number(i)), 0) << hocket_error();
    }
    for (std::size_t i = values_.size(); i-- > 0;) {
      std::ranges::fill(values_[i], value);
      ASSERT_EQ(hocket_schedule_notify_ready(schedule_, number(i)), 0) << hocket_error();
    }
    ASSERT_EQ(hocket_schedule_end_step(schedule_), 0) << hocket_error();
  }
  void expect_sums(float sum) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      ASSERT_EQ(hocket_schedule_wait(schedule_, number(i), kLongNs), 0) << hocket_error();
      for (const float value : values_[i]) ASSERT_EQ(value, sum) << "tensor " << i;
    }
  }

  hocket_schedule* schedule() { return schedule_; }
  Collective& messages() { return *messages_; }

 private:
  static std::int64_t number(std::size_t i) { return static_cast<std::int64_t>(i); }

  int broadcast(char* bytes, std::size_t size) {
    if (rank_ == 0) return messages_->tell({bytes, size}) ? 0 : 1;
    const auto heard = messages_->hear();
    if (!heard || heard->size() != size) return 1;
    std::memcpy(bytes, heard->data(), size);
    return 0;
  }

  void communicate() {
    hocket_schedule_part part = {};
    while (hocket_schedule_next(schedule_, &part, kLongNs) == 1) {
      const std::span<float> values(
          values_[static_cast<std::size_t>(part.tensor)].data() + part.offset_bytes / 4,
          static_cast<std::size_t>(part.bytes / 4));
      const auto summed = messages_->all_reduce(values, static_cast<std::uint64_t>(part.index));
      if (!summed) {
        EXPECT_EQ(hocket_schedule_fail(schedule_, summed.error().message.c_str()), 0);
        return;
      }
      EXPECT_EQ(hocket_schedule_notify_finish(schedule_, part.index), 0) << hocket_error();
    }
  }

  const int rank_;
  const std::unique_ptr<Collective> messages_;
  hocket_schedule* schedule_ = nullptr;
  std::vector<std::vector<float>> values_;
  std::vector<std::jthread> threads_;
};

/// Runs `train(rank)` on a thread per rank.
void on_ranks(int ranks, const std::function<void(int)>& train) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&train, rank] { train(rank); });
}

TEST(HocketSchedule, SumsAreThoseOfTheRanksInEveryOrder) {
  const std::vector<std::size_t> sizes{10, 5000, 1, 20'000, 0, 3000};
  for (const char* order : {"fifo", "static", "negotiated"}) {
    for (const int ranks : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << order << ", " << ranks << " ranks");
      LocalGroup group(ranks);
      on_ranks(ranks, [&](int rank) {
        FrameworkRank self(rank, ranks, group.join(rank), sizes, config_json(order));
        for (int step = 1; step <= 4; ++step) {
          self.step(static_cast<float>(step * (rank + 1)));
          self.expect_sums(static_cast<float>(step * ranks * (ranks + 1) / 2));
        }
      });
    }
  }
}

TEST(HocketSchedule, ChangesBetweenStepsOnAllRanks) {
  constexpr int kRanks = 2;
  LocalGroup group(kRanks);
  on_ranks(kRanks, [&](int rank) {
    FrameworkRank self(rank, kRanks, group.join(rank), {4000, 9000}, config_json("fifo"));
    for (const char* order : {"negotiated", "negotiated", "fifo", "static", "fifo"}) {
      self.step(1);
      self.expect_sums(kRanks);
      const int partition_bytes = 4096 + 1000 * static_cast<int>(std::strlen(order));
      ASSERT_EQ(hocket_schedule_reconfigure(self.schedule(),
                                            config_json(order, partition_bytes).c_str(), nullptr),
                0)
          << hocket_error();
    }
    self.step(2);
    self.expect_sums(2 * kRanks);
  });
}

TEST(HocketSchedule, ARankThatIsGoneIsAnErrorOnTheOthers) {
  LocalGroup group(2, 300'000'000);
  on_ranks(2, [&](int rank) {
    FrameworkRank self(rank, 2, group.join(rank), {5000}, config_json("negotiated"));
    self.step(1);
    self.expect_sums(2);
    if (rank == 1) return;  // without a word
    ASSERT_EQ(hocket_schedule_enqueue(self.schedule(), 0), 0);
    ASSERT_EQ(hocket_schedule_notify_ready(self.schedule(), 0), 0);
    EXPECT_EQ(hocket_schedule_wait(self.schedule(), 0, kLongNs), -1);
    EXPECT_EQ(hocket_schedule_end_step(self.schedule()), -1);
  });
}

TEST(HocketSchedule, ARecordedStepIsOneToSimulateToFollowAndToStore) {
  const TemporaryFolder folder;
  const std::string store_path = folder.file("store.db");
  const ScopedEnvironment store_variable("HOCKET_STORE", store_path.c_str());
  LocalGroup group(1);
  FrameworkRank self(0, 1, group.join(0), {5000, 20'000}, config_json("fifo"));
  EXPECT_EQ(hocket_schedule_recorded_step(self.schedule()), nullptr);
  EXPECT_THAT(hocket_error(), HasSubstr("no step has ended"));
  EXPECT_EQ(hocket_schedule_record(self.schedule(), 0), -1);
  ASSERT_EQ(hocket_schedule_record(self.schedule(), 5), 0);
  for (int step = 0; step < 8; ++step) self.step(1);
  self.expect_sums(1);
  const char* const recorded = hocket_schedule_recorded_step(self.schedule());
  ASSERT_NE(recorded, nullptr) << hocket_error();
  const auto step = nlohmann::json::parse(recorded);
  EXPECT_EQ(step["format"], "hocket-step");
  EXPECT_EQ(step["tasks"].size(), 7U);
  ASSERT_EQ(hocket_schedule_reconfigure(self.schedule(), config_json("static").c_str(), recorded),
            0)
      << hocket_error();
  self.step(1);
  self.expect_sums(1);

  EXPECT_EQ(hocket_schedule_save_profile(self.schedule(), nullptr), -1);
  const hocket_tensor tensors[2] = {{"t0", 20'000}, {"t1", 80'000}};
  hocket_client_options options = {};
  options.size = sizeof options;
  options.workload_name = "framework";
  options.tensors = tensors;
  options.tensor_count = 2;
  options.world_size = 1;
  hocket_client* const client = hocket_client_open(&options);
  ASSERT_NE(client, nullptr) << hocket_error();
  EXPECT_EQ(hocket_schedule_save_profile(self.schedule(), client), 0) << hocket_error();
  hocket_client_close(client);
  const auto profiles = open_store(store_path).value()->profiles().value();
  ASSERT_EQ(profiles.size(), 1U);
  EXPECT_THAT(profiles[0].name, StartsWith("framework"));
}

TEST(HocketSchedule, RefusesWhatMakesNoSenseWithAMessage) {
  hocket_schedule_options options = {};
  const auto refusal = [&] {
    EXPECT_EQ(hocket_schedule_open(&options), nullptr);
    return std::string(hocket_error());
  };
  EXPECT_THAT(refusal(), HasSubstr("size is 0"));
  options.size = sizeof options;
  EXPECT_THAT(refusal(), HasSubstr("rank 0 of 0"));
  options.world_size = 2;
  options.rank = 2;
  EXPECT_THAT(refusal(), HasSubstr("rank 2 of 2"));
  options.rank = 0;
  options.config_json = "{";
  EXPECT_THAT(refusal(), StartsWith("config_json: "));
  const std::string negotiated = config_json("negotiated"), fixed = config_json("static");
  options.config_json = negotiated.c_str();
  EXPECT_THAT(refusal(), HasSubstr("no broadcast is lent"));
  options.config_json = fixed.c_str();
  options.step_json = "[]";
  EXPECT_THAT(refusal(), StartsWith("step_json: "));
  EXPECT_EQ(hocket_schedule_open(nullptr), nullptr);

  options.config_json = options.step_json = nullptr;
  hocket_schedule* const schedule = hocket_schedule_open(&options);
  ASSERT_NE(schedule, nullptr) << hocket_error();
  hocket_schedule_tensor tensor = {};
  EXPECT_EQ(hocket_schedule_add(schedule, &tensor), -1);
  tensor.size = sizeof tensor;
  EXPECT_EQ(hocket_schedule_add(schedule, &tensor), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("name is NULL"));
  tensor.name = "a";
  tensor.priority = -5;
  EXPECT_EQ(hocket_schedule_add(schedule, &tensor), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("priority"));
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 40}) {
    EXPECT_EQ(hocket_schedule_enqueue(schedule, number), -1);
    EXPECT_EQ(hocket_schedule_notify_ready(schedule, number), -1);
    EXPECT_EQ(hocket_schedule_wait(schedule, number, 0), -1);
    EXPECT_EQ(hocket_schedule_notify_finish(schedule, number), -1);
  }
  EXPECT_EQ(hocket_schedule_next(schedule, nullptr, 0), -1);
  EXPECT_EQ(hocket_schedule_reconfigure(schedule, "{", nullptr), -1);
  EXPECT_EQ(hocket_schedule_reconfigure(schedule, negotiated.c_str(), nullptr), -1);
  for (const auto call : {hocket_schedule_end_step, hocket_schedule_stop})
    EXPECT_EQ(call(nullptr), -1);
  hocket_schedule_part part = {};
  EXPECT_EQ(hocket_schedule_next(schedule, &part, 0), 0);
  EXPECT_EQ(hocket_schedule_stop(schedule), 0);
  EXPECT_EQ(hocket_schedule_next(schedule, &part, kLongNs), 2);
  EXPECT_EQ(hocket_schedule_recorded_step(nullptr), nullptr);
  hocket_schedule_close(nullptr);
  hocket_schedule_close(schedule);
}

TEST(HocketSchedule, NoticesBytesThatRankZeroDidNotSend) {
  hocket_schedule_options options = {};
  options.size = sizeof options;
  options.rank = 1;
  options.world_size = 2;
  const std::string config = config_json("negotiated");
  options.config_json = config.c_str();
  options.broadcast = [](void* bytes, std::size_t size, void*) {
    std::memset(bytes, 'x', size);
    return 0;
  };
  hocket_schedule* const schedule = hocket_schedule_open(&options);
  ASSERT_NE(schedule, nullptr) << hocket_error();
  hocket_schedule_part part = {};
  EXPECT_EQ(hocket_schedule_next(schedule, &part, kLongNs), -1);
  EXPECT_THAT(hocket_error(), HasSubstr("bytes that rank 0 did not send"));
  hocket_schedule_close(schedule);
}

TEST(HocketSchedule, WarnsOfKnobsWithoutAnEffect) {
  std::vector<std::string> warnings;
  hocket_schedule_options options = {};
  options.size = sizeof options;
  options.world_size = 1;
  options.context = &warnings;
  options.warn = [](const char* message, void* context) {
    static_cast<std::vector<std::string>*>(context)->emplace_back(message);
  };
  options.config_json = R"({"format":"hocket-schedule","version":1,"streams":2,"order":"fifo",
      "partition_byte":4096,"credit_bytes":4096,"job":{"cap":1}})";
  hocket_schedule* const schedule = hocket_schedule_open(&options);
  ASSERT_NE(schedule, nullptr) << hocket_error();
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("partition_byte"), HasSubstr("partition_bytes")));
  EXPECT_THAT(warnings[1], HasSubstr("\"streams\" has no effect"));
  warnings.clear();
  EXPECT_EQ(
      hocket_schedule_reconfigure(
          schedule, R"({"format":"hocket-schedule","version":1,"launch":"deferred"})", nullptr),
      0)
      << hocket_error();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("launch"));
  hocket_schedule_close(schedule);
}

// A program that was compiled before the last members existed passes a smaller size.
TEST(HocketSchedule, TakesWhatAnOlderProgramKnows) {
  hocket_schedule_options options = {};
  options.size = offsetof(hocket_schedule_options, config_json);
  options.world_size = 1;
  options.config_json = "not looked at";
  hocket_schedule* const schedule = hocket_schedule_open(&options);
  EXPECT_NE(schedule, nullptr) << hocket_error();
  hocket_schedule_close(schedule);
}

}  // namespace
}  // namespace hocket
