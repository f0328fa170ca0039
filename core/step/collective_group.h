#pragma once

// Groups of ranks among which collectives run, as values: a set of a mesh's axes, and a tier of the
// ranks that differ in them. core/step/mesh.h says which ranks these are. Any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hocket {

/// Most axes of a mesh.
inline constexpr std::size_t kMostAxes = 12;

/// A set of the axes of a mesh; bit i stands for axis i, counted from the outermost. The set of all
/// axes is the same on every mesh, whatever their number.
class AxisSet {
 public:
  /// All axes.
  constexpr AxisSet() = default;
  /// Requires axis < kMostAxes.
  static constexpr AxisSet of(std::size_t axis) {
    return AxisSet(static_cast<std::uint16_t>(1u << axis));
  }
  static constexpr AxisSet none() { return AxisSet(std::uint16_t{0}); }

  constexpr bool has(std::size_t axis) const { return (bits_ >> axis & 1u) != 0; }
  constexpr bool is_all() const { return bits_ == kAll; }
  constexpr AxisSet with(AxisSet other) const {
    return AxisSet(static_cast<std::uint16_t>(bits_ | other.bits_));
  }
  constexpr std::uint16_t bits() const { return bits_; }

  auto operator<=>(const AxisSet&) const = default;

 private:
  static constexpr std::uint16_t kAll = 0xffff;
  explicit constexpr AxisSet(std::uint16_t bits) : bits_(bits) {}

  std::uint16_t bits_ = kAll;
};

/// The ranks of a set of axes that take part (the group axis of Centauri, ASPLOS 2024, section 4).
enum class GroupTier : std::uint8_t {
  whole,    ///< all of them; only these mix links of different bandwidth
  inside,   ///< those on this rank's host
  between,  ///< those at this rank's place on every host
};

inline constexpr std::array<GroupTier, 3> kGroupTiers{GroupTier::whole, GroupTier::inside,
                                                      GroupTier::between};

/// Ranks that take part in a collective: those that differ from this rank in no other axis, or a
/// tier of them.
struct CollectiveGroup {
  AxisSet axes = {};
  GroupTier tier = GroupTier::whole;

  static const CollectiveGroup world, inside, between;

  auto operator<=>(const CollectiveGroup&) const = default;
};

/// All ranks, and their tiers.
inline constexpr CollectiveGroup CollectiveGroup::world{{}, GroupTier::whole};
inline constexpr CollectiveGroup CollectiveGroup::inside{{}, GroupTier::inside};
inline constexpr CollectiveGroup CollectiveGroup::between{{}, GroupTier::between};

/// The groups of all axes.
inline constexpr std::array<CollectiveGroup, 3> kWorldGroups{
    CollectiveGroup::world, CollectiveGroup::inside, CollectiveGroup::between};

/// "whole", …
constexpr std::string_view to_string(GroupTier tier) {
  constexpr std::array<std::string_view, 3> names{"whole", "inside", "between"};
  return names[static_cast<std::size_t>(tier)];
}

}  // namespace hocket
