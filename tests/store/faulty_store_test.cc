#include "tests/store/faulty_store.h"

#include <gtest/gtest.h>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

TEST(FaultyStore, FailsTheNthCallAndDoesNotMakeIt) {
  const auto inner = open_store_in_memory();
  FaultyStore store(*inner, 2);
  EXPECT_TRUE(store.create_study(sample_study("a")));
  const auto failed = store.create_study(sample_study("b"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), FaultyStore::fault());
  EXPECT_TRUE(store.create_study(sample_study("c")));
  EXPECT_EQ(must(inner->studies()).size(), 2u);
  EXPECT_EQ(code_of(inner->study("b")), ErrorCode::not_found);
}

}  // namespace
}  // namespace hocket
