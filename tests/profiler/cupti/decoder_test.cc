#include "profiler/cupti/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

using testing::SizeIs;

class DecoderTest : public testing::Test {
 protected:
  DecodedBuffer decode(const RecordBytes& bytes) const { return decode_buffer(cupti_, bytes); }

  SetClock clock_;
  FakeCupti cupti_{clock_};
};

TEST_F(DecoderTest, ReadsNothingOutOfNothing) {
  EXPECT_EQ(decode({}).records(), 0);
}

TEST_F(DecoderTest, ReadsEachKind) {
  RecordBytes buffer;
  append(buffer, kernel_record("softmax", {10, 20, 3, 7}));
  append(buffer, copy_record(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 512, {11, 21, 4, 8}));
  append(buffer, peer_copy_record(513, {12, 22, 5, 9}));
  append(buffer, fill_record(514, {13, 23, 6, 10}));
  append(buffer, call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 99, {14, 24, 0, 11}));
  append(buffer, call_record(CUPTI_ACTIVITY_KIND_DRIVER, 307, 98, {15, 25, 0, 12}));
  append(buffer, correlation_record(11, 1234));
  append(buffer, marker_record(CUPTI_ACTIVITY_FLAG_MARKER_START, 5, "step", 16, 97));
  append(buffer, marker_record(CUPTI_ACTIVITY_FLAG_MARKER_END, 5, nullptr, 26));
  append(buffer, overhead_record(CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, {17, 27}, 96));
  append(buffer,
         wait_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 44, {18, 28, 3, 13}));
  append(buffer, event_record(44, 9));

  const DecodedBuffer decoded = decode(buffer);
  EXPECT_EQ(decoded.quarantined, QuarantineCounts());
  EXPECT_EQ(decoded.ignored, 0);
  ASSERT_THAT(decoded.activities, SizeIs(12));
  const auto& all = decoded.activities;
  const ActivityType types[] = {ActivityType::kernel,
                                ActivityType::copy,
                                ActivityType::copy,
                                ActivityType::fill,
                                ActivityType::runtime_call,
                                ActivityType::driver_call,
                                ActivityType::correlation,
                                ActivityType::range_begin,
                                ActivityType::range_end,
                                ActivityType::overhead,
                                ActivityType::synchronization,
                                ActivityType::event};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].type, types[i]) << i;
  EXPECT_EQ(all[0].begin_ns, 10);
  EXPECT_EQ(all[0].end_ns, 20);
  EXPECT_EQ(all[0].stream, 3u);
  EXPECT_EQ(all[0].context, 1u);
  EXPECT_EQ(all[0].correlation, 7u);
  EXPECT_STREQ(all[0].name, "softmax");
  EXPECT_EQ(all[1].bytes, 512);
  EXPECT_EQ(all[1].code, std::uint32_t{CUPTI_ACTIVITY_MEMCPY_KIND_DTOH});
  EXPECT_EQ(all[2].bytes, 513);
  EXPECT_EQ(all[3].bytes, 514);
  EXPECT_EQ(all[4].code, 211u);
  EXPECT_EQ(all[4].thread, 99u);
  EXPECT_EQ(all[5].thread, 98u);
  EXPECT_EQ(all[6].correlation, 11u);
  EXPECT_EQ(all[6].id, 1234u);
  EXPECT_EQ(all[7].id, 5u);
  EXPECT_STREQ(all[7].name, "step");
  EXPECT_EQ(all[8].begin_ns, 26);
  EXPECT_EQ(all[9].thread, 96u);
  EXPECT_EQ(all[10].id, 44u);
  EXPECT_EQ(all[11].id, 44u);
  EXPECT_EQ(all[11].stream, 9u);
}

