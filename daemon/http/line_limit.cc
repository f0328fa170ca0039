#include "daemon/http/line_limit.h"

#include <utility>

namespace hocket {

std::optional<std::int64_t> LineLimit::allow(const std::string& cause, std::int64_t now_ns) {
  if (each_.wait_ns(cause, now_ns) != 0 || all_.wait_ns(0, now_ns) != 0) {
    ++left_out_;
    return std::nullopt;
  }
  return std::exchange(left_out_, 0);
}

}  // namespace hocket
