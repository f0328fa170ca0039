#include "client/live/process_meter.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace hocket {
namespace {

std::int64_t processor_now_ns() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void compute_for(std::int64_t ns) {
  for (const auto begin_ns = processor_now_ns(); processor_now_ns() - begin_ns < ns;) {
  }
}

/// A connection over loopback whose receiver reads nothing.
class UnreadConnection {
 public:
  UnreadConnection() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    EXPECT_EQ(bind(listener, any, bytes), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, any, &bytes), 0);
    sender_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)connect(sender_, any, bytes);
    receiver_ = accept(listener, nullptr, nullptr);
    EXPECT_GE(receiver_, 0);
    close(listener);
  }
  ~UnreadConnection() {
    close(sender_);
    close(receiver_);
  }
  UnreadConnection(const UnreadConnection&) = delete;
  UnreadConnection& operator=(const UnreadConnection&) = delete;

  /// Sends until the receiver has no more room.
  void fill() {
    const std::array<char, 65'536> bytes = {};
    while (send(sender_, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
  }

 private:
  int sender_ = -1, receiver_ = -1;
};

TEST(ProcessMeter, AStepHasTheProcessorTimeSinceTheStepBefore) {
  ProcessMeter meter;
  EXPECT_FALSE(meter.step_ended(1000)) << "there is no step before";
  compute_for(3'000'000);
  const auto use = meter.step_ended(2000);
  ASSERT_TRUE(use);
  EXPECT_GE(use->processor_ns, 3'000'000);
  EXPECT_LE(use->processor_ns, processor_now_ns());
}

TEST(ProcessMeter, AStepSendsForNoLongerThanItTakes) {
  constexpr std::int64_t kStepNs = 1'000'000'000;
  ProcessMeter meter;
  std::int64_t now_ns = 1'000'000'000;
  (void)meter.step_ended(now_ns);
  for (int step = 0; step < 50; ++step) {
    UnreadConnection connection;  // found late, if at all; its descriptors are used again
    connection.fill();
    meter.look();
    const auto use = meter.step_ended(now_ns += kStepNs);
    ASSERT_TRUE(use);
    EXPECT_GE(use->sending_ns, 0);
    EXPECT_LE(use->sending_ns, kStepNs);
  }
}

TEST(ProcessMeter, BytesThatWaitForTheirReceiverAreNotSentSlowly) {
  UnreadConnection connection;
  connection.fill();
  ProcessMeter meter;
  (void)meter.step_ended(1);
  for (int i = 0; i < 50; ++i) meter.look();
  const auto use = meter.step_ended(1'000'000'001);
  ASSERT_TRUE(use);
  EXPECT_LT(use->sending_ns, 500'000'000);
}

TEST(ProcessMeter, TheThreadThatLooksEndsWithIt) {
  ProcessMeter meter;
  meter.start();
  meter.start();
}

TEST(ProcessMeter, ATimeThatDoesNotAdvanceIsNoStep) {
  ProcessMeter meter;
  (void)meter.step_ended(5);
  EXPECT_FALSE(meter.step_ended(5));
}

}  // namespace
}  // namespace hocket
