#include "store/sqlite/record_block.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/step/collective_kind.h"

namespace hocket::sqlite {
namespace {

constexpr unsigned kHasCollective = 1U << 3, kHasBytes = 1U << 4, kHasSequence = 1U << 5,
                   kHasSubmitted = 1U << 6, kHasReady = 1U << 7, kKindMask = 7;
/// In place of a record's first byte: a group follows.
constexpr unsigned kGroupMark = 7;
constexpr auto kLastKind = static_cast<unsigned>(TraceKind::call);

// Differences wrap, so that any value in a file is defined behaviour; checks follow.
std::uint64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
}

std::int64_t sum(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + b);
}

std::uint64_t zigzag(std::uint64_t value) {
  return (value << 1) ^ (std::uint64_t{0} - (value >> 63));
}

std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (std::uint64_t{0} - (value & 1));
}

void put(std::string& bytes, std::uint64_t value) {
  char buffer[10];
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) buffer[size++] = static_cast<char>(value | 0x80);
  buffer[size++] = static_cast<char>(value);
  bytes.append(buffer, size);
}

std::uint64_t word_at(std::string_view bytes, std::size_t at) {
  std::uint64_t word = 0;
  const std::size_t size = std::min<std::size_t>(8, bytes.size() - at);
  for (std::size_t i = 0; i < size; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return word;
}

/// Reads numbers from bytes; after the end of the bytes, or a number that is too long, all are 0.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  unsigned byte() {
    if (next_ == end_) {
      is_bad_ = true;
      return 0;
    }
    return static_cast<unsigned char>(*next_++);
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && next_ != end_; shift += 7) {
      const auto each = static_cast<unsigned char>(*next_++);
      value |= std::uint64_t{each & 0x7fU} << shift;
      if (each < 0x80) return value;
    }
    is_bad_ = true;
    next_ = end_;
    return 0;
  }

  std::uint64_t signed_number() { return unzigzag(number()); }

  bool is_bad() const { return is_bad_; }
  bool is_at_end() const { return next_ == end_; }

 private:
  const char* next_;
  const char* end_;
  bool is_bad_ = false;
};

/// Reads the record after `last`; `last_sequence` is the latest sequence. Returns false if it is
/// invalid.
bool unpack(Unpacker& in, const TraceRecord& last, std::int64_t last_sequence,
            TraceRecord& record) {
  unsigned head = in.byte();
  record.group = last.group;
  while (head == kGroupMark) {
    const std::uint64_t group = in.number();
    if (group > std::numeric_limits<std::int32_t>::max()) return false;
    record.group = static_cast<std::int32_t>(group) - 1;
    head = in.byte();
  }
  if ((head & kKindMask) > kLastKind) return false;
  record.kind = static_cast<TraceKind>(head & kKindMask);
  if ((head & kHasCollective) != 0) {
    const unsigned collective = in.byte();
    if (collective >= kRecordedKinds) return false;
    record.collective = static_cast<CollectiveKind>(collective);
  }
  const std::uint64_t lane = in.number(), name = in.number();
  if (lane > std::numeric_limits<std::int32_t>::max()) return false;
  if (name > std::numeric_limits<std::uint32_t>::max()) return false;
  record.lane = static_cast<std::int32_t>(lane);
  record.name = static_cast<std::uint32_t>(name);
  record.begin_ns = sum(last.begin_ns, in.number());
  record.end_ns = sum(record.begin_ns, in.number());
  record.step = sum(last.step, in.signed_number());
  record.task = sum(last.task, in.signed_number());
  if ((head & kHasBytes) != 0) record.bytes = static_cast<std::int64_t>(in.number());
  if ((head & kHasSequence) != 0) record.sequence = sum(last_sequence, in.signed_number());
  if ((head & kHasSubmitted) != 0) {
    record.submitted_ns = sum(record.begin_ns, std::uint64_t{0} - in.signed_number());
  }
  if ((head & kHasReady) != 0) {
    record.ready_ns = sum(record.begin_ns, std::uint64_t{0} - in.signed_number());
  }
  return !in.is_bad() && is_plausible(record);
}

}  // namespace

