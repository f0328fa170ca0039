#pragma once

// The credit window: how many bytes of parts may be in flight at once (ByteScheduler, SOSP 2019,
// section 4.2). Not thread-safe.
//
// A part is admitted if its bytes fit into what is left of the window, or if nothing else is in
// flight, so that a part larger than the window does not wait for ever.

#include <cstdint>

#include "core/base/check.h"

namespace hocket {

class CreditWindow {
 public:
  /// Sets the size of the window. What is in flight stays; a smaller window admits nothing until
  /// there is room again.
  void resize(std::int64_t credit_bytes) { credit_bytes_ = credit_bytes; }

  /// True if a part of `bytes` may start now.
  bool admits(std::int64_t bytes) const {
    return parts_in_flight_ == 0 || in_flight_bytes_ + bytes <= credit_bytes_;
  }

  /// Counts a part that starts.
  void take(std::int64_t bytes) {
    in_flight_bytes_ += bytes;
    ++parts_in_flight_;
  }

  /// Returns the credit of a part. Requires that a part of `bytes` is in flight.
  void give_back(std::int64_t bytes) {
    HOCKET_CHECK(parts_in_flight_ > 0 && in_flight_bytes_ >= bytes,
                 "more parts finished than started");
    in_flight_bytes_ -= bytes;
    --parts_in_flight_;
  }

  std::int64_t in_flight_bytes() const { return in_flight_bytes_; }
  std::int64_t parts_in_flight() const { return parts_in_flight_; }

 private:
  std::int64_t credit_bytes_ = 0;
  std::int64_t in_flight_bytes_ = 0;
  std::int64_t parts_in_flight_ = 0;
};

}  // namespace hocket
