#include "archive/workers/waiting.h"

#include <poll.h>

namespace hocket {

InterruptibleWait wait_unless_cancelled(const CancelToken& cancel) {
  return [&cancel](std::int64_t ns) {
    pollfd file{cancel.fd(), POLLIN, 0};
    // A signal ends the wait early, which costs one more look.
    poll(&file, 1, static_cast<int>(std::max<std::int64_t>(ns / 1'000'000, 1)));
  };
}

}  // namespace hocket