TraceRecord RecordPacker::first_record() {
  TraceRecord record;
  record.step = record.task = record.sequence = 0;
  return record;
}

void RecordPacker::add(const TraceRecord& record, std::uint32_t name, std::int32_t group) {
  if (group != last_.group) {
    bytes_ += static_cast<char>(kGroupMark);
    put(bytes_, static_cast<std::uint64_t>(std::int64_t{group} + 1));
  }
  const auto bit = [](bool is_there, unsigned mask) { return is_there ? mask : 0U; };
  const unsigned head =
      static_cast<unsigned>(record.kind) | bit(record.collective.has_value(), kHasCollective) |
      bit(record.bytes != 0, kHasBytes) | bit(record.sequence != kNoSequence, kHasSequence) |
      bit(record.submitted_ns != 0, kHasSubmitted) | bit(record.ready_ns != 0, kHasReady);
  bytes_ += static_cast<char>(head);
  if (record.collective) bytes_ += static_cast<char>(*record.collective);
  put(bytes_, static_cast<std::uint64_t>(record.lane));
  put(bytes_, name);
  put(bytes_, difference(record.begin_ns, last_.begin_ns));
  put(bytes_, difference(record.end_ns, record.begin_ns));
  put(bytes_, zigzag(difference(record.step, last_.step)));
  put(bytes_, zigzag(difference(record.task, last_.task)));
  if (record.bytes != 0) put(bytes_, static_cast<std::uint64_t>(record.bytes));
  const std::int64_t last_sequence = last_.sequence;
  if (record.sequence != kNoSequence) {
    put(bytes_, zigzag(difference(record.sequence, last_sequence)));
  }
  if (record.submitted_ns != 0) {
    put(bytes_, zigzag(difference(record.begin_ns, record.submitted_ns)));
  }
  if (record.ready_ns != 0) put(bytes_, zigzag(difference(record.begin_ns, record.ready_ns)));
  last_ = record;
  last_.group = group;
  if (record.sequence == kNoSequence) last_.sequence = last_sequence;
}

std::string RecordPacker::take() {
  last_ = first_record();
  const std::uint64_t checksum = block_checksum(std::string_view(bytes_).substr(kChecksumBytes));
  for (std::size_t i = 0; i < kChecksumBytes; ++i) {
    bytes_[i] = static_cast<char>(checksum >> (8 * i));
  }
  return std::exchange(bytes_, std::string(kChecksumBytes, '\0'));
}

std::uint64_t block_checksum(std::string_view bytes) {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  std::uint64_t hash = (kOffset ^ bytes.size()) * kPrime;
  std::size_t at = 0;
  // The compiler turns this loop into one load of a word.
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    }
    hash = (hash ^ word) * kPrime;
  }
  return at == bytes.size() ? hash : (hash ^ word_at(bytes, at)) * kPrime;
}

Result<void> unpack_records(std::string_view bytes, std::int64_t count,
                            std::vector<TraceRecord>& records) {
  if (bytes.size() < kChecksumBytes ||
      word_at(bytes, 0) != block_checksum(bytes.substr(kChecksumBytes))) {
    return failure(ErrorCode::invalid_argument, "a block's checksum is not that of its bytes");
  }
  Unpacker in(bytes.substr(kChecksumBytes));
  TraceRecord last;
  last.step = last.task = 0;
  std::int64_t last_sequence = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    TraceRecord& record = records.emplace_back();
    if (!unpack(in, last, last_sequence, record)) {
      return failure(ErrorCode::invalid_argument,
                     "record " + std::to_string(i) + " of a block cannot be read");
    }
    if (record.sequence != kNoSequence) last_sequence = record.sequence;
    last = record;
  }
  if (!in.is_at_end()) {
    return failure(ErrorCode::invalid_argument,
                   "a block has more than its " + std::to_string(count) + " records");
  }
  return {};
}

}  // namespace hocket::sqlite
