#include "core/servers/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hocket::server_wire {
namespace {

TEST(ServerWire, RefusesRequestsThatNobodySends) {
  for (const auto operation : {kPush, kAwait, kPull, kGoodbye, kUpdate}) {
    EXPECT_TRUE(check_request({.operation = operation, .offset_bytes = 4, .values = 1}));
  }
  EXPECT_FALSE(check_request({.operation = 0}));
  EXPECT_FALSE(check_request({.operation = 6}));
  EXPECT_FALSE(check_request({.operation = kPush, .reserved = 1}));
  EXPECT_FALSE(check_request({.operation = kPush, .offset_bytes = -4}));
  EXPECT_FALSE(check_request({.operation = kPush, .offset_bytes = 6}));
  EXPECT_FALSE(check_request({.operation = kPush, .values = std::uint64_t{1} << 61}));
  EXPECT_FALSE(check_request({.operation = kAwait, .timeout_ns = -1}));
  EXPECT_FALSE(check_request({.operation = kAwait, .timeout_ns = kLongestWaitNs + 1}));
}

TEST(ServerWire, CarriesUpdatesAndRefusesThoseThatNoOptimizerHas) {
  const PartUpdate update{.tensor = 7,
                          .step = {.kind = OptimizerKind::adamw,
                                   .update = 3,
                                   .gradient_scale = 0.5,
                                   .learning_rate = 0.25,
                                   .momentum = 0.125,
                                   .beta1 = 0.0625,
                                   .beta2 = 0.75,
                                   .epsilon = 1e-6}};
  EXPECT_EQ(from_wire(to_wire(update)).value(), update);
  const auto refused = [&](auto change) {
    Update changed = to_wire(update);
    change(changed);
    return !from_wire(changed);
  };
  EXPECT_TRUE(refused([](Update& u) { u.optimizer = 0; }));
  EXPECT_TRUE(refused([](Update& u) { u.optimizer = 3; }));
  EXPECT_TRUE(refused([](Update& u) { u.update = 0; }));
  EXPECT_TRUE(refused([](Update& u) { u.learning_rate = -1; }));
  EXPECT_TRUE(refused([](Update& u) { u.beta1 = 1; }));
  EXPECT_TRUE(refused([](Update& u) { u.momentum = 1; }));
  for (double Update::*const value :
       {&Update::gradient_scale, &Update::learning_rate, &Update::momentum, &Update::beta1,
        &Update::beta2, &Update::epsilon})
    EXPECT_TRUE(refused([&](Update& u) { u.*value = std::nan(""); }));
}

}  // namespace
}  // namespace hocket::server_wire
