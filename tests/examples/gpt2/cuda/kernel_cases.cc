#include "tests/examples/gpt2/cuda/kernel_cases.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace hocket {
namespace {

constexpr std::size_t kGuardBytes = 512;
/// A signalling NaN in float32 and in bfloat16: arithmetic changes it to a quiet one, so even
/// adding 0 is detected. As an integer, smaller than any token.
constexpr std::array<std::byte, 4> kGuard{std::byte{0xff}, std::byte{0xff}, std::byte{0xbf},
                                          std::byte{0xff}};

std::vector<std::byte> guards(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = kGuard[i % kGuard.size()];
  return all;
}

std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace

Vector rounded(Vector values, ElementType type) {
  if (type == ElementType::bfloat16) {
    for (float& value : values) value = from_bfloat16(bfloat16_bits(value));
  }
  return values;
}

int KernelCase::integer(int low, int high) {
  return low + static_cast<int>(engine_() % (high - low + 1));
}

int KernelCase::width() {
  switch (integer(0, 3)) {
    case 0:
      return integer(1, 40);
    case 1:
      return 8 * integer(1, 40);
    case 2:
      return 32 * integer(1, 12) + integer(-1, 1);
    default:
      return integer(1, 600);
  }
}

Vector KernelCase::normal(std::size_t size, float mean, float deviation) {
  return rounded(normal_float32(size, mean, deviation), type);
}

Vector KernelCase::normal_float32(std::size_t size, float mean, float deviation) {
  std::normal_distribution<float> distribution(mean, deviation);
  Vector values(size);
  for (float& value : values) value = distribution(engine_);
  return values;
}

std::vector<std::int32_t> KernelCase::tokens(std::size_t size, int vocabulary) {
  std::vector<std::int32_t> values(size);
  for (std::int32_t& value : values) value = integer(0, vocabulary - 1);
  return values;
}

void for_kernel_cases(const std::function<void(KernelCase&)>& body) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
      for (const int shift : {0, 1}) {
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << (type == ElementType::bfloat16 ? ", bfloat16" : "")
                     << ", off by " << shift);
        KernelCase drawn(seed, type, shift);
        body(drawn);
      }
    }
  }
}

DeviceArray::DeviceArray(const Vector& values, ElementType type, int shift)
    : type_(type),
      offset_(kGuardBytes + shift * element_bytes(type)),
      bytes_(values.size() * element_bytes(type)) {
  if (type == ElementType::float32) {
    fill(values.data());
    return;
  }
  std::vector<std::uint16_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(), bfloat16_bits);
  fill(bits.data());
}

DeviceArray::DeviceArray(const std::vector<std::int32_t>& values)
    : offset_(kGuardBytes), bytes_(values.size() * sizeof(std::int32_t)) {
  fill(values.data());
}

void DeviceArray::fill(const void* values) {
  std::vector<std::byte> all = guards(offset_ + bytes_ + kGuardBytes);
  if (bytes_ > 0) std::memcpy(all.data() + offset_, values, bytes_);
  memory_ = kernel_device()->allocate(all.size());
  kernel_device()->write(memory_, all.data(), all.size());
  kernel_device()->forbid(memory_, offset_);
  kernel_device()->forbid(as<std::byte>() + bytes_, kGuardBytes);
}

DeviceArray::~DeviceArray() {
  const std::vector<std::byte> expected = guards(offset_ + bytes_ + kGuardBytes);
  std::vector<std::byte> all(expected.size());
  kernel_device()->allow(memory_, all.size());
  kernel_device()->read(all.data(), memory_, all.size());
  const auto begin = static_cast<std::ptrdiff_t>(offset_);
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + begin, expected.begin()))
      << "something was written before an array";
  EXPECT_TRUE(std::equal(all.end() - kGuardBytes, all.end(), expected.end() - kGuardBytes))
      << "something was written behind an array";
  kernel_device()->release(memory_);
}

Vector DeviceArray::read() const {
  if (type_ == ElementType::float32) {
    Vector values(bytes_ / sizeof(float));
    kernel_device()->read(values.data(), data(), bytes_);
    return values;
  }
  std::vector<std::uint16_t> bits(bytes_ / 2);
  kernel_device()->read(bits.data(), data(), bytes_);
  Vector values(bits.size());
  std::transform(bits.begin(), bits.end(), values.begin(), from_bfloat16);
  return values;
}

DeviceCount::DeviceCount(std::int64_t value) : memory_(kernel_device()->allocate(sizeof value)) {
  kernel_device()->write(memory_, &value, sizeof value);
}

std::int64_t DeviceCount::read() const {
  std::int64_t value = 0;
  kernel_device()->read(&value, memory_, sizeof value);
  return value;
}

void expect_close(const Vector& actual, const Vector& expected, ElementType type, float relative,
                  float absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  const float precision = type == ElementType::bfloat16 ? 0x1p-8f : 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const float size = std::abs(expected[i]);
    ASSERT_NEAR(actual[i], expected[i], absolute + (relative + precision) * size)
        << "element " << i << " of " << actual.size();
  }
}

Vector same_each_time(const std::function<Vector()>& compute) {
  const Vector values = compute();
  const Vector again = compute();
  EXPECT_EQ(values.size(), again.size());
  EXPECT_EQ(std::memcmp(values.data(), again.data(), values.size() * sizeof(float)), 0)
      << "another result the second time";
  return values;
}

}  // namespace hocket
