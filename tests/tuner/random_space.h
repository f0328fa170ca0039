#pragma once

// Random search spaces and points for property tests.

#include <random>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace hocket {

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

inline std::string numbered(const char* name, std::int64_t number) {
  std::string text = name;
  text += std::to_string(number);
  return text;
}

inline Domain random_domain(Random& random) {
  switch (pick(random, 0, 7)) {
    case 0: {
      const std::int64_t low = pick(random, -1000, 1000);
      return IntegerRange{low, low + pick(random, 0, 20), false};
    }
    case 1: {
      const std::int64_t low = pick(random, 1, 1 << 20);
      return IntegerRange{low, low + pick(random, 0, std::int64_t{1} << 36), true};
    }
    case 2:
      return IntegerRange{INT64_MIN, INT64_MAX, false};
    case 3: {
      const double low = static_cast<double>(pick(random, -1000, 1000)) / 7;
      return RealRange{low, low + static_cast<double>(pick(random, 0, 100)), false};
    }
    case 4:
      return RealRange{1e-300, 1e300, true};
    case 5:
    case 6: {
      Levels levels;
      const bool integers = pick(random, 0, 1) == 0;
      std::int64_t level = pick(random, -100, 100);
      for (auto count = pick(random, 1, 9); count > 0; --count) {
        level += pick(random, 1, 1 << 20);
        if (integers) {
          levels.values.emplace_back(level);
        } else {
          levels.values.emplace_back(static_cast<double>(level) / 3);
        }
      }
      return levels;
    }
    default: {
      Choices choices;
      const auto count = pick(random, 1, 5);
      for (std::int64_t i = 0; i < count; ++i) choices.names.push_back(numbered("c", i));
      return choices;
    }
  }
}

inline double random_unit(Random& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

inline std::vector<Parameter> random_parameters(Random& random) {
  std::vector<Parameter> parameters;
  const auto count = pick(random, 1, 5);
  for (std::int64_t i = 0; i < count; ++i) {
    Domain domain = random_domain(random);
    auto value = decode(domain, random_unit(random));
    parameters.push_back({numbered("p", i), std::move(domain), std::move(value)});
  }
  return parameters;
}

inline Space random_space(Random& random) {
  return Space::make(random_parameters(random)).value();
}

/// Returns a comparison of one or two of `parameters`; in most cases some of their points satisfy
/// it.
inline std::string random_comparison(const std::vector<Parameter>& parameters, Random& random) {
  const auto any = [&]() -> const Parameter& {
    return parameters[static_cast<std::size_t>(
        pick(random, 0, static_cast<std::int64_t>(parameters.size()) - 1))];
  };
  const auto& first = any();
  const auto& second = any();
  const auto value = [&](const Parameter& parameter) {
    const auto text = to_text(decode(parameter.domain, random_unit(random)));
    return std::holds_alternative<Choices>(parameter.domain) ? text : "(" + text + ")";
  };
  if (std::holds_alternative<Choices>(first.domain)) {
    return first.name + (pick(random, 0, 1) == 0 ? "==" : "!=") + value(first);
  }
  const char* signs[] = {"<=", "<", ">=", ">", "==", "!="};
  const std::string sign = signs[pick(random, 0, 5)];
  if (std::holds_alternative<Choices>(second.domain)) return first.name + sign + value(first);
  switch (pick(random, 0, 3)) {
    case 0:
      return first.name + sign + second.name;
    case 1:
      return first.name + "+2*" + second.name + sign + value(first) + "+2*" + value(second);
    case 2:
      return first.name + "*" + second.name + sign + value(first) + "*" + value(second);
    default:
      return first.name + sign + value(first);
  }
}

/// Returns a constraint of one comparison, of two that are joined, or on a condition.
inline std::string random_constraint(const std::vector<Parameter>& parameters, Random& random) {
  const std::string first = random_comparison(parameters, random);
  const char* joins[] = {"", "", "", " and ", " or ", " if "};
  const std::string join = joins[pick(random, 0, 5)];
  return join.empty() ? first : first + join + random_comparison(parameters, random);
}

/// Returns a random space with zero to three constraints, or an error if they contradict one
/// another or exclude the default.
inline Result<Space> random_constrained_space(Random& random) {
  auto parameters = random_parameters(random);
  std::vector<std::string> constraints;
  for (auto count = pick(random, 0, 3); count > 0; --count) {
    constraints.push_back(random_constraint(parameters, random));
  }
  return Space::make(std::move(parameters), constraints);
}

/// Returns `text` with a few bytes changed, removed or inserted.
inline std::string mutated(std::string text, Random& random) {
  for (auto changes = pick(random, 1, 4); changes > 0; --changes) {
    const auto at =
        static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(text.size())));
    const char byte = static_cast<char>(pick(random, 0, 255));
    switch (pick(random, 0, 2)) {
      case 0:
        text.insert(at, 1, byte);
        break;
      case 1:
        if (at < text.size()) text[at] = byte;
        break;
      default:
        text.erase(at, 1);
    }
  }
  return text;
}

}  // namespace hocket
