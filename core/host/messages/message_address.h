#pragma once

// The port at which a rank takes messages, and the token that callers prove to have. Any thread.

#include <array>
#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hocket {

/// Ranks exchange it as bytes, so that it owns no memory. Texts end with a zero.
struct MessageAddress {
  std::array<char, 64> host = {};  ///< a numeric address
  /// New for each rank; who connects proves to have it, and the secret of the job.
  std::array<char, 72> token = {};
  std::uint64_t port = 0;
};

/// Returns an address of a network interface of this host, of IPv4 if there is one; not_found if it
/// has none.
Result<std::string> address_of_interface(const std::string& name);

}  // namespace hocket
