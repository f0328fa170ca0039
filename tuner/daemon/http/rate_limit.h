#pragma once

// A token bucket per client (Turner 1986): each request takes a token, tokens come back at a fixed
// rate. Keeps the clients seen last, so that its memory is bounded. Pure: time is an argument. For
// one thread.

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
  /// `per_second` > 0 tokens come back, up to `burst` >= 1. Of more than `max_clients` the one that
  /// was seen least recently is forgotten, and has all its tokens again.
  RateLimit(double per_second, double burst, std::size_t max_clients)
      : per_ns_(per_second / 1e9), burst_(std::max(burst, 1.0)), max_clients_(max_clients) {}

  /// 0 when the request may go, which takes a token; else how long until it could, which takes
  /// none. `now_ns` never decreases.
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

  /// The client's bucket, now the first of buckets_.
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
  std::list<Bucket> buckets_;  // the client seen last comes first
  std::unordered_map<Client, typename std::list<Bucket>::iterator, Hash> places_;
};

}  // namespace hocket
