#pragma once

// Unpacks a stream while it is read: one file packed by gzip, zstd, xz, bzip2 or lz4, an archive by
// tar (packed or not) or zip, or a file that is not packed, which is passed on. Nothing is written
// to a disk and names of files are only text, so no name can lead anywhere. Memory does not depend
// on the length of the stream; that of whoever reads it does, so the stream ends when it has taken
// too much (core/base/memory_budget.h). One thread.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/memory_budget.h"

namespace hocket {

/// Limits on what unpacking may yield, because a small file can be made to unpack to any length.
struct UnpackLimits {
  std::int64_t most_bytes = std::int64_t{64} << 30;  ///< unpacked, of all files
  std::int64_t most_files = 65'536;                  ///< in all archives
  /// Unpacked bytes for each packed one, once more than `ratio_from_bytes` are unpacked.
  std::int64_t most_ratio = 500;
  std::int64_t ratio_from_bytes = std::int64_t{1} << 30;
};

/// Counts what was unpacked so far, by all streams that share the limits.
struct UnpackUse {
  UnpackLimits limits = {};
  MemoryBudget memory = MemoryBudget::of_process();
  std::int64_t bytes = 0, files = 0;
  std::int64_t packed_bytes = 0;  ///< that were read for these
  bool is_packed = false;         ///< something of it was packed
};

/// Why the bytes end before the file does.
struct UnpackProblem {
  std::string message;
  /// It exceeds a limit; otherwise it is damaged or cut off.
  bool is_limit = false;
};

class PackedStream {
 public:
  struct Options {
    bool with_archives = true;  ///< otherwise archives are files of bytes
    bool is_inner = false;      ///< it reads what another stream unpacks
    /// Called with the number of packed bytes read so far.
    std::function<void(std::int64_t)> on_read = {};
  };

  /// `packed` and `use` must outlive this object.
  PackedStream(std::streambuf& packed, UnpackUse& use, Options options);
  ~PackedStream();
  PackedStream(const PackedStream&) = delete;
  PackedStream& operator=(const PackedStream&) = delete;

  /// Moves to the next regular file. Returns false at the end, or if problem() keeps it from going
  /// on.
  bool next();

  /// Returns whether the current file is one of an archive.
  bool is_in_archive() const;
  /// Returns the current file's name in the archive, for messages.
  const std::string& name() const;
  /// Returns the first bytes of the current file, at most 512 unless more have been read. Requires
  /// that nothing of it was read.
  std::string_view head();
  /// Returns the current file's bytes.
  std::istream& bytes();

  /// Returns the first problem, if there was one.
  const std::optional<UnpackProblem>& problem() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

/// Returns whether a file that begins with `head` is packed as one file. Pure.
bool is_packed(std::string_view head);

}  // namespace hocket
