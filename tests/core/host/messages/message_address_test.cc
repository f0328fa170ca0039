#include "core/host/messages/message_address.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(MessageAddress, IsThatOfAnInterfaceByName) {
  EXPECT_EQ(address_of_interface("lo"), "127.0.0.1");
  for (const char* const name : {"", "l", "loo", "no-such-interface"}) {
    const auto none = address_of_interface(name);
    ASSERT_FALSE(none) << name;
    EXPECT_EQ(none.error().code, ErrorCode::not_found);
    EXPECT_EQ(none.error().message,
              "network interface \"" + std::string(name) + "\" has no address");
  }
}

}  // namespace
}  // namespace hocket
