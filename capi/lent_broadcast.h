#pragma once

// Messages of rank 0 over a broadcast that a framework lends. Threading as in Collective.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/collective/collective.h"

namespace hocket {

class LentBroadcast final : public Collective {
 public:
  /// A block of rank 0's goes to all other ranks. Returns false when a rank is gone.
  using Send = std::function<bool(std::span<std::byte> block)>;

  LentBroadcast(int rank, int world_size, std::int64_t timeout_ns, Send send)
      : rank_(rank), mesh_({world_size, 1}), timeout_ns_(timeout_ns), send_(std::move(send)) {}

  int rank() const override { return rank_; }
  const Mesh& mesh() const override { return mesh_; }
  std::int64_t timeout_ns() const override { return timeout_ns_; }

  Result<void> run(const CollectiveWork&) override {
    return failure(ErrorCode::unavailable, "the framework exchanges values by itself");
  }
  /// Sends blocks of one size, since the receivers must know it. An empty message is one block.
  Result<void> tell(std::string_view message) override {
    do {
      Block block = {};
      const std::string_view part = message.substr(0, kPayloadBytes);
      std::ranges::copy(std::as_bytes(std::span(kMark)), block.begin());
      block[kMark.size()] = static_cast<std::byte>(part.size() & 0xff);
      block[kMark.size() + 1] = static_cast<std::byte>(part.size() >> 8);
      std::ranges::copy(std::as_bytes(std::span(part)), block.begin() + kHeadBytes);
      if (!send_(block)) return failure(failed());
      message.remove_prefix(part.size());
    } while (!message.empty());
    return {};
  }
  /// Returns the payload of a block.
  Result<std::string> hear() override {
    Block block = {};
    if (!send_(block)) return failure(failed());
    const std::size_t size = static_cast<std::size_t>(block[kMark.size()]) |
                             static_cast<std::size_t>(block[kMark.size() + 1]) << 8;
    const auto mark = std::span(block).first(kMark.size());
    if (size > kPayloadBytes || !std::ranges::equal(mark, std::as_bytes(std::span(kMark)))) {
      return failure(ErrorCode::unavailable,
                     "the framework's broadcast delivered bytes that rank 0 did not send; it needs "
                     "a group, or a tag, that nothing else uses");
    }
    return std::string(reinterpret_cast<const char*>(block.data() + kHeadBytes), size);
  }
  void abort() override {}

 private:
  /// Begins each block, so that another's bytes are noticed; the size of the payload follows it.
  static constexpr std::string_view kMark = "hocket";
  static constexpr std::size_t kHeadBytes = 8, kPayloadBytes = 504;
  using Block = std::array<std::byte, kHeadBytes + kPayloadBytes>;

  static Error failed() {
    return {ErrorCode::unavailable, "the framework's broadcast failed; another rank may be gone"};
  }

  const int rank_;
  const Mesh mesh_;
  const std::int64_t timeout_ns_;
  const Send send_;
};

}  // namespace hocket
