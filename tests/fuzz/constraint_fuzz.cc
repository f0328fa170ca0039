// Any text is refused with an error, or gives a constraint whose text reads back as the same
// constraint, and which can be evaluated on any numbers.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/check.h"
#include "tuner/space/constraint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<hocket::Parameter> parameters = {
      {"a", hocket::IntegerRange{1, 64}, std::int64_t{1}},
      {"b", hocket::RealRange{0, 1}, 0.5},
      {"order", hocket::Choices{{"fifo", "static", "a b"}}, std::string("fifo")},
      {"mode", hocket::Choices{{"reduce", "reduce-overhead", "fifo"}}, std::string("reduce")}};
  const auto constraint =
      hocket::Constraint::parse({reinterpret_cast<const char*>(data), size}, parameters);
  if (!constraint) return 0;
  const auto again = hocket::Constraint::parse(constraint->text(), parameters);
  HOCKET_CHECK(again && *again == *constraint, "it is not read back as it was written");
  constexpr double kMost = std::numeric_limits<double>::max();
  for (const double number : {0.0, 1.0, -kMost, kMost}) {
    const std::vector<double> numbers(parameters.size(), number);
    HOCKET_CHECK(again->holds(numbers) == constraint->holds(numbers), "it computes otherwise");
  }
  return 0;
}
