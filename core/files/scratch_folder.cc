#include "core/files/scratch_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDrawn = "XXXXXX";  // mkdtemp() replaces each X
constexpr int kMakeAttempts = 100;

// The locale does not decide about names of files.
bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Returns the beginning of the names on this host.
std::string name_prefix() {
  char host[65] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  std::string name = host;
  std::ranges::replace_if(
      name, [](char c) { return !is_letter_or_digit(c) && c != '.' && c != '_'; }, '-');
  return "hocket-scratch-" + name + "-";
}

bool is_scratch_name(std::string_view name, std::string_view prefix) {
  return name.size() == prefix.size() + kDrawn.size() && name.starts_with(prefix) &&
         std::ranges::all_of(name.substr(prefix.size()), is_letter_or_digit);
}

/// An open folder. Closing it frees its lock.
class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  ~OpenFolder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Returns whether this user alone can use the folder. Somebody else may make a folder of any
  /// name in a folder for temporary files.
  bool is_own() const {
    struct stat status = {};
    return ::fstat(descriptor_, &status) == 0 && status.st_uid == ::geteuid() &&
           (status.st_mode & 0777) == 0700;
  }

  /// Returns 0 if this holds the lock now, otherwise the error: EWOULDBLOCK if another one does.
  int lock(int kind) const {
    while (::flock(descriptor_, kind | LOCK_NB) != 0) {
      if (errno != EINTR) return errno;
    }
    return 0;
  }

  bool is_at(const std::string& path) const {
    struct stat here = {}, there = {};
    return ::fstat(descriptor_, &here) == 0 && ::lstat(path.c_str(), &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
  }

  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

}  // namespace

Result<std::string> temporary_folder() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder.string();
  return failure(ErrorCode::unavailable,
                 "there is no folder for temporary files: " + error.message() +
                     "; set TMPDIR to a folder that can be written");
}

std::string scratch_folder_pattern(const std::string& parent) {
  return (fs::path(parent) / (name_prefix() + std::string(kDrawn))).string();
}

Result<ScratchFolder> ScratchFolder::make() {
  const auto parent = temporary_folder();
  HOCKET_TRY(parent);
  return make(*parent);
}

Result<ScratchFolder> ScratchFolder::make(const std::string& parent) {
  for (const FoundScratchFolder& found : find_scratch_folders(parent)) {
    // One that cannot be removed keeps nobody from making another; `hocket doctor` shows it.
    if (found.is_left_over) (void)remove_scratch_folder(found.path);
  }
  const std::string pattern = scratch_folder_pattern(parent);
  int error = EBUSY;
  for (int attempt = 0; attempt < kMakeAttempts; ++attempt) {
    std::string path = pattern;
    if (::mkdtemp(path.data()) == nullptr) {
      error = errno;
      break;
    }
    OpenFolder folder(path);
    // Where folders cannot be locked, no process takes one for left over.
    if (folder.lock(LOCK_EX) != EWOULDBLOCK && folder.is_at(path)) {
      return ScratchFolder(std::move(path), folder.release());
    }
    ::rmdir(path.c_str());
  }
  return failure(ErrorCode::unavailable, "cannot make the folder " + pattern + ": " +
                                             std::generic_category().message(error) +
                                             "; set TMPDIR to a folder that can be written");
}

ScratchFolder::ScratchFolder(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), descriptor_(std::exchange(other.descriptor_, -1)) {}

void ScratchFolder::pass_on() {
  if (descriptor_ < 0) return;
  const int flags = ::fcntl(descriptor_, F_GETFD);
  if (flags >= 0) ::fcntl(descriptor_, F_SETFD, flags & ~FD_CLOEXEC);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<FoundScratchFolder> find_scratch_folders(const std::string& parent) {
  std::vector<FoundScratchFolder> found;
  const std::string prefix = name_prefix();
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    if (!is_scratch_name(at->path().filename().string(), prefix)) continue;
    std::string path = at->path().string();
    const OpenFolder folder(path);
    // Two that look at once share this lock.
    if (folder.is_own()) found.push_back({std::move(path), folder.lock(LOCK_SH) == 0});
  }
  std::ranges::sort(found, {}, &FoundScratchFolder::path);
  return found;
}

Result<bool> remove_scratch_folder(const std::string& path) {
  const OpenFolder folder(path);
  const bool is_scratch = is_scratch_name(fs::path(path).filename().string(), name_prefix());
  if (!is_scratch || !folder.is_own() || folder.lock(LOCK_EX) != 0 || !folder.is_at(path)) {
    return false;
  }
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return true;
  return failure(ErrorCode::unavailable, "cannot remove " + path + ": " + error.message());
}

}  // namespace hocket
