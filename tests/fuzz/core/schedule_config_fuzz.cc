// Any text is refused with an error, or gives a configuration that is valid and is written and read
// back as the same value. Whatever is accepted as declared has only declared names, and values
// within their ranges.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/check.h"
#include "core/step/declaration.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"

namespace {

void check_config(std::string_view text) {
  const auto config = hocket::parse_schedule_config(text);
  if (!config) return;
  HOCKET_CHECK(hocket::validate(*config), "what was read is not valid");
  const auto read_back = hocket::parse_schedule_config(hocket::to_json(*config).dump());
  HOCKET_CHECK(read_back && *read_back == *config, "it is not read back as it was written");
}

void check_setting(std::string_view text) {
  static const hocket::Declaration declaration = {
      .parameters = {{"A", hocket::DeclaredIntegers{1, 9}},
                     {"B", hocket::DeclaredWords{{"fast", "slow"}}}}};
  const auto setting = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!setting.is_object() || !hocket::check_declared(setting, declaration)) return;
  const nlohmann::json others = hocket::other_fields(setting);
  for (const auto& [name, value] : others.items()) {
    const bool is_declared =
        (name == "A" && value.is_number_integer() && value >= 1 && value <= 9) ||
        (name == "B" && (value == "fast" || value == "slow")) || hocket::find_knob(name) != nullptr;
    HOCKET_CHECK(is_declared, "something is set that nobody declared");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_config(text);
  check_setting(text);
  return 0;
}
