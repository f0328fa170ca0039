#pragma once

// Packs texts and makes archives, for tests of code that reads them. Pure.

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace hocket {

/// A file of an archive: its name and text.
using ArchivedFile = std::pair<std::string, std::string>;

/// Returns an archive of `files`. `format`: "gnutar", "zip", or "raw" for one file without a name.
/// `filter`: "gzip", "zstd", "xz", "bzip2", "lz4", or "" for none.
inline std::string archived(const std::vector<ArchivedFile>& files, const std::string& format,
                            const std::string& filter = {}) {
  const std::unique_ptr<archive, int (*)(archive*)> a(archive_write_new(), archive_write_free);
  HOCKET_CHECK(archive_write_set_format_by_name(a.get(), format.c_str()) == ARCHIVE_OK, "format");
  if (!filter.empty()) {
    HOCKET_CHECK(archive_write_add_filter_by_name(a.get(), filter.c_str()) == ARCHIVE_OK, "filter");
  }
  archive_write_set_bytes_in_last_block(a.get(), 1);
  std::size_t size = 1 << 16;
  for (const auto& [name, text] : files) size += 2 * text.size() + 4 * name.size() + 4096;
  std::string packed(size, '\0');
  std::size_t used = 0;
  archive_write_open_memory(a.get(), packed.data(), packed.size(), &used);
  for (const auto& [name, text] : files) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0600);
    HOCKET_CHECK(archive_write_header(a.get(), entry.get()) == ARCHIVE_OK, "header");
    HOCKET_CHECK(archive_write_data(a.get(), text.data(), text.size()) ==
                     static_cast<la_ssize_t>(text.size()),
                 "data");
  }
  archive_write_close(a.get());
  packed.resize(used);
  return packed;
}

/// Returns `text` packed as one file.
inline std::string packed(const std::string& text, const std::string& filter) {
  return archived({{"", text}}, "raw", filter);
}

}  // namespace hocket
