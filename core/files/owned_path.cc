#include "core/files/owned_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <list>
#include <optional>
#include <system_error>

#include "core/base/text.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kWriteByOthers = S_IWGRP | S_IWOTH;
constexpr mode_t kPermissions = 07777;
/// As the kernel has it.
constexpr int kMostLinks = 40;

bool is_trusted(uid_t owner) {
  return owner == ::geteuid() || owner == 0;
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// Returns whether anybody may put another file in the place of one in the folder.
bool is_open_to_all(const struct stat& folder) {
  return (folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) == 0;
}

Error writable(const std::string& path, const struct stat& status, mode_t forbidden,
               const std::string& who) {
  const char* const change = forbidden == S_IWOTH ? "o-w" : "go-w";
  return {ErrorCode::invalid_argument,
          path + " can be changed by " + who + ": its mode is " + mode_text(status.st_mode) +
              ", and at most " + mode_text(status.st_mode & ~forbidden) + " is accepted; " +
              shell_text(std::array<std::string, 3>{"chmod", change, path})};
}

Error of_another(const std::string& path, uid_t owner) {
  return {ErrorCode::invalid_argument,
          path + " belongs to user " + std::to_string(owner) +
              ", who can change it; as that user "
              "or root: " +
              shell_text(std::array<std::string, 3>{"chown", std::to_string(::geteuid()), path})};
}

Result<void> check_link(const std::string& path, const struct stat& link,
                        const std::optional<struct stat>& folder) {
  const bool is_anybodys = folder && (folder->st_mode & S_IWOTH) != 0 && !is_trusted(link.st_uid);
  if (!is_anybodys) return {};
  return failure(ErrorCode::invalid_argument,
                 path + " is a link that user " + std::to_string(link.st_uid) +
                     " has put where everybody can write; name the folder itself, or remove it: " +
                     shell_text(std::array<std::string, 2>{"rm", path}));
}

}  // namespace

std::string mode_text(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & kPermissions));
  return text;
}

Result<void> check_private_folder(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  std::list<fs::path> left(absolute.begin(), absolute.end());
  fs::path at = "/";
  std::optional<struct stat> above, status = status_of(at);
  for (int links = 0; !left.empty();) {
    const fs::path name = left.front();
    left.pop_front();
    if (name.empty() || name == "." || name == "/") continue;
    if (name == "..") {
      at = at.parent_path();
      status = status_of(at);
      continue;
    }
    if (status && is_open_to_all(*status))
      return failure(writable(at, *status, S_IWOTH, "everybody"));
    const fs::path next = at / name;
    above = status;
    status = status_of(next);
    if (!status) return {};
    if (!S_ISLNK(status->st_mode)) {
      at = next;
      continue;
    }
    HOCKET_TRY(check_link(next, *status, above));
    const fs::path target = fs::read_symlink(next, error);
    if (error || ++links > kMostLinks) return {};  // it cannot be opened either
    left.insert(left.begin(), target.begin(), target.end());
    if (target.is_absolute()) at = "/";
    status = status_of(at);
  }
  if (!status) return {};
  if (!is_trusted(status->st_uid)) return failure(of_another(at, status->st_uid));
  if ((status->st_mode & kWriteByOthers) != 0)
    return failure(writable(at, *status, kWriteByOthers, "others than its owner"));
  return {};
}

Result<void> check_not_everybodys(const std::string& path) {
  const std::string folder = fs::path(path).parent_path();
  const auto around = status_of(folder), status = status_of(path);
  if (around && is_open_to_all(*around))
    return failure(writable(folder, *around, S_IWOTH, "everybody"));
  if (!status) return {};
  if ((status->st_mode & S_IWOTH) != 0)
    return failure(writable(path, *status, S_IWOTH, "everybody"));
  const bool is_among_all = around && (around->st_mode & S_IWOTH) != 0;
  if (is_among_all && !is_trusted(status->st_uid)) return failure(of_another(path, status->st_uid));
  return {};
}

}  // namespace hocket
