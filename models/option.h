#pragma once

// The options of a model as a table: names, ranges and meanings for whoever checks them or offers
// them to people. Pure; any thread.

#include <cmath>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// An option of a model whose options are the struct `Options`.
template <class Options>
struct OptionRow {
  constexpr OptionRow(std::string_view its_name, std::int64_t Options::*member, double least,
                      double most, std::string_view meaning)
      : name(its_name), whole(member), low(least), high(most), about(meaning) {}
  constexpr OptionRow(std::string_view its_name, double Options::*member, double least, double most,
                      std::string_view meaning)
      : name(its_name), fraction(member), low(least), high(most), about(meaning) {}

  std::string_view name;
  /// The member is one of these.
  std::int64_t Options::*whole = nullptr;
  double Options::*fraction = nullptr;
  double low, high;
  std::string_view about;

  bool is_whole() const { return whole != nullptr; }
  double of(const Options& options) const {
    return is_whole() ? static_cast<double>(options.*whole) : options.*fraction;
  }
  /// Requires a whole number if the option is_whole().
  void set(Options& options, double value) const {
    if (is_whole()) {
      options.*whole = static_cast<std::int64_t>(value);
    } else {
      options.*fraction = value;
    }
  }
};

/// Options of a size that a paper or a company has given a name.
template <class Options>
struct Preset {
  std::string_view name;
  Options options;
};

/// Returns "0.1", "4096".
inline std::string option_text(double value) {
  constexpr int kDigits = 15;
  std::ostringstream text;
  text.precision(kDigits);
  text << value;
  return text.str();
}

/// invalid_argument for a value that the option cannot have: "layers: expected a whole number from
/// 1 to 4096, found 0".
template <class Options>
Result<void> check_option(const OptionRow<Options>& row, double value) {
  const bool is_whole = std::floor(value) == value;
  if (value >= row.low && value <= row.high && (is_whole || !row.is_whole())) return {};
  return invalid(std::string(row.name) + ": expected a " + (row.is_whole() ? "whole " : "") +
                 "number from " + option_text(row.low) + " to " + option_text(row.high) +
                 ", found " + option_text(value));
}

/// Returns the error of the first option that is out of its range.
template <class Options>
Result<void> check_options(std::span<const OptionRow<Options>> rows, const Options& options) {
  for (const auto& row : rows) HOCKET_TRY(check_option(row, row.of(options)));
  return {};
}

}  // namespace hocket
