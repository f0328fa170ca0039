#include "core/step/mesh.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShownNameBytes = 60;
constexpr std::array<std::string_view, 4> kGroupWords{"world", "whole", "inside", "between"};

bool is_axis_name(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= kMostAxisNameBytes && is_letter(name.front()) &&
         std::ranges::all_of(
             name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }) &&
         std::ranges::count(kGroupWords, name) == 0;
}

std::string list_of(std::span<const MeshAxis> axes) {
  std::string list;
  for (const MeshAxis& axis : axes) list += (list.empty() ? "" : ", ") + axis.name;
  return list.empty() ? "none" : list;
}

Result<void> check_axes(std::span<const MeshAxis> axes, std::int64_t ranks) {
  if (axes.size() > kMostAxes) {
    return invalid("mesh: expected at most " + std::to_string(kMostAxes) + " axes, found " +
                   std::to_string(axes.size()));
  }
  std::int64_t product = 1;
  bool is_above = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string path = "mesh[" + std::to_string(i) + "]";
    if (!is_axis_name(axes[i].name)) {
      return invalid(path + ".name: expected at most " + std::to_string(kMostAxisNameBytes) +
                     " lower-case letters, digits and \"_\", a letter first, and no group's name, "
                     "found \"" +
                     printable(axes[i].name, kShownNameBytes) + "\"");
    }
    for (std::size_t before = 0; before < i; ++before) {
      if (axes[before].name == axes[i].name)
        return invalid(path + ".name: found \"" + axes[i].name + "\" twice");
    }
    if (axes[i].size < 1 || axes[i].size > ranks) {
      return invalid(path + ".size: expected 1 to the " + std::to_string(ranks) + " ranks, found " +
                     std::to_string(axes[i].size));
    }
    is_above = is_above || axes[i].size > ranks / product;
    if (!is_above) product *= axes[i].size;
  }
  if (is_above || product != ranks) {
    return invalid("mesh: expected axes whose sizes make the " + std::to_string(ranks) +
                   " ranks, found " + list_of(axes) + " with a product " +
                   (is_above ? "above" : "of " + std::to_string(product)));
  }
  return {};
}

Result<GroupTier> parse_tier(std::string_view word, std::string_view text) {
  for (const GroupTier tier : {GroupTier::inside, GroupTier::between})
    if (word == to_string(tier)) return tier;
  return invalid("expected \":inside\" or \":between\" behind a group's axes, found \"" +
                 printable(std::string(text), kShownNameBytes) + "\"");
}

}  // namespace

Mesh::Mesh(const RankGrid& grid) : grid_(grid) {
  HOCKET_CHECK(grid.ranks >= 1 && grid.ranks_per_host >= 1 && grid.ranks % grid.ranks_per_host == 0,
               "hosts have equally many ranks");
  // Belong to no axis that a set could name, and so to the set of all axes alone.
  factors_[0] = {kMostAxes, grid.hosts(), grid.ranks_per_host, false};
  factors_[1] = {kMostAxes, grid.ranks_per_host, 1, true};
  factor_count_ = 2;
}

Result<Mesh> Mesh::make(std::vector<MeshAxis> axes, const RankGrid& grid) {
  if (grid.ranks < 1 || grid.ranks_per_host < 1 || grid.ranks % grid.ranks_per_host != 0) {
    return invalid("ranks_per_host: expected a number that divides the " +
                   std::to_string(grid.ranks) + " ranks, found " +
                   std::to_string(grid.ranks_per_host));
  }
  if (axes.empty()) return Mesh(grid);
  HOCKET_TRY(check_axes(axes, grid.ranks));
  Mesh mesh;
  mesh.axes_ = std::move(axes);
  mesh.grid_ = grid;
  mesh.factor_count_ = 0;
  std::int64_t stride = 1, room = grid.ranks_per_host;  // room: places that no axis takes yet
  for (std::size_t i = mesh.axes_.size(); i-- > 0;) {
    const std::int64_t size = mesh.axes_[i].size;
    std::int64_t inner = 1;
    if (room % size == 0) {
      inner = size;
    } else if (size % room == 0) {
      inner = room;
    } else {
      return invalid("mesh[" + std::to_string(i) + "].size: expected a number that divides the " +
                     std::to_string(room) + " ranks of a host that inner axes leave, or is a " +
                     "multiple of them, found " + std::to_string(size) + " of axis " +
                     mesh.axes_[i].name);
    }
    if (inner > 1) mesh.factors_[mesh.factor_count_++] = {i, inner, stride, true};
    if (size > inner)
      mesh.factors_[mesh.factor_count_++] = {i, size / inner, stride * inner, false};
    room /= inner;
    stride *= size;
  }
  std::reverse(mesh.factors_.begin(),
               mesh.factors_.begin() + static_cast<std::ptrdiff_t>(mesh.factor_count_));
  return mesh;
}

bool Mesh::spans(CollectiveGroup group, const Factor& factor) {
  if (!group.axes.is_all() && !group.axes.has(factor.axis)) return false;
  return group.tier == GroupTier::whole || factor.is_inside == (group.tier == GroupTier::inside);
}

