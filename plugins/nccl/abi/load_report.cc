#include "plugins/nccl/abi/load_report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <string>

#include "plugins/nccl/abi/nccl_version.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

constexpr const char* kVariable = "HOCKET_DOCTOR_FILE";
constexpr int kMostLines = 16;
/// As of cli/checks/load_report.h.
constexpr off_t kMostFileBytes = 1 << 20;
constexpr std::size_t kMostTextBytes = 400;

/// Returns a text as JSON has it. What is not ASCII becomes "?": nothing here can tell UTF-8 from
/// other bytes, of which JSON allows none.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text.substr(0, kMostTextBytes)) {
    const bool is_plain = c >= 0x20 && c < 0x7f;
    if (c == '"' || c == '\\') result += '\\';
    result += is_plain ? c : '?';
  }
  return result + "\"";
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string own_file() {
  Dl_info info = {};
  return dladdr(&ncclTunerPlugin_v5, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

/// Opens the file for one more line; -1 if it is not one that the doctor has made.
int open_file(const char* path) {
  // Not a pipe, for which the job would wait, nor a link of somebody else's.
  const int file = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat status = {};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      status.st_size < kMostFileBytes) {
    return file;
  }
  close(file);
  return -1;
}

/// Takes the file for this process, so that lines of several hosts do not overwrite each other on a
/// file system that has no appending of its own, such as NFS. Gives up after a second, or where
/// there are no locks: on one host, appending alone keeps lines whole.
void lock(int file) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  for (int tries = 0; tries < 100 && fcntl(file, F_SETLK, &whole) != 0; ++tries) {
    if (errno != EAGAIN && errno != EACCES) return;
    usleep(10'000);
  }
}

std::string line_of(const LoadEvent& event, const LoadingNccl& nccl) {
  std::string line = R"({"format":"hocket-load","version":1,"from":"plugin","event":")";
  line += event.what;
  line += "\",\"host\":" + quoted(host_name()) + ",\"pid\":" + std::to_string(getpid());
  line += ",\"plugin\":" + quoted(own_file());
  if (event.interface > 0) line += ",\"interface\":" + std::to_string(event.interface);
  if (event.rank >= 0) line += ",\"rank\":" + std::to_string(event.rank);
  if (event.ranks > 0) line += ",\"ranks\":" + std::to_string(event.ranks);
  if (!nccl.version.empty()) line += ",\"nccl\":" + quoted(nccl.version);
  if (!nccl.file.empty()) line += ",\"nccl_library\":" + quoted(nccl.file);
  return line + "}\n";
}

}  // namespace

bool has_load_report(Environment environment) {
  const char* path = environment(kVariable);
  return path != nullptr && *path != '\0';
}

void report_load(Environment environment, const LoadEvent& event, Logger logger) {
  static std::atomic<int> lines{0};
  if (!has_load_report(environment) || lines.fetch_add(1) >= kMostLines) return;
  const int file = open_file(environment(kVariable));
  if (file < 0) return;
  // An exception must not reach NCCL, which knows none.
  try {
    const std::string line = line_of(event, loading_nccl(logger));
    lock(file);
    // One call, so that lines of several processes do not mix. What is written in part is no line.
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
  } catch (const std::exception&) {
  }
  close(file);
}

}  // namespace hocket::nccl::abi
