#include "core/partitioning/conflict_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::partitioning {
namespace {

using testing::ElementsAre;

TEST(ConflictOrder, IsThatOfTheKeysAsFarAsAccessesAllow) {
  const std::vector<std::vector<Access>> accesses{
      {write(DataId{0})}, {read(DataId{0})}, {update(DataId{1})}, {write(DataId{0})}, {}};
  const auto order = [&](const std::vector<int>& keys) {
    return conflict_order(
        keys, 2, [&](std::size_t i) -> const auto& { return accesses[i]; });
  };
  EXPECT_THAT(order({0, 1, 2, 3, 4}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(order({4, 3, 2, 1, 0}), ElementsAre(4, 2, 0, 1, 3));
  EXPECT_THAT(order({9, 1, 8, 0, 10}), ElementsAre(2, 0, 1, 3, 4));
}

}  // namespace
}  // namespace hocket::partitioning
