// Tests which sends and receives of PyTorch's traces are known and joined.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/trace/message_ends.h"
#include "core/trace/paired_collectives.h"
#include "profiler/formats/chrome_import.h"

namespace hocket {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

/// Writes one rank's file.
class RankFile {
 public:
  explicit RankFile(std::int64_t rank, std::int64_t ranks = 4)
      : head_("\"distributedInfo\":{\"rank\":" + std::to_string(rank) +
              ",\"world_size\":" + std::to_string(ranks) + "}") {}

  RankFile& without_rank() {
    head_ = "\"schemaVersion\":1";
    return *this;
  }

  RankFile& event(const std::string& name, const std::string& category, std::int64_t begin_us,
                  std::int64_t length_us, const std::string& arguments) {
    events_ += (events_.empty() ? "" : ",\n") + std::string("{\"ph\":\"X\",\"pid\":1,\"tid\":1") +
               ",\"name\":\"" + name + "\",\"cat\":\"" + category +
               "\",\"ts\":" + std::to_string(begin_us) + ",\"dur\":" + std::to_string(length_us) +
               ",\"args\":{" + arguments + "}}";
    return *this;
  }

  static std::string send_to(std::int64_t rank, const std::string& sequence = "7") {
    return "\"Collective name\":\"send\",\"In msg nelems\":250,\"dtype\":\"Float\",\"Seq\":" +
           sequence +
           ",\"Process Group Ranks\":\"[0, 1, 2, 3]\",\"Dst Rank\":" + std::to_string(rank);
  }
  static std::string receive_from(std::int64_t rank) {
    return "\"Collective name\":\"recv\",\"Out msg nelems\":250,\"dtype\":\"Float\",\"Seq\":3,"
           "\"Process Group Ranks\":\"[0, 1, 2, 3]\",\"Src Rank\":" +
           std::to_string(rank);
  }

  /// Adds a call and, unless it is one of a batch, the kernel that it launches.
  RankFile& call(std::int64_t begin_us, const std::string& says, bool launches = true) {
    const std::string id = std::to_string(++id_);
    event("record_param_comms", "cpu_op", begin_us, 10, "\"External id\":" + id + "," + says);
    if (!launches) return *this;
    event("cudaLaunchKernelExC", "cuda_runtime", begin_us + 2, 3, "\"correlation\":" + id);
    return event(kKernel, "kernel", begin_us + 20, 30,
                 "\"stream\":9,\"External id\":" + id + ",\"correlation\":" + id);
  }

  /// Adds the kernel of a batch, which no call that says something launches.
  RankFile& batch(std::int64_t begin_us) {
    return event(kKernel, "kernel", begin_us, 30,
                 "\"stream\":9,\"correlation\":" + std::to_string(1000 + ++id_));
  }

  ChromeImport read(bool rank_is_known = false) const {
    std::istringstream in("{\"schemaVersion\":1," + head_ + ",\"traceEvents\":[" + events_ + "]}");
    return read_chrome_trace(in, {.rank_is_known = rank_is_known}).value();
  }

