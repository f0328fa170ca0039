#pragma once

// The files of the page (web/), embedded when the program is built (web/embed.cmake). Constant; any
// thread.

#include <span>
#include <string_view>

namespace hocket {

struct WebAsset {
  std::string_view path;  ///< below web/: "views/jobs/jobs.js"
  std::string_view content_type;
  std::string_view bytes;
  std::string_view gzip;  ///< the same, compressed (RFC 1952)
};

std::span<const WebAsset> web_assets();

/// Returns the asset of that path; null if there is none.
const WebAsset* find_web_asset(std::string_view path);

/// Returns a hash of all files, which names this version of the page.
std::string_view web_version();

}  // namespace hocket
