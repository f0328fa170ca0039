#include "tuner/space.h"

#include <limits>
#include <set>
#include <string>

#include "core/check.h"

namespace hocket {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return failure(ErrorCode::invalid_argument, std::move(message));
}

}  // namespace

Result<Space> Space::make(std::vector<Parameter> parameters) {
  if (parameters.empty()) {
    return invalid("the search space has no parameter; give at least one");
  }
  if (parameters.size() > kMaxParameters) {
    return invalid("the search space has " + std::to_string(parameters.size()) +
                   " parameters; at most " + std::to_string(kMaxParameters) + " can be searched");
  }
  std::set<std::string> names;
  for (auto& parameter : parameters) {
    if (auto ok = validate(parameter); !ok) return failure(ok.error());
    if (!names.insert(parameter.name).second) {
      return invalid("parameter " + parameter.name + " is there twice");
    }
    parameter.default_value = *hocket::admit(parameter.domain, parameter.default_value);
  }
  return Space(std::move(parameters));
}

std::uint64_t Space::size() const {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t product = 1;
  for (const auto& parameter : parameters_) {
    const std::uint64_t factor = hocket::size(parameter.domain);
    if (product > most / factor) return most;
    product *= factor;
  }
  return product;
}

Params Space::defaults() const {
  Params params;
  for (const auto& parameter : parameters_) params[parameter.name] = parameter.default_value;
  return params;
}

Result<Params> Space::admit(const Params& params) const {
  Params admitted;
  for (const auto& parameter : parameters_) {
    const auto it = params.find(parameter.name);
    if (it == params.end()) return invalid("parameter " + parameter.name + " has no value");
    auto value = hocket::admit(parameter.domain, it->second);
    if (!value) return failure(value.error().in("parameter " + parameter.name));
    admitted[parameter.name] = std::move(*value);
  }
  for (const auto& [name, value] : params) {
    if (!admitted.contains(name)) return invalid("the space has no parameter \"" + name + "\"");
  }
  return admitted;
}

UnitPoint Space::encode(const Params& params) const {
  UnitPoint unit;
  for (const auto& parameter : parameters_) {
    unit.push_back(hocket::encode(parameter.domain, params.at(parameter.name)));
  }
  return unit;
}

Params Space::decode(const UnitPoint& unit) const {
  HOCKET_CHECK(unit.size() == parameters_.size(), "one coordinate a parameter");
  Params params;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    params[parameters_[i].name] = hocket::decode(parameters_[i].domain, unit[i]);
  }
  return params;
}

UnitPoint Space::snap(const UnitPoint& unit) const {
  HOCKET_CHECK(unit.size() == parameters_.size(), "one coordinate a parameter");
  UnitPoint snapped(unit.size());
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const Domain& domain = parameters_[i].domain;
    snapped[i] = hocket::encode(domain, hocket::decode(domain, unit[i]));
  }
  return snapped;
}

Params Space::point_at(std::uint64_t index) const {
  Params params;
  for (const auto& parameter : parameters_) {
    const std::uint64_t count = hocket::size(parameter.domain);
    params[parameter.name] = value_at(parameter.domain, index % count);
    index /= count;
  }
  return params;
}

Result<void> check_searchable(const Space& space) {
  if (space.size() > 1) return {};
  return invalid(
      "the search space has a single point, so there is nothing to choose; widen a range or add a "
      "choice");
}

}  // namespace hocket
