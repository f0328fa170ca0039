#include "core/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "core/files/blocked_signal.h"

namespace hocket {
namespace {

enum class Purpose { read, write, use };

struct Opening {
  const std::string& path;
  Purpose purpose;
  Links links;
};

std::string cannot(const Opening& opening) {
  switch (opening.purpose) {
    case Purpose::read:
      return "cannot read " + opening.path + ": ";
    case Purpose::write:
      return "cannot write " + opening.path + ": ";
    case Purpose::use:
      break;
  }
  return "cannot use " + opening.path + ": ";
}

Error system_error(const Opening& opening, int number) {
  const bool is_missing =
      opening.purpose == Purpose::read && (number == ENOENT || number == ENOTDIR);
  const std::string reason = number == ELOOP && opening.links == Links::refused
                                 ? "it is a symbolic link"
                                 : std::generic_category().message(number);
  return {is_missing ? ErrorCode::not_found : ErrorCode::unavailable, cannot(opening) + reason};
}

Error wrong_type(const Opening& opening, mode_t mode) {
  return {ErrorCode::invalid_argument, cannot(opening) + "it is " +
                                           std::string(file_type_text(mode)) +
                                           ", and a regular file is expected"};
}

Result<FileDescriptor> open_checked(const Opening& opening, int flags, mode_t mode) {
  struct stat status = {};
  const bool follows = opening.links == Links::followed;
  const int found =
      follows ? ::stat(opening.path.c_str(), &status) : ::lstat(opening.path.c_str(), &status);
  // Opening a device may already change it.
  if (found == 0 && !S_ISREG(status.st_mode)) return failure(wrong_type(opening, status.st_mode));
  if (found != 0 && (errno != ENOENT || (flags & O_CREAT) == 0))
    return failure(system_error(opening, errno));
  // Another file may lie there by now.
  FileDescriptor file(::open(opening.path.c_str(),
                             flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW),
                             mode));
  if (!file || ::fstat(file.get(), &status) != 0) return failure(system_error(opening, errno));
  if (!S_ISREG(status.st_mode)) return failure(wrong_type(opening, status.st_mode));
  return file;
}

}  // namespace

std::string_view file_type_text(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a named pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "no regular file";
  }
}

Result<FileDescriptor> open_regular_file(const std::string& path, Links links) {
  return open_checked({path, Purpose::read, links}, O_RDONLY, 0);
}

Result<std::string> read_open_file(const FileDescriptor& file, const std::string& path,
                                   std::int64_t limit_bytes) {
  std::string text;
  for (char block[1 << 16];;) {
    const ssize_t bytes = ::read(file.get(), block, sizeof block);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return failure(system_error({path, Purpose::read, Links::followed}, errno));
    if (bytes == 0) return text;
    text.append(block, static_cast<std::size_t>(bytes));
    if (static_cast<std::int64_t>(text.size()) > limit_bytes) {
      return failure(ErrorCode::unavailable,
                     path + " is larger than " + std::to_string(limit_bytes) + " bytes");
    }
  }
}

Result<std::string> read_regular_file(const std::string& path, std::int64_t limit_bytes,
                                      Links links) {
  const auto file = open_regular_file(path, links);
  HOCKET_TRY(file);
  return read_open_file(*file, path, limit_bytes);
}

Result<FileDescriptor> open_to_write(const std::string& path, Writing writing, mode_t mode,
                                     Links links) {
  const Opening opening{path, Purpose::write, links};
  auto file =
      open_checked(opening, O_WRONLY | O_CREAT | (writing == Writing::at_end ? O_APPEND : 0), mode);
  HOCKET_TRY(file);
  // Emptied only once it is known to be a regular file.
  if (writing == Writing::from_begin && ::ftruncate(file->get(), 0) != 0)
    return failure(system_error(opening, errno));
  return file;
}

Result<void> write_all(const FileDescriptor& file, std::string_view text, const std::string& path) {
  const BlockedSignal full_file(SIGXFSZ), unread_pipe(SIGPIPE);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return failure(system_error({path, Purpose::write, Links::followed}, errno));
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string unfinished = path + ".part";
  const auto file = open_to_write(unfinished, Writing::from_begin, 0666, Links::refused);
  HOCKET_TRY(file);
  auto written = write_all(*file, text, unfinished);
  if (written && ::rename(unfinished.c_str(), path.c_str()) != 0)
    written = failure(system_error({path, Purpose::write, Links::refused}, errno));
  if (!written) ::unlink(unfinished.c_str());
  return written;
}

Result<void> check_regular_or_missing(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  return failure(wrong_type({path, Purpose::use, Links::refused}, status.st_mode));
}

}  // namespace hocket
