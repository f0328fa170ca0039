#include "plugins/nccl/abi/communicators.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace hocket::nccl::abi {
namespace {

TEST(Communicators, AreFoundByTheirContextUntilTheyAreRemoved) {
  const auto all = std::make_unique<Communicators>();
  std::set<void*> old;
  for (int i = 0; i < 100; ++i) {
    void* context = all->add();
    Communicator* communicator = all->find(context);
    ASSERT_NE(communicator, nullptr);
    EXPECT_TRUE(old.insert(context).second) << "a context is given out twice";
    EXPECT_EQ(communicator->calls, nullptr);
    EXPECT_FALSE(communicator->has_chained_tuner);
    communicator->has_chained_tuner = true;
    communicator->ranks = 5;
    all->remove(context);
    all->remove(context);
    for (void* each : old) EXPECT_EQ(all->find(each), nullptr);
  }
  for (const std::uint64_t bits :
       {std::uint64_t{0}, std::uint64_t{0xB0C8} << 48 | std::uint64_t{0xFFFF} << 32,
        std::uint64_t{0xB0C8} << 48 | std::uint64_t{7} << 32, ~std::uint64_t{0}}) {
    EXPECT_EQ(all->find(reinterpret_cast<void*>(bits)), nullptr);
  }
}

TEST(Communicators, HaveABound) {
  const auto all = std::make_unique<Communicators>();
  void* last = nullptr;
  for (std::size_t i = 0; i < Communicators::kMost; ++i) {
    last = all->add();
    ASSERT_NE(last, nullptr);
  }
  EXPECT_EQ(all->add(), nullptr);
  all->remove(last);
  EXPECT_NE(all->add(), nullptr);
}

TEST(Communicators, AreClosedByTheLaterOfTheirFlags) {
  const auto all = std::make_unique<Communicators>();
  Communicator* its = all->find(all->add());
  its->is_tuner_open = true;
  its->is_profiler_open = true;
  EXPECT_FALSE(all->close(*its, its->is_tuner_open));
  EXPECT_FALSE(all->close(*its, its->is_tuner_open));
  EXPECT_TRUE(all->close(*its, its->is_profiler_open));
  EXPECT_FALSE(all->close(*its, its->is_profiler_open));
}

}  // namespace
}  // namespace hocket::nccl::abi
