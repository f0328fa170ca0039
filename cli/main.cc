#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "cli/application.h"
#include "cli/base/context.h"
#include "cli/process/harmless_signal.h"

namespace {

/// Returns the columns of the terminal on stderr; 0 if stderr is not a terminal.
int stderr_columns() {
  winsize size{};
  if (isatty(STDERR_FILENO) == 0) return 0;
  constexpr int kUsualColumns = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

/// Any verb finds room in this: for its store, for pipes to commands, for what the libraries open.
constexpr rlim_t kOpenFiles = 64;

/// Takes the numbers of standard input, output and error where they are closed, so that no file or
/// connection gets one of them and with it what the program prints. Using them fails as before.
void hold_closed_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    // The lowest free number, which is this one.
    [[maybe_unused]] const int held =
        open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kOpenFiles) {
    std::cerr << "hocket: only " << files.rlim_cur << " files may be open at once; a verb needs "
              << kOpenFiles << ": raise the limit, ulimit -n " << kOpenFiles << " or more"
              << std::endl;
    return hocket::kBadInput;
  }
  hold_closed_streams();
  const hocket::HarmlessSignal full_file(SIGXFSZ);
  return hocket::run_hocket({argv + 1, argv + argc}, std::cout, std::cerr, stderr_columns());
}
