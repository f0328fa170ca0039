#include "cli/verbs/launch/explore_option.h"

#include <CLI/CLI.hpp>
#include <string>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr double kMostExploredPercent = 50;

}  // namespace

void add_explore_option(CLI::App& verb, std::optional<double>& share, const char* variable) {
  verb.add_option_function<std::string>(
      "--explore",
      [&share](const std::string& text) {
        const auto given = parse_percent(text, kMostExploredPercent);
        if (!given) throw CLI::ValidationError("--explore", given.error().message);
        share = *given;
      },
      "share of the training time that trying candidates may cost, such as 3% (default: $" +
          std::string(variable) + ")");
}

}  // namespace hocket