TEST_F(DecoderTest, QuarantinesTimesThatCannotBeTrue) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  RecordBytes buffer;
  append(buffer, kernel_record("a", {0, 20}));
  append(buffer, kernel_record("b", {10, 0}));
  append(buffer, call_record(CUPTI_ACTIVITY_KIND_RUNTIME, 1, 1, {0, 0}));
  append(buffer, marker_record(CUPTI_ACTIVITY_FLAG_MARKER_START, 5, "step", 0));
  append(buffer, copy_record(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4, {30, 29}));
  append(buffer, wait_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 0, {9, 8}));
  append(buffer, fill_record(4, {10, kHuge}));
  append(buffer, fill_record(kHuge, {10, 20}));
  append(buffer, kernel_record("fine", {10, 10}));
  const DecodedBuffer decoded = decode(buffer);
  EXPECT_EQ(decoded.quarantined,
            (QuarantineCounts{.zero_times = 4, .reversed_times = 2, .absurd_values = 2}));
  ASSERT_THAT(decoded.activities, SizeIs(1));
  EXPECT_STREQ(decoded.activities.front().name, "fine");
}

TEST_F(DecoderTest, IgnoresWhatSaysNothingAboutWork) {
  RecordBytes buffer;
  append(buffer, stream_record());
  append(buffer, correlation_record(1, 2, CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC));
  append(buffer, marker_record(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, 5, "moment", 10));
  append(buffer, kernel_record("k", {10, 20}));
  const DecodedBuffer decoded = decode(buffer);
  EXPECT_EQ(decoded.ignored, 3);
  EXPECT_THAT(decoded.activities, SizeIs(1));
  EXPECT_EQ(decoded.quarantined, QuarantineCounts());
}

TEST_F(DecoderTest, AsksForNoRecordWhereNoKindFits) {
  /// Reads a kind at any address it is given, as CUPTI does, even beyond the buffer's end.
  class Careless final : public CuptiApi {
   public:
    explicit Careless(const CuptiApi& walker) : walker_(walker) {}
    int next_record(std::span<const std::uint8_t> bytes,
                    const std::uint8_t*& record) const override {
      const std::size_t at =
          record == nullptr
              ? 0
              : static_cast<std::size_t>(record - bytes.data()) +
                    record_length(kind_of(RecordBytes(record, record + 4))).value_or(0);
      EXPECT_LE(at + sizeof(std::uint32_t), bytes.size());
      return walker_.next_record(bytes, record);
    }
    std::uint32_t version() const override { return CUPTI_API_VERSION; }
    int driver_version() const override { return 0; }
    std::string status_name(int) const override { return ""; }
    int subscribe(std::string&) override { return 0; }
    int unsubscribe() override { return 0; }
    int detach() override { return 0; }
    int register_buffers(std::shared_ptr<ActivityBuffers>) override { return 0; }
    int promise_zeroed_buffers() override { return 0; }
    int share_buffers() override { return 0; }
    int enable(std::uint32_t) override { return 0; }
    int disable(std::uint32_t) override { return 0; }
    int leave_out(ApiDomain, std::uint32_t) override { return 0; }
    int leave_out_vain_queries() override { return 0; }
    int flush(bool) override { return 0; }
    int take_dropped(std::size_t&) override { return 0; }
    int timestamp(std::uint64_t&) const override { return 0; }
    int push_task(std::uint64_t) override { return 0; }
    int pop_task() override { return 0; }
    std::string call_name(ApiDomain, std::uint32_t) const override { return ""; }

   private:
    const CuptiApi& walker_;
  };
  const Careless careless(cupti_);
  for (std::size_t left = 0; left < 4; ++left) {
    RecordBytes buffer = kernel_record("k", {10, 20});
    buffer.resize(buffer.size() + left, 0xff);
    const DecodedBuffer decoded = decode_buffer(careless, buffer);
    EXPECT_THAT(decoded.activities, SizeIs(1));
    EXPECT_EQ(decoded.quarantined.truncated, left == 0 ? 0 : 1);
    const RecordBytes rest(left, 0xff);
    EXPECT_EQ(decode_buffer(careless, rest).quarantined.truncated, left == 0 ? 0 : 1);
  }
}

