#pragma once

// Where a rank takes messages from others, and what they prove to know there. Any thread.

#include <array>
#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hocket {

/// Ranks tell each other as it is, byte by byte. Texts end with a zero.
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
