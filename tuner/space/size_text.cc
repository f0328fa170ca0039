#include "tuner/space/size_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "core/base/text.h"

namespace hocket {
namespace {

struct SizeUnit {
  std::string_view name, other_name;
  std::int64_t bytes;
};

constexpr std::array<SizeUnit, 9> kUnits = {{{"", "B", 1},
                                             {"KiB", "K", std::int64_t{1} << 10},
                                             {"MiB", "M", std::int64_t{1} << 20},
                                             {"GiB", "G", std::int64_t{1} << 30},
                                             {"TiB", "T", std::int64_t{1} << 40},
                                             {"kB", "KB", 1'000},
                                             {"MB", "MB", 1'000'000},
                                             {"GB", "GB", 1'000'000'000},
                                             {"TB", "TB", 1'000'000'000'000}}};

constexpr std::size_t kSizeQuoteBytes = 60;

std::string in_quotes(std::string_view text) {
  return '"' + printable(text, kSizeQuoteBytes) + '"';
}

/// Returns `number` times `factor` where that is whole and within 64 bits.
std::optional<std::int64_t> whole_product(double number, std::int64_t factor) {
  const double product = number * static_cast<double>(factor);
  if (!(std::abs(product) < 0x1p63) || product != std::floor(product)) return std::nullopt;
  return static_cast<std::int64_t>(product);
}

std::optional<std::int64_t> scaled_integer(std::string_view text) {
  const char* const last = text.data() + text.size();
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{}) return std::nullopt;
  if (end != last && *end == '.') {
    double real = 0;
    const auto [real_end, real_error] =
        std::from_chars(text.data(), last, real, std::chars_format::fixed);
    const auto factor = size_factor({real_end, last});
    if (real_error != std::errc{} || !factor) return std::nullopt;
    return whole_product(real, *factor);
  }
  const auto factor = size_factor({end, last});
  std::int64_t product = 0;
  if (!factor || __builtin_mul_overflow(number, *factor, &product)) return std::nullopt;
  return product;
}

}  // namespace

std::optional<std::int64_t> size_factor(std::string_view unit) {
  for (const SizeUnit& each : kUnits) {
    if (each.name == unit || each.other_name == unit) return each.bytes;
  }
  return std::nullopt;
}

Result<std::int64_t> parse_scaled_integer(std::string_view text) {
  if (const auto number = scaled_integer(text)) return *number;
  return failure(ErrorCode::invalid_argument,
                 std::string("expected an integer within 64 bits, with ") + kSizeUnitsText +
                     ", found " + in_quotes(text));
}

Result<std::int64_t> parse_size(std::string_view text) {
  if (const auto number = scaled_integer(text); number && *number >= 0) return *number;
  return failure(
      ErrorCode::invalid_argument,
      "expected a size such as 65536, 4MiB, 256K, 1.5G or 25MB, found " + in_quotes(text));
}

}  // namespace hocket
