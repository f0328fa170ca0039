// A library that a test preloads into a program (LD_PRELOAD), whose database then lies on a disk
// with a fault. HOCKET_TEST_DISK names a file; while it exists, calls that write to a database fail
// with EROFS if it contains "read-only", and wait if it contains "stalled". A call that waits
// creates the file "NAME.waiting".

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

bool is_of_database(int file) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = readlink(link.c_str(), path, sizeof path - 1);
  if (size < 0) return false;
  path[size] = '\0';
  return std::strstr(path, ".db") != nullptr;
}

/// Returns the content of the file that names the fault; "" if there is no fault.
std::string fault(const char* name) {
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  char text[32] = {};
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

/// Returns false if the call must fail; errno is then set.
bool may_write(int file) {
  const char* const name = std::getenv("HOCKET_TEST_DISK");
  if (name == nullptr || !is_of_database(file)) return true;
  const std::string waiting = std::string(name) + ".waiting";
  for (std::string now; (now = fault(name)) != "";) {
    if (now == "read-only") {
      errno = EROFS;
      return false;
    }
    const timespec pause = {.tv_sec = 0, .tv_nsec = now == "slow" ? 20'000'000 : 1'000'000};
    if (now == "slow") {
      nanosleep(&pause, nullptr);
      return true;
    }
    close(open(waiting.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    nanosleep(&pause, nullptr);
  }
  return true;
}

template <class Call>
Call* next(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t pwrite64(int file, const void* data, size_t size, off64_t offset) {
  static auto* const call = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return may_write(file) ? call(file, data, size, offset) : -1;
}

extern "C" int fdatasync(int file) {
  static auto* const call = next<int(int)>("fdatasync");
  return may_write(file) ? call(file) : -1;
}

extern "C" int ftruncate64(int file, off64_t size) noexcept {
  static auto* const call = next<int(int, off64_t)>("ftruncate64");
  return may_write(file) ? call(file, size) : -1;
}
