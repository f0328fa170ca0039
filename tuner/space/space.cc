#include "tuner/space/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "core/base/check.h"
#include "tuner/space/sobol_sequence.h"

namespace hocket {
namespace {

/// Values of one parameter, and settings of all, among which an allowed one is looked for.
constexpr int kSampledValues = 256;
constexpr std::size_t kSampledSettings = 1024;

}  // namespace

Result<Space> Space::make(std::vector<Parameter> parameters,
                          const std::vector<std::string>& constraints) {
  if (parameters.empty()) {
    return invalid("the search space has no parameter; give at least one");
  }
  if (parameters.size() > kMaxParameters) {
    return invalid("the search space has " + std::to_string(parameters.size()) +
                   " parameters; at most " + std::to_string(kMaxParameters) + " can be searched");
  }
  std::set<std::string> names;
  for (auto& parameter : parameters) {
    HOCKET_TRY(validate(parameter));
    if (!names.insert(parameter.name).second) {
      return invalid("parameter " + parameter.name + " is there twice");
    }
    parameter.default_value = *hocket::admit(parameter.domain, parameter.default_value);
  }
  if (constraints.size() > kMaxConstraints) {
    return invalid("the search space has " + std::to_string(constraints.size()) +
                   " constraints; at most " + std::to_string(kMaxConstraints) + " are kept");
  }
  Space space(std::move(parameters));
  for (const auto& text : constraints) {
    auto constraint = Constraint::parse(text, space.parameters_);
    HOCKET_TRY(constraint);
    space.constraints_.push_back(std::move(*constraint));
  }
  HOCKET_TRY(space.apply_constraints());
  return space;
}

template <class Visit>
void Space::for_each_point(Visit visit) const {
  const std::uint64_t points = size();
  HOCKET_CHECK(points <= kLatticeLimit, "only a small space is gone through");
  std::vector<std::vector<double>> levels;
  for (const auto& [name, domain, default_value] : parameters_) {
    auto& numbers = levels.emplace_back();
    for (std::uint64_t i = 0; i < hocket::value_count(domain); ++i) {
      numbers.push_back(number_of(domain, value_at(domain, i)));
    }
  }
  std::vector<double> numbers(parameters_.size());
  for (std::uint64_t index = 0; index < points; ++index) {
    std::uint64_t rest = index;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      numbers[i] = levels[i][rest % levels[i].size()];
      rest /= levels[i].size();
    }
    visit(index, std::span<const double>(numbers));
  }
}

Result<void> Space::apply_constraints() {
  allowed_size_ = size();
  if (constraints_.empty()) return {};
  if (size() <= kLatticeLimit) {
    allowed_size_ = allowed_indices().size();
    if (allowed_size_ < std::min<std::uint64_t>(size(), 2)) {
      return failure(contradiction(allowed_size_));
    }
  }
  if (auto ok = admit(defaults()); !ok) {
    Error error = ok.error().in("the default is excluded; change it or relax the constraint");
    error.message += allowed_instead();
    return failure(std::move(error));
  }
  return {};
}

std::string Space::allowed_instead() const {
  const UnitPoint start = encode(defaults());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    std::optional<UnitPoint> nearest;
    for (int sample = 0; sample < kSampledValues; ++sample) {
      UnitPoint other = start;
      other[i] = (sample + 0.5) / kSampledValues;
      if (!allows(other)) continue;
      if (nearest && std::abs((*nearest)[i] - start[i]) <= std::abs(other[i] - start[i])) continue;
      nearest = std::move(other);
    }
    if (!nearest) continue;
    const auto& [name, domain, default_value] = parameters_[i];
    return "; with " + name + "=" + to_text(hocket::decode(domain, (*nearest)[i])) +
           " it is allowed";
  }
  const auto points = sobol_points(parameters_.size(), 1, kSampledSettings, 1);
  if (std::ranges::any_of(points, [&](const UnitPoint& point) { return allows(point); })) return {};
  return "; of " + std::to_string(kSampledSettings) +
         " settings spread over the space the constraints allow none, so they may contradict one "
         "another";
}

