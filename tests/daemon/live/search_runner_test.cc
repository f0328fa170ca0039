#include "daemon/live/search_runner.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace hocket {
namespace {

TEST(SearchThread, AsksInOrderOnAnotherThread) {
  std::vector<int> order;
  std::promise<std::thread::id> last;
  SearchThread searches;
  for (int i = 0; i < 100; ++i) searches.run([&order, i] { order.push_back(i); });
  searches.run([&last] { last.set_value(std::this_thread::get_id()); });
  EXPECT_NE(last.get_future().get(), std::this_thread::get_id());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(SearchThread, ItsEndWaitsForTheAskThatRuns) {
  std::promise<void> began, may_end;
  bool has_ended = false;
  std::optional<SearchThread> searches(std::in_place);
  searches->run([&] {
    began.set_value();
    may_end.get_future().wait();
    has_ended = true;
  });
  began.get_future().wait();
  std::thread ends([&] { searches.reset(); });
  may_end.set_value();
  ends.join();
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace hocket
