#pragma once

// Encodes a trace's records as bytes (docs/formats/trace_file.md). Windows are read from these
// blocks, since rows with a column for each field take several times as long. Pure functions, and a
// class for one thread at a time.
//
// A block begins with the checksum of the rest, 8 bytes, little-endian: after a cut-off or a power
// cut, a file may have zeros in place of a page, which would decode as records.
//
// A record consists of the following, in this order. Numbers are little-endian base-128;
// differences of signed numbers are zigzagged (0, -1, 1, -2 … become 0, 1, 2, 3 …):
//
//   byte: bits 0-2 are the kind; then one bit each for the presence of a collective, bytes,
//         a sequence, submitted_ns, ready_ns
//   [byte: the collective]  lane  name
//   begin_ns - that of the record before (0)  end_ns - begin_ns
//   step, task - those of the record before (0), zigzagged
//   [bytes]  [sequence - the last one (0), zigzagged]
//   [begin_ns - submitted_ns, zigzagged]  [begin_ns - ready_ns, zigzagged]
//
// A byte 7 in place of a record, and a number: the records from here on are of the group with this
// number minus 1, that is at first and at 0 of kAllRanks.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"

namespace hocket::sqlite {

/// Size of the checksum.
inline constexpr std::size_t kChecksumBytes = 8;

/// Packs records one after another. They must be plausible (core/trace/rank_trace.h) and sorted by
/// begin_ns.
class RecordPacker {
 public:
  /// Adds a record. `name` and `group` are stored in place of the record's.
  void add(const TraceRecord& record, std::uint32_t name, std::int32_t group);

  /// Returns the block of the records added since the last call and starts a new one.
  std::string take();

 private:
  std::string bytes_ = std::string(kChecksumBytes, '\0');
  TraceRecord last_ = first_record();

  static TraceRecord first_record();
};

/// Returns the checksum of a block's bytes after the checksum field: FNV-1a over words of 8 bytes
/// instead of bytes, the last one padded with zeros, with the length as the first word.
std::uint64_t block_checksum(std::string_view bytes);

/// Appends the records of a block to `records`. Returns invalid_argument if the bytes are not
/// `count` plausible records; some may have been appended then.
Result<void> unpack_records(std::string_view bytes, std::int64_t count,
                            std::vector<TraceRecord>& records);

}  // namespace hocket::sqlite
