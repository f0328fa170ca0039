#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "core/graph/region.h"
#include "models/signals/signals.h"

namespace hocket {
namespace {

constexpr std::size_t kShownBytes = 60;
constexpr std::size_t kMostRegions = 10'000;
constexpr int kMostDepth = 16;

std::int64_t line_of(const YAML::Node& node) {
  return std::int64_t{node.Mark().line} + 1;
}

tl::unexpected<Error> wrong(const YAML::Node& node, const std::string& what) {
  return failure(ErrorCode::invalid_argument,
                 "line " + std::to_string(line_of(node)) + ": " + what);
}

std::string shown(const YAML::Node& node) {
  if (node.IsScalar()) return "\"" + printable(node.Scalar(), kShownBytes) + "\"";
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return "nothing";
}

Result<std::int64_t> integer_of(const YAML::Node& node, const std::string& what, std::int64_t low,
                                std::int64_t high) {
  std::int64_t value = 0;
  if (node.IsScalar() && YAML::convert<std::int64_t>::decode(node, value) && value >= low &&
      value <= high)
    return value;
  return wrong(node, what + ": expected " + std::to_string(low) + " to " + std::to_string(high) +
                         ", found " + shown(node));
}

/// Calls each(key, value) for the members of a map. The error says which is given twice.
template <class Each>
Result<void> for_members(const YAML::Node& map, const std::string& what, Each each) {
  if (!map.IsMap()) return wrong(map, what + ": expected a map, found " + shown(map));
  std::set<std::string> seen;
  for (const auto& member : map) {
    if (!member.first.IsScalar()) return wrong(member.first, what + ": expected a word as a key");
    if (!seen.insert(member.first.Scalar()).second)
      return wrong(member.first, what + ": " + shown(member.first) + " is given twice");
    HOCKET_TRY(each(member.first, member.second));
  }
  return {};
}

class SignalsParser {
 public:
  Result<Signals> parse(const YAML::Node& root) {
    constexpr std::string_view kKeys[] = {"mesh", "regions"};
    HOCKET_TRY(
        for_members(root, "signals", [&](const auto& key, const auto& value) -> Result<void> {
          if (key.Scalar() == "mesh") return mesh(value);
          // Regions name axes, so they are read when these are known.
          if (key.Scalar() == "regions") return {};
          return unknown(key, kKeys);
        }));
    if (signals_.mesh.empty())
      return wrong(root, "mesh: expected axes with their sizes, such as mesh: {data: 8}");
    if (const YAML::Node regions = root["regions"]; regions.IsDefined()) {
      HOCKET_TRY(for_members(regions, "regions", [&](const auto& key, const auto& value) {
        return region(key.Scalar(), key, value, 0);
      }));
    }
    return std::move(signals_);
  }

 private:
  template <class Names>
  static tl::unexpected<Error> unknown(const YAML::Node& key, const Names& names) {
    std::string all;
    for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
    return wrong(key, "there is no " + shown(key) + did_you_mean(key.Scalar(), names) +
                          "; there are " + all);
  }

  Result<void> mesh(const YAML::Node& node) {
    return for_members(node, "mesh", [&](const auto& key, const auto& value) -> Result<void> {
      const auto size = integer_of(value, "size of axis " + shown(key), 1, kMostSignalRanks);
      HOCKET_TRY(size);
      if (signals_.ranks() > kMostSignalRanks / *size)
        return wrong(value,
                     "mesh: expected at most " + std::to_string(kMostSignalRanks) + " ranks");
      signals_.mesh.push_back({key.Scalar(), *size});
      return {};
    });
  }

  /// An axis, or several in brackets.
  Result<NamedAxes> axes(const YAML::Node& node, const std::string& what) const {
    NamedAxes found{{}, line_of(node)};
    const auto add = [&](const YAML::Node& name) -> Result<void> {
      std::vector<std::string> names;
      for (const MeshAxis& axis : signals_.mesh) names.push_back(axis.name);
      if (!name.IsScalar()) return wrong(name, what + ": expected an axis, found " + shown(name));
      if (std::ranges::find(names, name.Scalar()) == names.end())
        return failure(unknown(name, names).value().in(what));
      if (std::ranges::find(found.names, name.Scalar()) != found.names.end())
        return wrong(name, what + ": axis " + shown(name) + " is given twice");
      found.names.push_back(name.Scalar());
      return {};
    };
    if (node.IsSequence()) {
      for (const auto& name : node) HOCKET_TRY(add(name));
    } else {
      HOCKET_TRY(add(node));
    }
    return found;
  }

