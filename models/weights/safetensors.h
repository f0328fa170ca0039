#pragma once

// safetensors: 8 bytes with the size of a header, the header, a JSON object that gives each tensor
// a type, a shape and a range of bytes, and then these bytes. Files come from strangers, so a
// header is believed only where it fits the file: ranges follow each other without gaps or
// overlaps, have the size of their tensors, and end with the file. Values only; any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/value_type.h"

namespace hocket {

/// Types of numbers that a file may have.
enum class StoredType : std::uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  float8_e5m2,
  float8_e4m3,
  int64,
  int32,
  int16,
  int8,
  uint64,
  uint32,
  uint16,
  uint8,
  boolean,
};

/// "F32", as files have it.
std::string_view to_string(StoredType type);
std::int64_t number_bytes(StoredType type);

/// A tensor in a file.
struct TensorPlace {
  std::string name;
  StoredType type = StoredType::float32;
  Shape shape = {};                ///< sizes may be 0
  std::size_t begin = 0, end = 0;  ///< bytes from the begin of the file

  bool operator==(const TensorPlace&) const = default;
};

/// Most bytes of a header, and on a tensor's name.
inline constexpr std::size_t kMostHeaderBytes = 100'000'000;
inline constexpr std::size_t kMostTensorNameBytes = 1000;

/// Reads the header of a file whose bytes these are. Returns its tensors in the order of their
/// bytes. invalid_argument, without the file's name, for what is no such file.
Result<std::vector<TensorPlace>> read_safetensors(std::span<const std::byte> file);

/// A tensor that is to be written.
struct NewTensor {
  std::string name;
  StoredType type = StoredType::float32;
  Shape shape = {};
};

/// Returns the begin of a file with these tensors in this order, up to their bytes.
/// invalid_argument for a name that is taken, empty or too long.
Result<std::string> safetensors_header(std::span<const NewTensor> tensors);

/// Sets `values` to the tensor's numbers from number `first` on, of which `bytes` are all.
/// invalid_argument for types that are not float32, float16 or bfloat16.
Result<void> to_floats(StoredType type, std::span<const std::byte> bytes, std::int64_t first,
                       std::span<float> values);

}  // namespace hocket
