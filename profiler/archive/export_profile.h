#pragma once

// A stored profile as a timeline that others open. One thread.

#include <iosfwd>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "profiler/archive/load_profile.h"

namespace hocket {

enum class ExportFormat {
  perfetto,  ///< profiler/formats/perfetto.h
  chrome,    ///< profiler/formats/chrome_trace.h: each rank on its own clock
};

/// "perfetto", "chrome".
Result<ExportFormat> parse_export_format(std::string_view text);

/// unavailable when `out` does not take all of it.
Result<void> export_profile(const LoadedProfile& profile, ExportFormat format, std::ostream& out);

/// Writes `path`, or nothing at all: another file of that name stays until this one is whole.
/// unavailable, with the system's reason, when it cannot be written.
Result<void> export_profile_to(const LoadedProfile& profile, ExportFormat format,
                               const std::string& path);

/// Writes `text` to `path` in the same way.
Result<void> write_whole_file(const std::string& path, std::string_view text);

}  // namespace hocket