RankGrid Mesh::grid_of(AxisSet axes) const {
  RankGrid grid;
  for (const Factor& factor : factors()) {
    if (!spans({axes}, factor)) continue;
    grid.ranks *= factor.size;
    if (factor.is_inside) grid.ranks_per_host *= factor.size;
  }
  return grid;
}

std::int64_t Mesh::index_in(AxisSet axes, std::int64_t rank) const {
  std::int64_t index = 0;
  for (const Factor& factor : factors()) {
    if (spans({axes}, factor)) index = index * factor.size + rank / factor.stride % factor.size;
  }
  return index;
}

std::int64_t Mesh::rank_at(AxisSet axes, std::int64_t rank, std::int64_t index) const {
  for (std::size_t i = factor_count_; i-- > 0;) {
    const Factor& factor = factors_[i];
    if (!spans({axes}, factor)) continue;
    rank += (index % factor.size - rank / factor.stride % factor.size) * factor.stride;
    index /= factor.size;
  }
  return rank;
}

std::int64_t Mesh::size_of(CollectiveGroup group) const {
  std::int64_t size = 1;
  for (const Factor& factor : factors())
    if (spans(group, factor)) size *= factor.size;
  return size;
}

std::int64_t Mesh::size_on_host(CollectiveGroup group) const {
  std::int64_t size = 1;
  for (const Factor& factor : factors())
    if (factor.is_inside && spans(group, factor)) size *= factor.size;
  return size;
}

std::int64_t Mesh::shifted_off_host(CollectiveGroup group, std::int64_t distance) const {
  const std::int64_t size = size_of(group), on_host = size_on_host(group);
  const std::int64_t forward = (distance % size + size) % size, backward = size - forward;
  // Members of a host are adjacent: some stay on it forwards, some round the end.
  return on_host - std::max(on_host - forward, std::int64_t{0}) -
         std::max(on_host - backward, std::int64_t{0});
}

bool Mesh::are_equal(CollectiveGroup one, CollectiveGroup other) const {
  return std::ranges::all_of(factors(), [&](const Factor& factor) {
    return factor.size == 1 || spans(one, factor) == spans(other, factor);
  });
}

std::int64_t Mesh::first_rank(CollectiveGroup group, std::int64_t rank) const {
  for (const Factor& factor : factors())
    if (spans(group, factor)) rank -= rank / factor.stride % factor.size * factor.stride;
  return rank;
}

std::vector<std::int64_t> Mesh::ranks_of(CollectiveGroup group, std::int64_t rank) const {
  std::vector<std::int64_t> ranks{first_rank(group, rank)};
  for (const Factor& factor : factors()) {
    if (!spans(group, factor)) continue;
    const std::vector<std::int64_t> outer = std::exchange(ranks, {});
    for (const std::int64_t first : outer) {
      for (std::int64_t i = 0; i < factor.size; ++i) ranks.push_back(first + i * factor.stride);
    }
  }
  return ranks;
}

Result<CollectiveGroup> Mesh::parse_group(std::string_view text) const {
  CollectiveGroup group;
  std::string_view names = text;
  const std::size_t colon = text.find(':');
  if (colon != text.npos) {
    names = text.substr(0, colon);
    const auto tier = parse_tier(text.substr(colon + 1), text);
    HOCKET_TRY(tier);
    group.tier = *tier;
  } else if (text == "inside" || text == "between") {
    return text == "inside" ? CollectiveGroup::inside : CollectiveGroup::between;
  }
  if (names == "world") return group;
  AxisSet axes = AxisSet::none();
  for (bool has_more = true; has_more;) {
    const std::size_t plus = names.find('+');
    const std::string_view name = names.substr(0, plus);
    const auto axis = std::ranges::find(axes_, name, &MeshAxis::name);
    if (axis == axes_.end()) {
      return invalid("expected \"world\", \"inside\", \"between\" or axes of the mesh (" +
                     list_of(axes_) + ") joined by \"+\", found \"" +
                     printable(std::string(text), kShownNameBytes) + "\"");
    }
    const AxisSet one = AxisSet::of(static_cast<std::size_t>(axis - axes_.begin()));
    if (axes.with(one) == axes) {
      return invalid("expected each axis once, found \"" +
                     printable(std::string(text), kShownNameBytes) + "\"");
    }
    axes = axes.with(one);
    has_more = plus != names.npos;
    if (has_more) names.remove_prefix(plus + 1);
  }
  const bool has_all = axes.bits() == (1u << axes_.size()) - 1;
  if (!has_all) group.axes = axes;
  return group;
}

std::string Mesh::name_of(CollectiveGroup group) const {
  const std::string tier(group.tier == GroupTier::whole ? "" : to_string(group.tier));
  if (group.axes.is_all()) return tier.empty() ? "world" : tier;
  std::string name;
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (group.axes.has(i)) name += (name.empty() ? "" : "+") + axes_[i].name;
  return tier.empty() ? name : name + ":" + tier;
}

}  // namespace hocket
