#pragma once

// A protocol for tests of greetings.

#include "core/greeting/messages.h"

namespace hocket::greeting {

inline constexpr Protocol kTestProtocol{.magic = 7,
                                        .version = 2,
                                        .name = "its protocol",
                                        .server = "the server",
                                        .everyone = "every rank"};

}  // namespace hocket::greeting
