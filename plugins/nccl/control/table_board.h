#pragma once

// NCCL's table of costs for each class of collectives, as it last came: what is allowed, what NCCL
// predicts, and what it would take by itself. NCCL's thread writes a class's table when somebody
// has asked for it; one other thread asks and reads.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "plugins/nccl/tuning/choice.h"
#include "plugins/nccl/tuning/collective_class.h"
#include "plugins/nccl/tuning/cost_table.h"

namespace hocket::nccl {

/// A table that outlives the call. Requires at most NCCL's numbers of algorithms and protocols;
/// what is beyond them is left out.
struct KeptTable {
  std::array<float, static_cast<std::size_t>(abi::kAlgorithms)* abi::kProtocols> cost_us = {};

  CostTable view() { return {cost_us.data(), abi::kAlgorithms, abi::kProtocols}; }
};

class TableBoard {
 public:
  /// Keeps the table if it was asked for. Never waits.
  void offer(int class_index, const CostTable& table) {
    Place& place = places_[static_cast<std::size_t>(class_index)];
    if (place.state.load(std::memory_order_relaxed) != State::asked) [[likely]]
      return;
    keep(place.table, table);
    place.state.store(State::there, std::memory_order_release);
  }

  /// Asks for the class's table; does nothing if it was asked for.
  void ask(int class_index) {
    State none = State::none;
    places_[static_cast<std::size_t>(class_index)].state.compare_exchange_strong(none,
                                                                                 State::asked);
  }
  /// Returns the table; nothing if it has not come yet. Once it has, it does not change.
  std::optional<KeptTable> find(int class_index) const {
    const Place& place = places_[static_cast<std::size_t>(class_index)];
    if (place.state.load(std::memory_order_acquire) != State::there) return std::nullopt;
    return place.table;
  }

 private:
  enum class State : std::uint8_t { none, asked, there };
  struct Place {
    std::atomic<State> state{State::none};
    KeptTable table;
  };

  static void keep(KeptTable& kept, const CostTable& table) {
    for (int algorithm = 0; algorithm < abi::kAlgorithms; ++algorithm) {
      for (int protocol = 0; protocol < abi::kProtocols; ++protocol) {
        const bool is_there = algorithm < table.algorithms && protocol < table.protocols;
        kept.view().at(algorithm, protocol) = is_there ? table.at(algorithm, protocol) : -1;
      }
    }
  }

  std::array<Place, kClasses> places_;
};

}  // namespace hocket::nccl
