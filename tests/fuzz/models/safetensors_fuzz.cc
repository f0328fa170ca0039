// Any bytes are refused, or are a file whose tensors lie within it, one after the other.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/check.h"
#include "models/weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hocket;
  const auto tensors = read_safetensors(std::as_bytes(std::span(data, size)));
  if (!tensors) {
    HOCKET_CHECK(tensors.error().message.find('\n') == std::string::npos, "a message has one line");
    return 0;
  }
  std::size_t end = 0;
  for (const TensorPlace& tensor : *tensors) {
    HOCKET_CHECK(tensor.begin >= end && tensor.end >= tensor.begin && tensor.end <= size,
                 "tensors follow each other within the file");
    end = tensor.end;
    float first = 0;
    if (tensor.begin == tensor.end) continue;
    (void)to_floats(tensor.type, std::as_bytes(std::span(data, size)).subspan(tensor.begin), 0,
                    {&first, 1});
  }
  return 0;
}
