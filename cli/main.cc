#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "cli/application.h"

namespace {

/// Returns the columns of the terminal on stderr; 0 if stderr is not a terminal.
int stderr_columns() {
  winsize size{};
  if (isatty(STDERR_FILENO) == 0) return 0;
  constexpr int kUsualColumns = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

}  // namespace

int main(int argc, char** argv) {
  return hocket::run_hocket({argv + 1, argv + argc}, std::cout, std::cerr, stderr_columns());
}
