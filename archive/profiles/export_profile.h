#pragma once

// Exports a stored profile as a timeline for other viewers. One thread.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "archive/profiles/load_profile.h"
#include "core/base/result.h"

namespace hocket {

enum class ExportFormat {
  perfetto,  ///< profiler/formats/perfetto.h
  chrome,    ///< profiler/formats/chrome_trace.h: each rank on its own clock
};

/// Parses "perfetto" or "chrome".
Result<ExportFormat> parse_export_format(std::string_view text);

/// Writes the timeline. Returns messages for people about what it lacks; unavailable if `out`
/// fails.
Result<std::vector<std::string>> export_profile(const LoadedProfile& profile, ExportFormat format,
                                                std::ostream& out);

/// Writes the file `path` completely or not at all: an existing file stays until the new one is
/// complete. Returns what export_profile() returns; unavailable, with the system's reason, if the
/// file cannot be written.
Result<std::vector<std::string>> export_profile_to(const LoadedProfile& profile,
                                                   ExportFormat format, const std::string& path);

/// Writes `text` to `path` in the same way.
Result<void> write_whole_file(const std::string& path, std::string_view text);

}  // namespace hocket
