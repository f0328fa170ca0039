#include "core/files/folder_removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

namespace hocket {
namespace {

tl::unexpected<Error> not_removed(const std::string& path, int error) {
  return failure(ErrorCode::unavailable,
                 "cannot remove " + path + ": " + std::generic_category().message(error));
}

/// Removes a link in place of a folder; without one there is nothing to do.
Result<std::int64_t> remove_link(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return 0;
    return not_removed(path, errno);
  }
  if (!S_ISLNK(status.st_mode)) return not_removed(path, ENOTDIR);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return not_removed(path, errno);
  return 0;
}

}  // namespace

Result<std::int64_t> remove_own_files(const std::string& path,
                                      const std::function<bool(std::string_view)>& is_own) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const bool may_be_link = errno == ENOTDIR || errno == ELOOP || errno == ENOENT;
    if (may_be_link) return remove_link(path);
    return not_removed(path, errno);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(descriptor), &::closedir);
  if (!folder) {
    const int error = errno;
    ::close(descriptor);
    return not_removed(path, error);
  }
  // Removing entries while a folder is read may change which ones are read.
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(folder.get())) {
    if (is_own(entry->d_name)) names.push_back(entry->d_name);
  }
  std::int64_t bytes = 0;
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    struct stat status = {};
    const bool is_file = ::fstatat(descriptor, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                         S_ISREG(status.st_mode);
    if (::unlinkat(descriptor, name.c_str(), 0) == 0) {
      if (is_file) bytes += status.st_size;
    } else if (errno != ENOENT) {
      return not_removed(path + "/" + name, errno);
    }
  }
  if (::rmdir(path.c_str()) == 0 || errno == ENOTEMPTY || errno == EEXIST || errno == ENOENT)
    return bytes;
  return not_removed(path, errno);
}

}  // namespace hocket