TEST_F(DecoderTest, StopsAtAKindThatNobodyKnows) {
  RecordBytes strange = kernel_record("strange", {10, 20});
  strange[0] = 0xff;
  strange[1] = 0x70;
  RecordBytes buffer = kernel_record("known", {10, 20});
  append(buffer, strange);
  append(buffer, kernel_record("behind", {10, 20}));
  const DecodedBuffer decoded = decode(buffer);
  EXPECT_EQ(decoded.quarantined, QuarantineCounts{.unknown_kinds = 1});
  EXPECT_THAT(decoded.activities, SizeIs(1));
}

TEST_F(DecoderTest, CountsOneRecordForABufferThatIsCutWithinIt) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RecordBytes buffer;
    std::vector<std::size_t> ends{0};
    for (int i = 0; i < 10; ++i) {
      append(buffer, random_record(random));
      ends.push_back(buffer.size());
    }
    std::size_t whole = 0;
    for (std::size_t size = 0; size <= buffer.size(); ++size) {
      if (whole + 1 < ends.size() && ends[whole + 1] <= size) ++whole;
      const DecodedBuffer decoded =
          decode(RecordBytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)));
      ASSERT_EQ(decoded.activities.size(), whole) << size;
      ASSERT_EQ(decoded.quarantined.truncated, size == ends[whole] ? 0 : 1) << size;
    }
  }
}

TEST_F(DecoderTest, DoesNotTakeALongerRecordOfALaterVersionForADamagedBuffer) {
  RecordBytes buffer = kernel_record("k", {10, 20});
  buffer.resize(buffer.size() + 8);
  EXPECT_EQ(decode(buffer).quarantined, QuarantineCounts{.unknown_kinds = 1});
  buffer.resize(buffer.size() - 5);
  EXPECT_EQ(decode(buffer).quarantined, QuarantineCounts{.truncated = 1});
  cupti_.library_version = CUPTI_API_VERSION + 100;
  EXPECT_EQ(decode(buffer).quarantined, QuarantineCounts());
}

TEST_F(DecoderTest, AccountsForEveryRecordOfADamagedBuffer) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RecordBytes buffer;
    for (std::uint64_t i = random() % 12; i > 0; --i) append(buffer, random_record(random));
    for (std::uint64_t i = random() % 16; i > 0 && !buffer.empty(); --i) {
      buffer[random() % buffer.size()] = static_cast<std::uint8_t>(random());
    }
    if (random() % 4 == 0) buffer.resize(random() % (buffer.size() + 40));

    const std::uint8_t* record = nullptr;
    std::int64_t walked = 0;
    while (cupti_.next_record(buffer, record) == CUPTI_SUCCESS) ++walked;
    const DecodedBuffer decoded = decode(buffer);
    // The record at which CUPTI stops counts as one record.
    const std::int64_t stopped = decoded.quarantined.unknown_kinds + decoded.quarantined.truncated;
    ASSERT_LE(stopped, 1);
    ASSERT_EQ(decoded.records(), walked + stopped);
    for (const CuptiActivity& activity : decoded.activities) {
      ASSERT_LE(activity.begin_ns, activity.end_ns);
      ASSERT_GE(activity.begin_ns, 0);
      ASSERT_GE(activity.bytes, 0);
    }
  }
}

TEST_F(DecoderTest, SurvivesAnyBytesAtAnyAlignment) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RecordBytes bytes(random() % 700 + 11);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const std::size_t skipped = random() % 8;
    // Uses mostly a kind that exists, so that the following bytes are read.
    if (random() % 4) bytes[skipped] = static_cast<std::uint8_t>(random() % 56);
    if (random() % 4) bytes[skipped + 1] = bytes[skipped + 2] = bytes[skipped + 3] = 0;
    const DecodedBuffer decoded =
        decode_buffer(cupti_, std::span<const std::uint8_t>(bytes).subspan(skipped));
    ASSERT_GE(decoded.records(), 1);
  }
}

}  // namespace
}  // namespace hocket
