#include "models/weights/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kSizeBytes = 8, kShownTensorBytes = 60;
/// Most numbers of a tensor: their bytes fit into 63 bits.
constexpr std::int64_t kMostStored = std::int64_t{1} << 58;

struct StoredKind {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<StoredKind, 15> kStoredKinds{{{"F64", 8},
                                                   {"F32", 4},
                                                   {"F16", 2},
                                                   {"BF16", 2},
                                                   {"F8_E5M2", 1},
                                                   {"F8_E4M3", 1},
                                                   {"I64", 8},
                                                   {"I32", 4},
                                                   {"I16", 2},
                                                   {"I8", 1},
                                                   {"U64", 8},
                                                   {"U32", 4},
                                                   {"U16", 2},
                                                   {"U8", 1},
                                                   {"BOOL", 1}}};

std::array<std::string_view, kStoredKinds.size()> stored_names() {
  std::array<std::string_view, kStoredKinds.size()> names;
  std::ranges::transform(kStoredKinds, names.begin(), &StoredKind::name);
  return names;
}

std::string shown_tensor(std::string_view name) {
  return "tensor \"" + printable(name, kShownTensorBytes) + "\"";
}

void read_tensor(JsonReader& fields, TensorPlace& tensor) {
  static const auto kNames = stored_names();
  fields.value("dtype", [&](const JsonValue& found) {
    tensor.type = static_cast<StoredType>(found.word(kNames));
  });
  fields.array(
      "shape",
      [&](const JsonValue& found) { tensor.shape.push_back(found.integer(0, kMostStored)); },
      Presence::required, kMostDimensions);
  std::vector<std::size_t> offsets;
  fields.array(
      "data_offsets",
      [&](const JsonValue& found) {
        offsets.push_back(static_cast<std::size_t>(found.integer(0, std::int64_t{1} << 62)));
      },
      Presence::required, 2);
  if (offsets.size() == 2) {
    tensor.begin = offsets[0], tensor.end = offsets[1];
  } else {
    tensor.begin = 1, tensor.end = 0;
  }
}

/// Returns the bytes that a tensor must have; nothing where they are more than any file has.
std::optional<std::size_t> bytes_of(const TensorPlace& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size != 0 && count > kMostStored / size) return std::nullopt;
    count *= size;
  }
  return static_cast<std::size_t>(count * number_bytes(tensor.type));
}

/// Turns offsets within the data into those within the file, once they are known to be right.
Result<void> place_tensors(std::vector<TensorPlace>& tensors, std::size_t data_begin,
                           std::size_t file_bytes) {
  std::ranges::sort(tensors, {}, [](const TensorPlace& each) {
    return std::tuple(each.begin, each.end, std::string_view(each.name));
  });
  std::size_t end = 0;
  for (TensorPlace& tensor : tensors) {
    const auto wrong = [&](const std::string& what) {
      return invalid(shown_tensor(tensor.name) + ": bytes " + std::to_string(tensor.begin) +
                     " to " + std::to_string(tensor.end) + " " + what);
    };
    const auto bytes = bytes_of(tensor);
    if (tensor.end < tensor.begin || bytes != tensor.end - tensor.begin)
      return wrong("are not those of " + std::string(to_string(tensor.type)) +
                   to_string(tensor.shape));
    if (tensor.begin != end)
      return wrong(tensor.begin < end ? "overlap those of another tensor"
                                      : "do not follow those of another tensor");
    if (tensor.end > file_bytes - data_begin)
      return wrong("are behind the end of the file; it may not be whole");
    end = tensor.end;
    tensor.begin += data_begin, tensor.end += data_begin;
  }
  if (end == file_bytes - data_begin) return {};
  return invalid("has " + std::to_string(file_bytes - data_begin - end) +
                 " bytes behind its last tensor");
}

float of_half(std::uint16_t bits) {
  const bool is_negative = (bits & 0x8000) != 0;
  const int exponent = bits >> 10 & 0x1f;
  const float fraction = static_cast<float>(bits & 0x3ff) / 1024;
  float value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -14);
  } else {
    value = std::ldexp(1 + fraction, exponent - 15);
  }
  return is_negative ? -value : value;
}

}  // namespace

std::string_view to_string(StoredType type) {
  return kStoredKinds[static_cast<std::size_t>(type)].name;
}

std::int64_t number_bytes(StoredType type) {
  return kStoredKinds[static_cast<std::size_t>(type)].bytes;
}

Result<std::vector<TensorPlace>> read_safetensors(std::span<const std::byte> file) {
  if (file.size() < kSizeBytes)
    return invalid("is no safetensors file: it has only " + std::to_string(file.size()) + " bytes");
  std::uint64_t size = 0;
  for (std::size_t i = kSizeBytes; i-- > 0;) size = size << 8 | static_cast<std::uint64_t>(file[i]);
  if (size > kMostHeaderBytes || size > file.size() - kSizeBytes)
    return invalid("is no safetensors file, or not whole: its header would have " +
                   std::to_string(size) + " bytes");
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kSizeBytes, size);
  const auto document = parse_object(text, "header");
  HOCKET_TRY(document);
  std::vector<TensorPlace> tensors;
  JsonReader reader(*document, "header");
  reader.members([&](const std::string& name, const JsonValue& found) {
    if (name == "__metadata__") return;  // texts for people
    TensorPlace& tensor = tensors.emplace_back();
    tensor.name = name;
    if (name.empty() || name.size() > kMostTensorNameBytes)
      found.refuse("a name of 1 to 1000 bytes");
    found.object([&](JsonReader& fields) { read_tensor(fields, tensor); });
  });
  HOCKET_TRY(reader.done());
  HOCKET_TRY(place_tensors(tensors, kSizeBytes + size, file.size()));
  return tensors;
}

Result<std::string> safetensors_header(std::span<const NewTensor> tensors) {
  nlohmann::json header = nlohmann::json::object();
  // Readers of Hugging Face's transformers want to know whose layout it is.
  header["__metadata__"] = {{"format", "pt"}};
  std::int64_t end = 0;
  for (const NewTensor& tensor : tensors) {
    if (tensor.name.empty() || tensor.name.size() > kMostTensorNameBytes)
      return invalid(shown_tensor(tensor.name) + ": expected a name of 1 to 1000 bytes");
    if (header.contains(tensor.name))
      return invalid(shown_tensor(tensor.name) + ": is there twice");
    HOCKET_TRY(check_shape(tensor.shape));
    const std::int64_t begin = end;
    end += count_of(tensor.shape) * number_bytes(tensor.type);
    header[tensor.name] = {
        {"dtype", to_string(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + kSizeBytes - 1) / kSizeBytes * kSizeBytes, ' ');
  std::string begin;
  for (std::size_t i = 0; i < kSizeBytes; ++i)
    begin.push_back(static_cast<char>(std::uint64_t{text.size()} >> (8 * i)));
  return begin + text;
}

Result<void> to_floats(StoredType type, std::span<const std::byte> bytes, std::int64_t first,
                       std::span<float> values) {
  const std::byte* from = bytes.data() + first * number_bytes(type);
  if (type == StoredType::float32) {
    std::memcpy(values.data(), from, values.size_bytes());
    return {};
  }
  if (type != StoredType::float16 && type != StoredType::bfloat16)
    return invalid("has numbers of type " + std::string(to_string(type)) +
                   ", expected F32, F16 or BF16");
  for (float& value : values) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    value = type == StoredType::float16 ? of_half(bits)
                                        : std::bit_cast<float>(std::uint32_t{bits} << 16);
    from += sizeof bits;
  }
  return {};
}

}  // namespace hocket
