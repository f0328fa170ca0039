#pragma once

// Token bucket per client (Turner 1986): each request takes a token, and tokens return at a fixed
// rate. Keeps only the most recently seen clients, so that memory is bounded. Pure: time is an
// argument. For one thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace hocket {

template <class Client, class Hash = std::hash<Client>>
class RateLimit {
 public:
  /// Each client regains `per_second` > 0 tokens per second, up to `burst` >= 1. Beyond
  /// `max_clients` the least recently seen client is forgotten and has all its tokens again.
  RateLimit(double per_second, double burst, std::size_t max_clients)
      : per_ns_(per_second / 1e9), burst_(std::max(burst, 1.0)), max_clients_(max_clients) {}

  /// Takes a token and returns 0 if the request is allowed; otherwise takes none and returns the
  /// time until it would be. Requires that `now_ns` never decreases.
  std::int64_t wait_ns(const Client& client, std::int64_t now_ns) {
    Bucket& bucket = seen(client, now_ns);
    const double refill = static_cast<double>(now_ns - bucket.at_ns) * per_ns_;
    bucket.tokens = std::min(burst_, bucket.tokens + refill);
    bucket.at_ns = now_ns;
    if (bucket.tokens < 1) return 1 + static_cast<std::int64_t>((1 - bucket.tokens) / per_ns_);
    bucket.tokens -= 1;
    return 0;
  }

  std::size_t clients() const { return places_.size(); }

 private:
  struct Bucket {
    Client client;
    double tokens;
    std::int64_t at_ns;
  };

  /// Returns the client's bucket and moves it to the front of buckets_.
  Bucket& seen(const Client& client, std::int64_t now_ns) {
    if (const auto found = places_.find(client); found != places_.end()) {
      buckets_.splice(buckets_.begin(), buckets_, found->second);
    } else {
      if (places_.size() >= max_clients_) {
        places_.erase(buckets_.back().client);
        buckets_.pop_back();
      }
      buckets_.push_front({client, burst_, now_ns});
      places_.emplace(client, buckets_.begin());
    }
    return buckets_.front();
  }

  double per_ns_;
  double burst_;
  std::size_t max_clients_;
  // Most recently seen client first.
  std::list<Bucket> buckets_;
  std::unordered_map<Client, typename std::list<Bucket>::iterator, Hash> places_;
};

}  // namespace hocket
