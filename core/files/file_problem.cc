#include "core/files/file_problem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace hocket {

std::string file_problem(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return std::generic_category().message(errno);
  struct stat status = {};
  const bool is_folder = ::fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
  ::close(file);
  return is_folder ? std::generic_category().message(EISDIR) : "";
}

}  // namespace hocket
