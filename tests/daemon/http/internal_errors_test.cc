#include "daemon/http/internal_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace hocket {
namespace {

using ::testing::EndsWith;
using ::testing::SizeIs;

TEST(InternalErrors, WhatIsThrownIsLoggedAndCountedOnce) {
  std::vector<std::string> lines;
  const InternalErrors errors(
      Log({.sink = [&](std::string_view line) { lines.emplace_back(line); }}));
  const InternalErrors copy = errors;
  EXPECT_EQ(
      errors.contain(ErrorOrigin::key, {{"key", "a.b"}}, [] { throw std::runtime_error("no"); }),
      "no");
  EXPECT_TRUE(copy.contain(ErrorOrigin::tick, {}, [] { throw 7; }));
  EXPECT_FALSE(copy.contain(ErrorOrigin::tick, {}, [] {}));
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], EndsWith("error internal error where=key error=no key=a.b"));
  EXPECT_THAT(lines[1], EndsWith("where=tick error=\"an exception of an unknown type\""));
  EXPECT_EQ(errors.count(ErrorOrigin::key), 1u);
  EXPECT_EQ(errors.count(ErrorOrigin::tick), 1u);
  EXPECT_EQ(errors.count(ErrorOrigin::handler), 0u);
}

TEST(InternalErrors, ALogThatThrowsIsContainedToo) {
  const InternalErrors errors(Log({.sink = [](std::string_view) { throw 1; }}));
  EXPECT_TRUE(errors.contain(ErrorOrigin::server, {}, [] { throw std::runtime_error("no"); }));
  EXPECT_EQ(errors.count(ErrorOrigin::server), 1u);
}

}  // namespace
}  // namespace hocket
