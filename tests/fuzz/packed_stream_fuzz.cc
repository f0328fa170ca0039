// Any bytes are unpacked within the limits, as files, archives and packed files in archives, or end
// with a problem.

#include <cstddef>
#include <cstdint>
#include <istream>
#include <sstream>
#include <string>

#include "core/base/check.h"
#include "profiler/formats/packed/packed_stream.h"

namespace {

constexpr std::int64_t kMostBytes = 1 << 20;

/// Reads the current file, and what is packed in it.
std::int64_t read_file(hocket::PackedStream& stream, hocket::UnpackUse& use, bool may_be_packed) {
  const std::string head(stream.head());
  if (may_be_packed && hocket::is_packed(head)) {
    hocket::PackedStream inner(*stream.bytes().rdbuf(), use,
                               {.with_archives = false, .is_inner = true, .on_read = {}});
    return inner.next() ? read_file(inner, use, false) : 0;
  }
  char block[4096];
  std::int64_t size = 0;
  while (stream.bytes().read(block, sizeof block), stream.bytes().gcount() > 0)
    size += stream.bytes().gcount();
  HOCKET_CHECK(size >= static_cast<std::int64_t>(head.size()), "the head is a part of the file");
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::stringbuf bytes(std::string(reinterpret_cast<const char*>(data), size));
  hocket::UnpackUse use;
  use.limits.most_bytes = kMostBytes;
  use.limits.most_files = 100;
  hocket::PackedStream stream(bytes, use, {});
  std::int64_t files = 0, read = 0;
  while (stream.next()) {
    ++files;
    read += read_file(stream, use, true);
  }
  HOCKET_CHECK(files <= use.limits.most_files && read <= kMostBytes, "limits are kept");
  return 0;
}
