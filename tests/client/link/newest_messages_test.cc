#include "client/link/newest_messages.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(NewestMessages, GivesTheNewestOfEachTypeAndAProfileOnce) {
  NewestMessages messages;
  EXPECT_FALSE(messages.take());
  messages.put(CandidateMessage{4, {}});
  messages.put(ProfileMessage{7, 20});
  messages.put(ConfigMessage{1, {}, ""});
  messages.put(CandidateMessage{5, {}});
  messages.put(ConfigMessage{2, {}, ""});
  EXPECT_EQ(messages.take(), DaemonMessage(ConfigMessage{2, {}, ""}));
  EXPECT_EQ(messages.take(), DaemonMessage(ProfileMessage{7, 20}));
  EXPECT_EQ(messages.take(), DaemonMessage(CandidateMessage{5, {}}));
  EXPECT_FALSE(messages.take());
  messages.put(ProfileMessage{7, 20});
  messages.put(ProfileMessage{6, 20});
  EXPECT_FALSE(messages.take()) << "it was taken up, and what is older was replaced";
  messages.put(ProfileMessage{9, 1});
  messages.put(ProfileMessage{8, 1});
  EXPECT_EQ(messages.take(), DaemonMessage(ProfileMessage{9, 1}));
  EXPECT_FALSE(messages.take());
}

}  // namespace
}  // namespace hocket
