#include "core/files/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

Error system_error(const std::string& what, ErrorCode code = ErrorCode::unavailable) {
  return {code, what + ": " + std::generic_category().message(errno)};
}

/// Closes the descriptor when it goes out of scope.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::fsync(descriptor_) == 0;
  }

 private:
  const int descriptor_;
};

Error open_error(const std::string& path) {
  if (errno == ENOENT) return system_error("cannot read a file " + path, ErrorCode::not_found);
  if (errno == ELOOP) {
    return {ErrorCode::invalid_argument,
            "cannot read a file " + path + ": it is a symbolic link; name the file itself"};
  }
  return system_error("cannot read a file " + path);
}

Result<void> check_private(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) {
    return failure(ErrorCode::invalid_argument,
                   "cannot read a file " + path + ": it is not a regular file");
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return failure(ErrorCode::invalid_argument,
                   path +
                       " belongs to another user, who can read and change it; make one of "
                       "your own");
  }
  if ((status.st_mode & kOthers) != 0) {
    return failure(ErrorCode::invalid_argument,
                   path +
                       " can be used by others than its owner, so it is not used; chmod 600 "
                       "it");
  }
  return {};
}

}  // namespace

Result<std::string> read_private_file(const std::string& path, std::int64_t limit_bytes) {
  // Without O_NONBLOCK, opening a pipe blocks until somebody writes to it.
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return failure(open_error(path));
  struct stat status = {};
  if (::fstat(file.descriptor(), &status) != 0) return failure(system_error(path));
  HOCKET_TRY(check_private(path, status));
  std::string text;
  for (char block[4096];;) {
    const ssize_t bytes = ::read(file.descriptor(), block, sizeof block);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return failure(system_error("cannot read a file " + path));
    if (bytes == 0) return text;
    text.append(block, static_cast<std::size_t>(bytes));
    if (static_cast<std::int64_t>(text.size()) > limit_bytes) {
      return failure(ErrorCode::unavailable,
                     path + " is larger than " + std::to_string(limit_bytes) + " bytes");
    }
  }
}

Result<bool> create_private_file(const std::string& path, std::string_view text) {
  const std::string unfinished = path + "." + std::to_string(::getpid());
  ::unlink(unfinished.c_str());  // left by a killed process that had this id
  const OpenFile file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return failure(system_error("cannot write " + unfinished));
  // A link to an existing path fails, whatever the path is.
  const bool is_created = file.write(text) && ::link(unfinished.c_str(), path.c_str()) == 0;
  const bool exists = !is_created && errno == EEXIST;
  const Error error = system_error("cannot write " + path);
  ::unlink(unfinished.c_str());
  if (!is_created && !exists) return failure(error);
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
