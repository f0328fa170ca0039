#include "cli/process/own_program.h"

#include <system_error>

namespace hocket {

Result<std::filesystem::path> own_program() {
  std::error_code error;
  auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return failure(ErrorCode::unavailable,
                   "this program cannot find its own file: " + error.message());
  }
  return program;
}

}  // namespace hocket
