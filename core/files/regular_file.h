#pragma once

// Opens files at paths in which others have a hand: a job's report, a folder of traces, what lies
// beside a store. Where a pipe, a device, a socket or a folder lies in place of a file, the error
// says so. Nothing waits for another process, as opening a pipe does, and no device is opened. A
// path on a command line may name a pipe on purpose: read_file() of core/base/json.h reads that.
// Thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/files/descriptor.h"

namespace hocket {

/// Says whether a symbolic link at the end of a path is followed. In a folder that is hocket's own
/// nobody puts one for a reason.
enum class Links { followed, refused };

/// Returns "a named pipe", "a folder" and so on for the type in a mode of stat(2).
std::string_view file_type_text(mode_t mode);

/// Opens a regular file for reading. Returns not_found if nothing is there, invalid_argument if
/// something else is, unavailable if it cannot be opened.
Result<FileDescriptor> open_regular_file(const std::string& path, Links links = Links::followed);

/// Reads what is left of an open file, `path` in errors: unavailable if it cannot be read or has
/// more than `limit_bytes`.
Result<std::string> read_open_file(const FileDescriptor& file, const std::string& path,
                                   std::int64_t limit_bytes);

/// Reads a whole regular file. Errors as open_regular_file(), and unavailable if it has more than
/// `limit_bytes`.
Result<std::string> read_regular_file(const std::string& path, std::int64_t limit_bytes,
                                      Links links = Links::followed);

enum class Writing { from_begin, at_end };

/// Opens a regular file for writing, from its begin emptied. Creates it with `mode`, less the
/// umask, if nothing is there. Errors as open_regular_file().
Result<FileDescriptor> open_to_write(const std::string& path, Writing writing, mode_t mode = 0666,
                                     Links links = Links::followed);

/// Replaces the file at `path` by one with this text, once that is written whole as "PATH.part".
/// Returns unavailable or invalid_argument, with the path, if that fails.
Result<void> replace_file(const std::string& path, std::string_view text);

/// Writes the whole text; returns unavailable, with `path`, if that fails. A limit on the size of
/// files (`ulimit -f`) is such a failure, and not the signal that ends a program.
Result<void> write_all(const FileDescriptor& file, std::string_view text, const std::string& path);

/// Returns unless something else than a regular file lies at `path`, a link included.
Result<void> check_regular_or_missing(const std::string& path);

}  // namespace hocket
