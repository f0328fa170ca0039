#include "tuner/trial/output/measured_number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/text.h"
#include "tuner/trial/objective.h"
#include "tuner/trial/output/group_bounds.h"

namespace hocket {
namespace {

using Family = NumberUnit::Family;

constexpr std::size_t kQuoteBytes = 60;

struct NamedFactor {
  std::string_view name;
  double factor;
};

constexpr std::array<NamedFactor, 19> kTimeFactors = {{{"ns", 1e-9},
                                                       {"us", 1e-6},
                                                       {"\u00b5s", 1e-6},
                                                       {"\u03bcs", 1e-6},
                                                       {"\xb5s", 1e-6},
                                                       {"ms", 1e-3},
                                                       {"msec", 1e-3},
                                                       {"msecs", 1e-3},
                                                       {"s", 1},
                                                       {"sec", 1},
                                                       {"secs", 1},
                                                       {"second", 1},
                                                       {"seconds", 1},
                                                       {"min", 60},
                                                       {"mins", 60},
                                                       {"minutes", 60},
                                                       {"h", 3600},
                                                       {"hours", 3600},
                                                       {"usec", 1e-6}}};
constexpr std::array<NamedFactor, 7> kDecimal = {
    {{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"", 1}}};
constexpr std::array<NamedFactor, 5> kBinary = {
    {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}}};
constexpr std::array<std::string_view, 9> kIterations = {
    "it", "its", "iter", "iters", "iteration", "iterations", "step", "steps", "batches"};
/// Nouns behind which a program may print a rate or an amount. Others count where "/" follows.
constexpr std::array<std::string_view, 27> kCounted = {
    "tok",    "toks",   "token", "tokens",   "sample",    "samples", "img",      "imgs",  "image",
    "images", "seq",    "seqs",  "sequence", "sequences", "example", "examples", "word",  "words",
    "frame",  "frames", "fps",   "ips",      "tps",       "FLOPS",   "FLOPs",    "flops", "FLOP"};

template <std::size_t kCount>
std::optional<double> factor_in(const std::array<NamedFactor, kCount>& factors,
                                std::string_view name) {
  const auto found = std::ranges::find(factors, name, &NamedFactor::name);
  if (found == factors.end()) return std::nullopt;
  return found->factor;
}

template <std::size_t kCount>
bool is_among(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_a_second(std::string_view name) {
  return name == "s" || name == "sec" || name == "second";
}

/// Returns the factor of "GB", "MiB", "Gbit" in bytes.
std::optional<double> byte_factor(std::string_view name) {
  double factor = 1;
  if (name.ends_with("bit") || name.ends_with("bits")) {
    factor = 1.0 / 8;
    name = name.substr(0, name.rfind("bit"));
  } else if (name.ends_with("bytes") || name.ends_with("byte")) {
    name = name.substr(0, name.rfind("byte"));
  } else if (name.ends_with('B')) {
    name.remove_suffix(1);
  } else {
    return std::nullopt;
  }
  if (const auto scale = factor_in(kBinary, name)) return *scale * factor;
  if (const auto scale = factor_in(kDecimal, name)) return *scale * factor;
  return std::nullopt;
}

/// Returns the factor of "Gbps", "MBps", "GB" in bytes in a second, with or without "/s" behind.
std::optional<double> transfer_factor(std::string_view thing, bool has_second) {
  if (has_second) {
    if (thing.size() == 2 && thing[1] == 'b') {
      const auto scale = factor_in(kDecimal, thing.substr(0, 1));
      return scale ? std::optional(*scale / 8) : std::nullopt;
    }
    return byte_factor(thing);
  }
  if (!thing.ends_with("ps") || thing.size() < 3) return std::nullopt;
  return transfer_factor(thing.substr(0, thing.size() - 2), true);
}

/// Returns the factor of "k", "Mtok", "TFLOPS".
std::optional<double> count_factor(std::string_view name) {
  if (const auto scale = factor_in(kDecimal, name)) return scale;
  if (is_among(kCounted, name) || name == "%" || name == "x") return 1;
  if (name.size() < 2 || !is_among(kCounted, name.substr(1))) return std::nullopt;
  return factor_in(kDecimal, name.substr(0, 1));
}

std::optional<NumberUnit> rate_unit(std::string_view name, std::string_view thing) {
  const auto of = [&](Family family, double factor) {
    return NumberUnit{family, factor, std::string(name)};
  };
  if (const auto factor = transfer_factor(thing, true)) return of(Family::transfer, *factor);
  if (is_among(kIterations, thing)) return of(Family::rate, 1);
  if (thing.size() > 1 && is_among(kIterations, thing.substr(1))) {
    if (const auto scale = factor_in(kDecimal, thing.substr(0, 1))) return of(Family::rate, *scale);
  }
  if (const auto factor = count_factor(thing)) return of(Family::count, *factor);
  return std::ranges::all_of(thing, is_letter) ? std::optional(of(Family::count, 1)) : std::nullopt;
}

struct Number {
  double value;
  std::optional<NumberUnit> unit;
};

std::string quoted_word(std::string_view text) {
  return "\"" + printable(text, kQuoteBytes) + "\"";
}

Error part_of_a_word(const LineMatch& match) {
  return {ErrorCode::invalid_argument,
          "matched " + quoted_word(match.group) + " of " + quoted_word(match.word) +
              ", which is not a number as a whole; write a pattern whose group takes the whole "
              "number, and what follows the number behind the group"};
}

/// Parses the first `length` bytes of a word, which number_length() has found.
std::optional<double> parsed(std::string_view text, std::size_t length) {
  std::string digits(text.substr(0, length));
  std::erase_if(digits, [](char c) { return c == ',' || c == '_' || c == '\''; });
  if (digits.starts_with('+')) digits.erase(0, 1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

Result<Number> number_of(const LineMatch& match) {
  std::string_view word = match.word;
  const std::size_t length = number_length(word);
  if (length == 0) {
    const auto sample = parse_sample(word);
    HOCKET_TRY(sample);
    return Number{*sample, std::nullopt};
  }
  // Punctuation that a wide group took along.
  while (word.size() > length && std::string_view(",;:.)").find(word.back()) != word.npos)
    word.remove_suffix(1);
  const auto number = parsed(word, length);
  if (!number) return invalid("expected a number, found " + quoted_word(word));
  if (*number < 0) return invalid("expected a number of at least 0, found " + quoted_word(word));
  const std::string_view behind = word.substr(length);
  auto unit = number_unit(behind.empty() ? std::string_view(match.next_word) : behind);
  // A letter behind a blank may be anything.
  if (unit && behind.empty() && unit->name.size() < 2 && unit->name != "s") unit.reset();
  if (match.begins_before || (!behind.empty() && !unit && !match.is_bounded)) {
    if (match.word != match.group) return failure(part_of_a_word(match));
    return invalid("expected a number, found " + quoted_word(word));
  }
  return Number{*number, std::move(unit)};
}

/// Returns the number in `unit`.
Result<double> in_unit(const Number& number, std::optional<NumberUnit>& unit) {
  if (!number.unit) return number.value;
  if (number.unit->family == Family::count) return number.value * number.unit->factor;
  if (!unit) unit = number.unit;
  const double in_base = number.value * number.unit->factor;
  const Family own = number.unit->family;
  if (own == unit->family) {
    const bool is_same = number.unit->factor == unit->factor;
    return is_same ? number.value : in_base / unit->factor;
  }
  const bool is_reciprocal = (own == Family::rate && unit->family == Family::time) ||
                             (own == Family::time && unit->family == Family::rate);
  if (is_reciprocal && in_base > 0) return 1 / in_base / unit->factor;
  return invalid("its unit is " + quoted_word(number.unit->name) + ", that of the others " +
                 quoted_word(unit->name) + "; write the unit into the pattern, behind the group");
}

}  // namespace

std::optional<NumberUnit> number_unit(std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto of = [&](Family family, double factor) {
    return NumberUnit{family, factor, std::string(name)};
  };
  const auto slash = name.find('/');
  const auto thing = name.substr(0, slash);
  const auto time = factor_in(kTimeFactors, thing);
  if (slash == std::string_view::npos) {
    if (time) return of(Family::time, *time);
    if (const auto factor = transfer_factor(thing, false)) return of(Family::transfer, *factor);
    // A lone B stands for billions with some programs, and for bytes with others.
    if (thing == "B") return std::nullopt;
    if (const auto factor = byte_factor(thing)) return of(Family::bytes, *factor);
    if (const auto factor = count_factor(thing)) return of(Family::count, *factor);
    return std::nullopt;
  }
  const auto per = name.substr(slash + 1);
  if (per.empty() || !std::ranges::all_of(per, is_letter)) return std::nullopt;
  if (time) return of(Family::time, *time);
  if (is_a_second(per)) return rate_unit(name, thing);
  const bool is_word = std::ranges::all_of(thing, is_letter);
  return is_word ? std::optional(of(Family::count, count_factor(thing).value_or(1))) : std::nullopt;
}

Result<std::vector<double>> measured_samples(std::span<const LineMatch> matches, std::size_t skip,
                                             const std::string& pattern,
                                             std::optional<NumberUnit>& unit) {
  std::vector<double> samples;
  for (std::size_t i = skip; i < matches.size(); ++i) {
    const auto number = number_of(matches[i]);
    const auto sample = number ? in_unit(*number, unit) : failure(number.error());
    if (!sample)
      return failure(sample.error().in("match " + std::to_string(i + 1) + " of " + pattern));
    if (!std::isfinite(*sample)) {
      return invalid("match " + std::to_string(i + 1) + " of " + pattern +
                     ": expected a finite number, found " + quoted_word(matches[i].word));
    }
    samples.push_back(*sample);
  }
  return samples;
}

}  // namespace hocket
