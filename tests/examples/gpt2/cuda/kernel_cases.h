#pragma once

// Fixtures of the kernel tests: random cases, guarded arrays on the device, and comparison with the
// host. One thread.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "core/step/element_type.h"
#include "tests/examples/gpt2/cuda/kernel_device.h"

namespace hocket {

using Vector = std::vector<float>;

/// Skips the test if there is no device.
class KernelTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!kernel_device(&why)) GTEST_SKIP() << why;
  }
};

/// Returns `values` after storage in `type`.
Vector rounded(Vector values, ElementType type);

/// One random case: its type, the alignment of its arrays, and draws of shapes and values.
class KernelCase {
 public:
  KernelCase(std::uint64_t seed, ElementType type, int shift)
      : type(type), shift(shift), engine_(seed) {}

  int integer(int low, int high);
  /// Returns a size that kernels divide into warps and packs: small, odd, or a multiple of them.
  int width();
  /// Returns values rounded as in storage.
  Vector normal(std::size_t size, float mean = 0, float deviation = 1);
  Vector normal_float32(std::size_t size, float mean = 0, float deviation = 1);
  std::vector<std::int32_t> tokens(std::size_t size, int vocabulary);

  const ElementType type;
  const int shift;  ///< elements by which arrays are misaligned

 private:
  std::mt19937_64 engine_;
};

/// Runs `body` for several seeds, both types, aligned and misaligned.
void for_kernel_cases(const std::function<void(KernelCase&)>& body);

/// An array in the device's memory, between guards that kernels must not touch. Where reads cannot
/// be detected the guards are NaN; they are checked for changes at the end.
class DeviceArray {
 public:
  DeviceArray(const KernelCase& of, const Vector& values)
      : DeviceArray(values, of.type, of.shift) {}
  DeviceArray(const Vector& values, ElementType type, int shift);
  explicit DeviceArray(const std::vector<std::int32_t>& values);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void* data() const { return static_cast<std::byte*>(memory_) + offset_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data());
  }
  Vector read() const;

 private:
  void fill(const void* values);

  ElementType type_ = ElementType::float32;
  void* memory_ = nullptr;
  std::size_t offset_ = 0, bytes_ = 0;
};

/// A count in the device's memory.
class DeviceCount {
 public:
  explicit DeviceCount(std::int64_t value);
  ~DeviceCount() { kernel_device()->release(memory_); }
  DeviceCount(const DeviceCount&) = delete;
  DeviceCount& operator=(const DeviceCount&) = delete;

  std::int64_t* data() const { return static_cast<std::int64_t*>(memory_); }
  std::int64_t read() const;

 private:
  void* const memory_;
};

/// Returns `values` stored in the type of parameters and statistics.
inline DeviceArray float32_array(const KernelCase& of, const Vector& values) {
  return DeviceArray(values, ElementType::float32, of.shift);
}

/// Returns garbage that an operation must overwrite.
inline Vector junk(std::size_t size) {
  return Vector(size, 1e6f);
}

/// Expects equality within `absolute` + `relative`·|expected|, plus the rounding of `type`.
void expect_close(const Vector& actual, const Vector& expected, ElementType type, float relative,
                  float absolute);
inline void expect_close(const Vector& actual, const Vector& expected, ElementType type,
                         float tolerance = 2e-5f) {
  expect_close(actual, expected, type, tolerance, tolerance);
}

/// Checks that `compute` gives the same bits at every call, and returns them.
Vector same_each_time(const std::function<Vector()>& compute);

}  // namespace hocket
