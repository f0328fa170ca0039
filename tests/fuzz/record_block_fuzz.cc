// The first byte is the number of records, the rest a block's bytes: they decode to that many
// plausible records, or to an error. Decoded records are packed and read back equal.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "store/sqlite/record_block.h"

namespace {

/// Returns a block with the right checksum for its bytes.
std::string sealed(std::string_view bytes) {
  std::uint64_t sum = hocket::sqlite::block_checksum(bytes);
  std::string block;
  for (std::size_t i = 0; i < hocket::sqlite::kChecksumBytes; ++i, sum >>= 8)
    block.push_back(static_cast<char>(sum & 0xff));
  return block.append(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::int64_t count = data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<hocket::TraceRecord> records;
  if (!hocket::sqlite::unpack_records(sealed(bytes), count, records)) return 0;
  HOCKET_CHECK(static_cast<std::int64_t>(records.size()) == count, "as many as were asked for");
  HOCKET_CHECK(std::all_of(records.begin(), records.end(), hocket::is_plausible),
               "records can be true");
  if (!std::is_sorted(records.begin(), records.end(),
                      [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; }))
    return 0;
  hocket::sqlite::RecordPacker packer;
  for (const auto& record : records) packer.add(record, record.name, record.group);
  std::vector<hocket::TraceRecord> again;
  HOCKET_CHECK(hocket::sqlite::unpack_records(packer.take(), count, again).has_value(),
               "what was packed is read");
  HOCKET_CHECK(again == records, "equal to what was packed");
  return 0;
}
