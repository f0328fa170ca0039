#include <algorithm>
#include <cstring>
#include <limits>

#include "plugins/nccl/interface/nccl_interface.h"
#include "plugins/nccl/measure/collective_statistics.h"
#include "plugins/nccl/measure/event_slots.h"

namespace hocket::nccl::measure {
namespace {

constexpr char kMagic[] = {'H', 'M', 2};
constexpr std::size_t kHeaderBytes = sizeof(kMagic) + 4 + 2;
constexpr std::size_t kEntryBytes = 4 * 8 + 5;
constexpr int kMostAnnounced = kChannels;

template <class Integer>
void append(std::string& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

/// Reads integers from bytes whose length has been checked.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class Integer>
  Integer read() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_++])) << (8 * i);
    }
    return static_cast<Integer>(value);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

bool is_number(int value, int count) {
  return value >= kUnknown && value < count;
}

bool is_valid(const MeasuredCollective& collective) {
  return is_number(collective.function, kFunctions) &&
         is_number(collective.algorithm, abi::kAlgorithms) &&
         is_number(collective.protocol, abi::kProtocols) && collective.time_ns >= 0 &&
         collective.start_ns >= 0 &&
         static_cast<std::uint64_t>(collective.time_ns) <= EventSlots::kMaxTime_ns &&
         collective.channels <= kMostAnnounced && collective.timed_channels <= collective.channels;
}

}  // namespace

std::string encode(const RankCollectives& its) {
  const std::size_t count = std::min(its.collectives.size(), kMaxEncoded);
  std::string bytes(kMagic, sizeof(kMagic));
  append(bytes, static_cast<std::uint32_t>(its.rank));
  append(bytes, static_cast<std::uint16_t>(count));
  for (std::size_t i = its.collectives.size() - count; i < its.collectives.size(); ++i) {
    const MeasuredCollective& collective = its.collectives[i];
    append(bytes, collective.sequence);
    append(bytes, collective.bytes);
    append(bytes, static_cast<std::uint64_t>(collective.time_ns));
    append(bytes, static_cast<std::uint64_t>(collective.start_ns));
    append(bytes, static_cast<std::int8_t>(collective.function));
    append(bytes, static_cast<std::int8_t>(collective.algorithm));
    append(bytes, static_cast<std::int8_t>(collective.protocol));
    append(bytes, static_cast<std::uint8_t>(collective.channels));
    append(bytes, static_cast<std::uint8_t>(collective.timed_channels));
  }
  return bytes;
}

std::optional<RankCollectives> decode_collectives(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  if (std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) return std::nullopt;
  Reader reader(bytes.substr(sizeof(kMagic)));
  const auto rank = reader.read<std::uint32_t>();
  const std::size_t count = reader.read<std::uint16_t>();
  if (rank > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) return std::nullopt;
  if (count > kMaxEncoded || bytes.size() != kHeaderBytes + count * kEntryBytes) {
    return std::nullopt;
  }
  RankCollectives its;
  its.rank = static_cast<int>(rank);
  its.collectives.resize(count);
  for (MeasuredCollective& collective : its.collectives) {
    collective.sequence = reader.read<std::uint64_t>();
    collective.bytes = reader.read<std::uint64_t>();
    collective.time_ns = static_cast<std::int64_t>(reader.read<std::uint64_t>());
    collective.start_ns = static_cast<std::int64_t>(reader.read<std::uint64_t>());
    collective.function = reader.read<std::int8_t>();
    collective.algorithm = reader.read<std::int8_t>();
    collective.protocol = reader.read<std::int8_t>();
    collective.channels = reader.read<std::uint8_t>();
    collective.timed_channels = reader.read<std::uint8_t>();
    if (!is_valid(collective)) return std::nullopt;
  }
  return its;
}

}  // namespace hocket::nccl::measure