 private:
  std::string head_, events_;
  std::int64_t id_ = 0;
};

std::vector<TraceRecord> communication(const RankTrace& trace) {
  std::vector<TraceRecord> records;
  for (const TraceRecord& record : trace.records)
    if (record.kind == TraceKind::communication) records.push_back(record);
  return records;
}

/// Returns "send 0 to 1" and the like, "-" where nothing is known.
std::vector<std::string> messages_of(const RankTrace& trace) {
  std::vector<std::string> texts;
  for (const TraceRecord& record : communication(trace)) {
    const auto ends = message_ends(trace, record);
    texts.push_back(!ends ? record.collective ? std::string(to_string(*record.collective)) : "-"
                          : std::string(to_string(*record.collective)) + " " +
                                std::to_string(ends->sender) + " to " +
                                std::to_string(ends->receiver));
  }
  return texts;
}

const auto kNotesUnknown = Contains(HasSubstr("sends and receives have no kind"));

TEST(KinetoGroups, ASendAndItsReceiveArePaired) {
  RankFile sender(0), receiver(1);
  for (const std::int64_t begin_us : {100, 200, 300}) {
    // The group's numbers count the messages with all its ranks, and differ.
    sender.call(begin_us, RankFile::send_to(1, std::to_string(begin_us)));
    receiver.call(begin_us - 50, RankFile::receive_from(0));
  }
  sender.call(400, RankFile::receive_from(1));
  receiver.call(400, RankFile::send_to(0));
  std::vector<RankTrace> traces{sender.read().traces.at(0), receiver.read().traces.at(0)};
  EXPECT_THAT(messages_of(traces[0]),
              ElementsAre("send 0 to 1", "send 0 to 1", "send 0 to 1", "receive 1 to 0"));
  EXPECT_THAT(sender.read().notes, Not(kNotesUnknown));
  for (const RankTrace& trace : traces)
    for (const TraceRecord& record : communication(trace)) EXPECT_EQ(record.bytes, 1000);
  const PairedCollectives paired(traces);
  ASSERT_EQ(paired.size(), 4U);
  for (std::size_t i = 0; i < paired.size(); ++i) {
    EXPECT_TRUE(paired.is_complete(i));
    EXPECT_TRUE(paired.is_alike(i));
  }
}

TEST(KinetoGroups, KernelsThatSayTheRanksThemselvesAreKnown) {
  RankFile file(2);
  file.event(kKernel, "kernel", 100, 30, "\"stream\":9," + RankFile::send_to(3));
  file.event(kKernel, "kernel", 200, 30, "\"stream\":9," + RankFile::receive_from(1));
  EXPECT_THAT(messages_of(file.read().traces.at(0)), ElementsAre("send 2 to 3", "receive 1 to 2"));
}

TEST(KinetoGroups, AKernelOfABatchIsNoneOfItsMessages) {
  RankFile file(1);
  file.call(100, RankFile::send_to(2), false)
      .call(111, RankFile::receive_from(0), false)
      .batch(130);
  const ChromeImport read = file.read();
  EXPECT_THAT(messages_of(read.traces.at(0)), ElementsAre("-"));
  EXPECT_THAT(read.notes, Contains(HasSubstr("1 sends and receives have no kind")));
}

TEST(KinetoGroups, ABatchLeavesTheOtherMessagesOfItsDirectionsWithoutNumbers) {
  RankFile file(1);
  file.call(100, RankFile::send_to(2), false)
      .call(111, RankFile::receive_from(0), false)
      .batch(130);
  file.call(200, RankFile::send_to(2)).call(300, RankFile::send_to(3));
  EXPECT_THAT(messages_of(file.read().traces.at(0)), ElementsAre("-", "-", "send 1 to 3"));
}

TEST(KinetoGroups, RanksThatCannotBeLeaveAMessageUnknown) {
  for (const char* peer :
       {"1", "4", "-1", "99999999999999999999", "\"x\"", "null", "9223372036854775807", "1.5"}) {
    SCOPED_TRACE(peer);
    RankFile file(1);
    std::string says = RankFile::send_to(2);
    says.replace(says.rfind('2'), 1, peer);
    const ChromeImport read = file.call(100, says).read();
    EXPECT_THAT(messages_of(read.traces.at(0)), ElementsAre("-"));
    EXPECT_THAT(read.notes, kNotesUnknown);
  }
}

TEST(KinetoGroups, AFileWithoutARankHasNoMessages) {
  RankFile file(0);
  file.without_rank().call(100, RankFile::send_to(1));
  for (const bool rank_is_known : {false, true}) {
    const ChromeImport read = file.read(rank_is_known);
    EXPECT_THAT(messages_of(read.traces.at(0)), ElementsAre("-"));
    EXPECT_THAT(read.notes, kNotesUnknown);
  }
}

TEST(KinetoGroups, OperationsOnTheHostSayMessagesByTheirNames) {
  RankFile pair(1, 2);
  pair.event("gloo:send", "user_annotation", 100, 10, "")
      .event("gloo:recv", "user_annotation", 105, 10, "")
      .event("gloo:recvAnySource", "user_annotation", 120, 10, "")
      .event("gloo:all_reduce", "user_annotation", 140, 10, "");
  EXPECT_THAT(messages_of(pair.read().traces.at(0)),
              ElementsAre("send 1 to 0", "receive 0 to 1", "receive 0 to 1", "all_reduce"));
  RankFile more(1, 3);
  more.event("gloo:send", "user_annotation", 100, 10, "");
  EXPECT_THAT(messages_of(more.read().traces.at(0)), ElementsAre("-"));
  EXPECT_THAT(more.read().notes, kNotesUnknown);
}

TEST(KinetoGroups, AnOperationOfABackendHasTheRanksOfItsCall) {
  RankFile file(1);
  file.call(100, RankFile::send_to(3), false)
      .event("nccl:send 1->3", "user_annotation", 104, 5, "");
  EXPECT_THAT(messages_of(file.read().traces.at(0)), ElementsAre("send 1 to 3"));
}

TEST(KinetoGroups, AnAllToAllOfTheSameKernelIsNoMessage) {
  RankFile file(1);
  file.call(100, "\"Collective name\":\"all_to_allv\",\"Process Group Ranks\":\"[0, 1, 2, 3]\"");
  const ChromeImport read = file.read();
  EXPECT_THAT(messages_of(read.traces.at(0)), ElementsAre("all_to_all"));
  EXPECT_THAT(read.notes, Not(kNotesUnknown));
}

}  // namespace
}  // namespace hocket
