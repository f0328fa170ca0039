#pragma once

// Writes states as bytes, so that tests that explore states can tell which they have seen. Not
// synchronized.

#include <cstdint>
#include <string>
#include <type_traits>

namespace hocket::nccl {

class StateText {
 public:
  /// Appends to `out`, which must outlive it. `now_ns` makes times relative: see `since`.
  StateText(std::string& out, std::int64_t now_ns) : out_(out), now_ns_(now_ns) {}

  template <class... Values>
  void add(const Values&... values) {
    (add_one(values), ...);
  }

  std::int64_t since(std::int64_t time_ns) const { return now_ns_ - time_ns; }

 private:
  void add_one(const std::string& text) {
    add_one(text.size());
    out_ += text;
  }
  template <class Number>
  void add_one(Number number) {
    static_assert(std::is_arithmetic_v<Number>);
    out_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  std::string& out_;
  std::int64_t now_ns_;
};

}  // namespace hocket::nccl
