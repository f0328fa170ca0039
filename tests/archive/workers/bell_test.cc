#include "archive/workers/bell.h"

#include <gtest/gtest.h>

#include <thread>

namespace hocket {
namespace {

constexpr std::int64_t kForeverNs = 1'000'000'000'000;

TEST(Bell, ARingBeforeTheWaitIsNotLost) {
  const CancelToken cancel;
  Bell bell;
  const InterruptibleWait wait = bell.wait_unless_cancelled(cancel);
  bell.ring();
  bell.ring();
  wait(kForeverNs);
  // Both rings were for that wait: this one ends by its time.
  wait(1);
}

TEST(Bell, ARingEndsTheWaitOfAnotherThread) {
  const CancelToken cancel;
  Bell here, there;
  std::thread thread([&] {
    const InterruptibleWait wait = there.wait_unless_cancelled(cancel);
    for (int i = 0; i < 100; ++i) {
      wait(kForeverNs);
      here.ring();
    }
  });
  const InterruptibleWait wait = here.wait_unless_cancelled(cancel);
  for (int i = 0; i < 100; ++i) {
    there.ring();
    wait(kForeverNs);
  }
  thread.join();
}

TEST(Bell, CancellingEndsEveryWait) {
  CancelToken cancel;
  Bell bell;
  const InterruptibleWait wait = bell.wait_unless_cancelled(cancel);
  cancel.cancel();
  wait(kForeverNs);
  wait(kForeverNs);
}

}  // namespace
}  // namespace hocket