Error Space::contradiction(std::uint64_t left) const {
  // Per constraint: the number of points that it excludes, and that it alone excludes.
  std::vector<std::uint64_t> excluded(constraints_.size()), freed(constraints_.size());
  for_each_point([&](std::uint64_t, std::span<const double> numbers) {
    std::size_t last = 0, count = 0;
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      if (constraints_[i].holds(numbers)) continue;
      ++excluded[i];
      ++count;
      last = i;
    }
    if (count == 1) ++freed[last];
  });
  const auto place_of_most = [](const std::vector<std::uint64_t>& counts) {
    return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                    counts.begin());
  };
  const std::size_t best = place_of_most(freed), widest = place_of_most(excluded);
  const std::string start = "the constraints leave " +
                            (left == 0 ? std::string("no point") : std::string("a single point")) +
                            " of " + std::to_string(size()) + "; relax ";
  const std::string advice =
      freed[best] > 0 ? constraints_[best].text() + ", without which there would be " +
                            std::to_string(left + freed[best])
                      : constraints_[widest].text() + ", which excludes " +
                            std::to_string(excluded[widest]) + ", and at least one other";
  return {ErrorCode::invalid_argument, start + advice};
}

std::vector<std::uint64_t> Space::allowed_indices() const {
  std::vector<std::uint64_t> indices;
  for_each_point([&](std::uint64_t index, std::span<const double> numbers) {
    if (allows_numbers(numbers)) indices.push_back(index);
  });
  return indices;
}

std::vector<double> Space::numbers_of(const Params& params) const {
  std::vector<double> numbers;
  for (const auto& [name, domain, default_value] : parameters_) {
    numbers.push_back(number_of(domain, params.at(name)));
  }
  return numbers;
}

bool Space::allows_numbers(std::span<const double> numbers) const {
  return std::all_of(constraints_.begin(), constraints_.end(),
                     [&](const Constraint& constraint) { return constraint.holds(numbers); });
}

bool Space::allows(const Params& params) const {
  return constraints_.empty() || allows_numbers(numbers_of(params));
}

bool Space::allows(const UnitPoint& unit) const {
  HOCKET_CHECK(unit.size() == parameters_.size(), "one coordinate a parameter");
  if (constraints_.empty()) return true;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const Domain& domain = parameters_[i].domain;
    numbers.push_back(number_of(domain, hocket::decode(domain, unit[i])));
  }
  return allows_numbers(numbers);
}

std::uint64_t Space::size() const {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t product = 1;
  for (const auto& parameter : parameters_) {
    const std::uint64_t factor = hocket::value_count(parameter.domain);
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
  if (constraints_.empty()) return admitted;
  const auto numbers = numbers_of(admitted);
  for (const auto& constraint : constraints_) {
    if (constraint.holds(numbers)) continue;
    std::string values;
    for (const std::size_t place : constraint.parameters()) {
      const auto& name = parameters_[place].name;
      values += (values.empty() ? "" : ", ") + name + "=" + to_text(admitted.at(name));
    }
    return invalid("constraint " + constraint.text() + " excludes " + values);
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

std::optional<UnitPoint> Space::snap_allowed(const UnitPoint& unit) const {
  constexpr int kHalvings = 30;
  UnitPoint point = snap(unit);
  if (allows(point)) return point;
  const UnitPoint target = encode(defaults());
  for (int i = 1; i <= kHalvings; ++i) {
    const double share = std::ldexp(1.0, -i);
    for (std::size_t j = 0; j < point.size(); ++j) {
      point[j] = target[j] + share * (unit[j] - target[j]);
    }
    point = snap(point);
    if (allows(point)) return point;
  }
  if (allows(target)) return target;
  return std::nullopt;
}

Params Space::point_at(std::uint64_t index) const {
  Params params;
  for (const auto& parameter : parameters_) {
    const std::uint64_t count = hocket::value_count(parameter.domain);
    params[parameter.name] = value_at(parameter.domain, index % count);
    index /= count;
  }
  return params;
}

Result<void> check_searchable(const Space& space) {
  if (space.allowed_size() > 1) return {};
  return invalid(
      "the search space has a single point, so there is nothing to choose; widen a range or add a "
      "choice");
}

}  // namespace hocket
