#include "core/files/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/base/text.h"
#include "core/files/owned_path.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

Error system_error(const std::string& what) {
  return {ErrorCode::unavailable, what + ": " + std::generic_category().message(errno)};
}

/// Checks owner and mode of a file as PostgreSQL does for its keys.
Result<void> check_private(const std::string& path, const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return failure(ErrorCode::invalid_argument,
                   path + " belongs to another user (" + std::to_string(status.st_uid) +
                       "), who can read and change it; make one of your own");
  }
  const bool is_own = status.st_uid == ::geteuid();
  const mode_t allowed = is_own ? S_IRWXU : S_IRWXU | S_IRGRP;
  if ((status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO) & ~allowed) == 0) return {};
  const std::string mode = is_own ? "600" : "640";
  return failure(ErrorCode::invalid_argument,
                 path + " can be used by others than its owner: its mode is " +
                     mode_text(status.st_mode) + ", and at most 0" + mode + " is accepted; " +
                     shell_text(std::array<std::string, 3>{"chmod", mode, path}));
}

}  // namespace

Result<std::string> read_private_file(const std::string& path, std::int64_t limit_bytes,
                                      Links links) {
  const auto file = open_regular_file(path, links);
  HOCKET_TRY(file);
  struct stat status = {};
  if (::fstat(file->get(), &status) != 0) return failure(system_error(path));
  HOCKET_TRY(check_private(path, status));
  return read_open_file(*file, path, limit_bytes);
}

Result<bool> create_private_file(const std::string& path, std::string_view text) {
  const std::string unfinished = path + "." + std::to_string(::getpid());
  ::unlink(unfinished.c_str());  // left by a killed process that had this id
  const FileDescriptor file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failure(system_error("cannot write " + unfinished));
  auto written = write_all(file, text, path);
  if (written && ::fsync(file.get()) != 0) written = failure(system_error("cannot write " + path));
  // A link to an existing path fails, whatever the path is.
  const bool is_created = written && ::link(unfinished.c_str(), path.c_str()) == 0;
  const bool exists = written && !is_created && errno == EEXIST;
  if (written && !is_created && !exists) written = failure(system_error("cannot write " + path));
  ::unlink(unfinished.c_str());
  HOCKET_TRY(written);
  return is_created;
}

std::string_view finished_name(std::string_view unfinished) {
  const auto dot = unfinished.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view pid = unfinished.substr(dot + 1);
  const bool is_pid = !pid.empty() && pid.find_first_not_of("0123456789") == std::string_view::npos;
  return is_pid ? unfinished.substr(0, dot) : std::string_view();
}

Result<void> create_private_folders(const std::string& path) {
  if (path.empty() || fs::path(path).relative_path().empty()) return {};
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  HOCKET_TRY(create_private_folders(fs::path(path).parent_path().string()));
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return failure(system_error("cannot create the folder " + path));
}

}  // namespace hocket