  Result<void> zero(const YAML::Node& node, RegionSignal& signal) const {
    ZeroSignal zero;
    constexpr std::string_view kKeys[] = {"zero", "axis"};
    HOCKET_TRY(
        for_members(node, "parameters", [&](const auto& key, const auto& value) -> Result<void> {
          if (key.Scalar() == "zero") {
            const auto stage = integer_of(value, "zero", 0, 3);
            HOCKET_TRY(stage);
            zero.stage = *stage;
            return {};
          }
          if (key.Scalar() != "axis") return unknown(key, kKeys);
          auto found = axes(value, "axis");
          HOCKET_TRY(found);
          zero.axes = std::move(*found);
          return {};
        }));
    if (zero.stage > 0 && zero.axes.names.empty())
      return wrong(node,
                   "parameters: expected the axis over which they are divided, such as "
                   "parameters: {zero: 1, axis: data}");
    signal.zero = std::move(zero);
    return {};
  }

  /// GT's words: the number of the dimension, and how many ranks share it, or an axis by its name.
  Result<void> shard(const YAML::Node& node, RegionSignal& signal) const {
    DividedParameters divided{.of = ParameterDimension::counted, .axes = {{}, line_of(node)}};
    bool has_axis = false, has_workers = false;
    constexpr std::string_view kKeys[] = {"axis", "workers"};
    HOCKET_TRY(for_members(node, "shard", [&](const auto& key, const auto& value) -> Result<void> {
      if (key.Scalar() == "axis") {
        const auto dimension = integer_of(value, "axis", -8, 7);
        HOCKET_TRY(dimension);
        divided.dimension = *dimension;
        has_axis = true;
        return {};
      }
      if (key.Scalar() != "workers") return unknown(key, kKeys);
      has_workers = true;
      if (const auto count = integer_of(value, "workers", 1, kMostSignalRanks)) {
        divided.workers = *count;
        return {};
      }
      auto found = axes(value, "workers");
      HOCKET_TRY(found);
      divided.axes = std::move(*found);
      return {};
    }));
    if (!has_axis || !has_workers)
      return wrong(node,
                   "shard: expected a dimension and a number of ranks, or the name of an axis "
                   "of the mesh, such as shard: {axis: 0, workers: 4}");
    if (divided.workers > 0) {
      for (const MeshAxis& axis : signals_.mesh)
        if (axis.size == divided.workers) divided.axes.names.push_back(axis.name);
      if (divided.axes.names.size() != 1)
        return wrong(node, "workers: expected the size of one axis of the mesh, found " +
                               std::to_string(divided.workers) + ", the size of " +
                               std::to_string(divided.axes.names.size()) +
                               "; name the axis instead");
    }
    signal.parameters.push_back(std::move(divided));
    return {};
  }

  /// Reads what is said of a region, and of regions and parameters within it.
  Result<void> region(const std::string& pattern, const YAML::Node& name, const YAML::Node& node,
                      int depth) {
    if (depth > kMostDepth || signals_.regions.size() >= kMostRegions)
      return wrong(node, "expected at most " + std::to_string(kMostRegions) +
                             " regions, and few within another");
    if (auto ok = check_region_pattern(pattern); !ok)
      return wrong(name, "region " + shown(name) + ": " + ok.error().message);
    const std::size_t index = signals_.regions.size();
    signals_.regions.push_back({.pattern = pattern, .line = line_of(name)});
    constexpr std::string_view kKeys[] = {"batch", "context", "sequence",   "columns",
                                          "rows",  "experts", "parameters", "shard"};
    const std::string what = "region \"" + printable(pattern, kShownBytes) + "\"";
    return for_members(node, what, [&](const auto& key, const auto& value) -> Result<void> {
      const std::string& word = key.Scalar();
      const auto known = [&]() -> Result<void> {
        RegionSignal& signal = signals_.regions[index];
        if (word == "parameters") return zero(value, signal);
        if (word == "shard") return shard(value, signal);
        auto found = axes(value, word);
        HOCKET_TRY(found);
        if (word == "batch")
          signal.batch = std::move(*found);
        else if (word == "context")
          signal.context = std::move(*found);
        else if (word == "sequence")
          signal.sequence = std::move(*found);
        else
          signal.parameters.push_back({.of = word == "columns" ? ParameterDimension::columns
                                             : word == "rows"  ? ParameterDimension::rows
                                                               : ParameterDimension::experts,
                                       .axes = std::move(*found)});
        return {};
      };
      if (std::ranges::find(kKeys, word) != std::end(kKeys)) {
        const auto ok = known();
        return ok ? ok : failure(ok.error().in(what));
      }
      if (value.IsMap()) return region(pattern + "." + word, key, value, depth + 1);
      return failure(unknown(key, kKeys).value().in(what));
    });
  }

  Signals signals_;
};

}  // namespace

Result<Signals> parse_signals(std::string_view text) {
  if (text.size() > kMostSignalsBytes) {
    return failure(ErrorCode::invalid_argument,
                   "signals: expected at most " + std::to_string(kMostSignalsBytes) + " bytes");
  }
  try {
    return SignalsParser().parse(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return failure(ErrorCode::invalid_argument,
                   "line " + std::to_string(std::int64_t{error.mark.line} + 1) + ": " +
                       printable(error.msg, kShownBytes));
  }
}

}  // namespace hocket
