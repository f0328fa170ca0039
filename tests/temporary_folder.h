#pragma once

// A folder for one test, removed at the test's end. One thread.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/base/check.h"

namespace hocket {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "hocket-test-XXXXXX";
    HOCKET_CHECK(mkdtemp(name.data()) != nullptr, "the temporary folder can be written");
    path_ = name;
  }
  ~TemporaryFolder() {
    // A test may have made it read-only.
    std::error_code error;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
    // An abandoned look-up may still be creating a file in it.
    do {
      std::filesystem::remove_all(path_, error);
    } while (error == std::errc::directory_not_empty);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ / name; }

  /// Creates a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hocket
