#pragma once

// Records of a trace as bytes (docs/formats/trace_file.md): what a window is read from, since rows
// with a column for each field take several times as long. Pure functions, and an object for one
// thread at a time.
//
// A block begins with the checksum of the rest, 8 bytes, little-endian: where a file was cut off or
// the power failed, there may be zeros in place of a page, and those would be records, too.
//
// A record is, in this order, with little-endian base-128 numbers and differences of signed numbers
// zigzagged (0, -1, 1, -2 … become 0, 1, 2, 3 …):
//
//   byte: bits 0-2 the kind, then one bit each for whether there is a collective, bytes, a
//   sequence,
//         submitted_ns, ready_ns
//   [byte: the collective]  lane  name
//   begin_ns - that of the record before (0)  end_ns - begin_ns
//   step, task - those of the record before (0), zigzagged
//   [bytes]  [sequence - the last one (0), zigzagged]
//   [begin_ns - submitted_ns, zigzagged]  [begin_ns - ready_ns, zigzagged]

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"

namespace hocket::sqlite {

/// Of the checksum.
inline constexpr std::size_t kChecksumBytes = 8;

/// Packs records one after another. They must be plausible (core/trace/rank_trace.h) and come by
/// begin_ns.
class RecordPacker {
 public:
  /// `name` is stored in place of `record.name`.
  void add(const TraceRecord& record, std::uint32_t name);

  /// The block of what was added since the last call, which the next one begins anew.
  std::string take();

 private:
  std::string bytes_ = std::string(kChecksumBytes, '\0');
  TraceRecord last_ = first_record();

  static TraceRecord first_record();
};

/// Of a block's bytes after the checksum: FNV-1a with words of 8 bytes in place of bytes, the last
/// one filled up with zeros, after the length as the first word.
std::uint64_t block_checksum(std::string_view bytes);

/// Appends the records of a block to `records`. invalid_argument when these are not `count` records
/// that can be true; then some may have been appended.
Result<void> unpack_records(std::string_view bytes, std::int64_t count,
                            std::vector<TraceRecord>& records);

}  // namespace hocket::sqlite
