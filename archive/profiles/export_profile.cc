#include "archive/profiles/export_profile.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <utility>

#include "core/files/file_stream.h"
#include "core/files/regular_file.h"
#include "profiler/formats/chrome_trace.h"
#include "profiler/formats/perfetto.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

Error unwritable(const std::string& path) {
  const int number = errno == 0 ? EIO : errno;
  return {ErrorCode::unavailable, path + ": " + std::generic_category().message(number)};
}

using Write = std::function<Result<void>(std::ostream&)>;

/// Writes to `out`, which is `path`, and closes it.
template <class Stream>
Result<void> write_to(Stream& out, const std::string& path, const Write& write) {
  errno = 0;
  auto written = write(out);
  if (written && out.flush()) out.close();
  if (written && out) return {};
  if (!written && errno == 0) return failure(written.error().in(path));
  return failure(unwritable(path));
}

/// Writes to `path`: directly if it is not a regular file, such as a pipe; else replaces the file
/// once it is complete.
Result<void> replace_whole(const std::string& path, const Write& write) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    errno = 0;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    return out ? write_to(out, path, write) : failure(unwritable(path));
  }
  const std::string part = path + ".part";
  auto opened = open_to_write(part, Writing::from_begin, 0666, Links::refused);
  HOCKET_TRY(opened);
  FileWriter out(std::move(*opened));
  auto written = write_to(out, part, write);
  if (written) {
    fs::rename(part, path, error);
    if (!error) return {};
    written = failure(ErrorCode::unavailable, path + ": " + error.message());
  }
  std::error_code ignored;
  fs::remove(part, ignored);
  return written;
}

}  // namespace

Result<ExportFormat> parse_export_format(std::string_view text) {
  if (text == "perfetto") return ExportFormat::perfetto;
  if (text == "chrome") return ExportFormat::chrome;
  return failure(ErrorCode::invalid_argument,
                 "expected perfetto or chrome, found \"" + std::string(text) + "\"");
}

Result<std::vector<std::string>> export_profile(const LoadedProfile& profile, ExportFormat format,
                                                std::ostream& out) {
  if (format == ExportFormat::perfetto) return write_perfetto(out, profile.traces, profile.fits);
  ChromeTraceWriter writer(out);
  for (const RankTrace& trace : profile.traces) writer.write(trace);
  HOCKET_TRY(writer.finish());
  return std::vector<std::string>();
}

Result<std::vector<std::string>> export_profile_to(const LoadedProfile& profile,
                                                   ExportFormat format, const std::string& path) {
  std::vector<std::string> notes;
  HOCKET_TRY(replace_whole(path, [&](std::ostream& out) -> Result<void> {
    auto written = export_profile(profile, format, out);
    HOCKET_TRY(written);
    notes = std::move(*written);
    return {};
  }));
  return notes;
}

Result<void> write_whole_file(const std::string& path, std::string_view text) {
  return replace_whole(path, [&](std::ostream& out) -> Result<void> {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    return {};
  });
}

}  // namespace hocket
