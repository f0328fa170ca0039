#include "store/sqlite/record_block.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/store/fixtures.h"
#include "tests/store/random_trace.h"

namespace hocket::sqlite {
namespace {

using testing::HasSubstr;

std::string pack(const std::vector<TraceRecord>& records, RecordPacker& packer) {
  for (const TraceRecord& record : records) packer.add(record, record.name, record.group);
  return packer.take();
}

/// Returns a block of these bytes with the right checksum.
std::string sealed(const std::string& bytes) {
  const std::uint64_t checksum = block_checksum(bytes);
  std::string block;
  for (int i = 0; i < 64; i += 8) block += static_cast<char>(checksum >> i);
  return block + bytes;
}

std::vector<TraceRecord> random_records(std::mt19937_64& random) {
  RankTrace trace = random_trace(random, 40);
  put_in_order(trace);
  return trace.records;
}

TEST(RecordBlock, GivesBackWhatWasPacked) {
  RecordPacker packer;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto records = random_records(random);
    const std::string bytes = pack(records, packer);
    std::vector<TraceRecord> again;
    must(unpack_records(bytes, static_cast<std::int64_t>(records.size()), again));
    EXPECT_EQ(again, records);
  }
}

TEST(RecordBlock, TheSizeOfATypicalRecordIsThatOfAFewNumbers) {
  RecordPacker packer;
  for (std::int64_t i = 0; i < 100; ++i) {
    TraceRecord record;
    record.begin_ns = 1'800'000'000'000'000'000 + i * 1'000;
    record.end_ns = record.begin_ns + 900;
    record.step = 7;
    record.task = i;
    packer.add(record, 3, record.group);
  }
  EXPECT_LT(packer.take().size(), 100u * 10);
}

TEST(RecordBlock, AnotherCountThanItsOwnIsAnError) {
  std::mt19937_64 random(1);
  const auto records = random_records(random);
  RecordPacker packer;
  const std::string bytes = pack(records, packer);
  const auto count = static_cast<std::int64_t>(records.size());
  ASSERT_GT(count, 1);
  std::vector<TraceRecord> again;
  EXPECT_THAT(message_of(unpack_records(bytes, count + 1, again)), HasSubstr("cannot be read"));
  EXPECT_THAT(message_of(unpack_records(bytes, count - 1, again)), HasSubstr("more than"));
  EXPECT_THAT(
      message_of(unpack_records(sealed(""), std::numeric_limits<std::int64_t>::max(), again)),
      HasSubstr("cannot be read"));
}

TEST(RecordBlock, ZerosInPlaceOfItsEndAreNotRecords) {
  std::mt19937_64 random(1);
  RecordPacker packer;
  const auto records = random_records(random);
  const std::string bytes = pack(records, packer);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string cut = bytes.substr(0, size);
    std::vector<TraceRecord> again;
    const auto count = static_cast<std::int64_t>(records.size());
    EXPECT_THAT(message_of(unpack_records(cut, count, again)), HasSubstr("checksum"));
    cut.resize(bytes.size());
    if (cut == bytes) continue;
    EXPECT_THAT(message_of(unpack_records(cut, count, again)), HasSubstr("checksum"));
  }
}

TEST(RecordBlock, WhateverHasTheRightChecksumIsAnErrorOrRecordsThatCanBeTrue) {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto records = random_records(random);
    RecordPacker packer;
    std::string bytes = pack(records, packer).substr(kChecksumBytes);
    for (std::uint64_t i = random() % 4 + 1; i > 0 && !bytes.empty(); --i) {
      if (random() % 8 == 0) bytes.resize(random() % bytes.size());
      if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    std::vector<TraceRecord> again;
    const auto ok = unpack_records(sealed(bytes), static_cast<std::int64_t>(records.size()), again);
    refused += !ok;
    EXPECT_TRUE(!ok || std::ranges::all_of(again, is_plausible));
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace hocket::sqlite
