// Tests that every row of the table of knobs holds, that configurations follow it, and that
// docs/formats/schedule_config.md says the same.

#include "core/step/knob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Returns all values of a choice, and the ends and some other values of an integer knob.
std::vector<std::int64_t> some_values(const Knob& knob, std::mt19937_64& random) {
  if (knob.is_choice()) {
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < knob.choices.size(); ++i)
      indices.push_back(static_cast<std::int64_t>(i));
    return indices;
  }
  std::uniform_int_distribution<std::int64_t> any(knob.low, knob.high);
  return {knob.low, knob.high, any(random), any(random)};
}

json json_of(const Knob& knob, std::int64_t value) {
  if (knob.is_choice()) return knob.choices.at(static_cast<std::size_t>(value));
  return value;
}

json document_with(const std::string& name, const json& value) {
  return {{"format", "hocket-schedule"}, {"version", 1}, {name, value}};
}

/// Returns the range as the page has it.
std::string allowed_text(const Knob& knob) {
  if (!knob.is_choice()) return std::to_string(knob.low) + " to " + std::to_string(knob.high);
  std::string text;
  for (const std::string_view word : knob.choices)
    text += (text.empty() ? "`" : ", `") + std::string(word) + "`";
  return text;
}

std::string default_text(const Knob& knob) {
  const json value = json_of(knob, knob.default_value);
  return value.is_string() ? "`" + value.get<std::string>() + "`" : value.dump();
}

std::string searched_text(const Knob& knob) {
  if (knob.is_choice()) return knob.choices.size() == 2 ? "both" : "all";
  const std::string range = std::to_string(knob.tune_low) + " to " + std::to_string(knob.tune_high);
  if (!knob.log) return range;
  const bool is_outside = knob.default_value < knob.tune_low;
  return (is_outside ? std::to_string(knob.default_value) + ", " : "") + "powers of 2 from " +
         range;
}

/// Returns the line that the page must have of a knob of the whole step.
std::string row_of(const Knob& knob) {
  return "\n| `" + std::string(knob.name) + "` | " + (knob.is_choice() ? "string" : "integer") +
         " | " + allowed_text(knob) + " | " + default_text(knob) + " | " + searched_text(knob) +
         " |\n";
}

TEST(KnobTable, RangesHoldTheDefaultAndWhatIsSearched) {
  std::set<std::string_view> names;
  for (const Knob& knob : schedule_knobs()) {
    SCOPED_TRACE(knob.name);
    EXPECT_TRUE(names.insert(knob.name).second);
    EXPECT_FALSE(knob.meaning.empty());
    EXPECT_EQ(find_schedule_knob(knob.name), &knob);
    EXPECT_EQ(knob.value_in({}), knob.default_value);
    EXPECT_EQ(knob.is_size(), knob.name.ends_with("_bytes"));
    if (knob.is_choice()) continue;
    EXPECT_LE(knob.low, knob.default_value);
    EXPECT_LE(knob.default_value, knob.high);
    EXPECT_LE(knob.low, knob.tune_low);
    EXPECT_LT(knob.tune_low, knob.tune_high);
    EXPECT_LE(knob.tune_high, knob.high);
    EXPECT_TRUE(!knob.log || knob.tune_low > 0);
  }
  for (const Knob& knob : region_knobs()) {
    const Knob* const whole = find_schedule_knob(knob.name);
    EXPECT_TRUE(whole == nullptr || whole->choices == knob.choices) << knob.name;
  }
}

TEST(KnobTable, EveryRowIsAMemberOfItsOwn) {
  for (const Knob& knob : schedule_knobs()) {
    SCOPED_TRACE(knob.name);
    ScheduleConfig config;
    const std::int64_t other = knob.default_value == knob.low ? knob.low + 1 : knob.low;
    knob.member.set(config, other);
    EXPECT_EQ(knob.value_in(config), other);
    EXPECT_THAT(changed_knobs({}, config), testing::ElementsAre(knob.name));
    EXPECT_FALSE(has_defaults(config, knob.effect));
    set_defaults(config, knob.effect);
    EXPECT_EQ(config, ScheduleConfig{});
  }
  for (const Knob& knob : region_knobs()) {
    SCOPED_TRACE(knob.name);
    RegionOverrides region;
    EXPECT_FALSE(knob.region_member.get(region));
    knob.region_member.set(region, knob.low);
    EXPECT_EQ(knob.region_member.get(region), knob.low);
    for (const Knob& other : region_knobs())
      EXPECT_EQ(other.region_member.get(region).has_value(), other.name == knob.name);
  }
}

TEST(KnobTable, EveryValueOfEveryRowIsPrintedAndParsed) {
  std::mt19937_64 random(1);
  for (const Knob& knob : schedule_knobs()) {
    for (const std::int64_t value : some_values(knob, random)) {
      const std::string name(knob.name);
      SCOPED_TRACE(name + " " + std::to_string(value));
      ScheduleConfig config;
      knob.member.set(config, value);
      ASSERT_TRUE(validate(config)) << validate(config).error().message;
      const json document = to_json(config);
      EXPECT_EQ(document.contains(name), knob.is_always_written || value != knob.default_value);
      EXPECT_EQ(schedule_config_from_json(document).value(), config);
      EXPECT_EQ(knob_values(config).at(name), json_of(knob, value));
      EXPECT_EQ(with_knob({}, name, json_of(knob, value)).value(), config);
    }
  }
}

TEST(KnobTable, EveryOverrideIsPrintedAndParsed) {
  std::mt19937_64 random(2);
  for (const Knob& knob : region_knobs()) {
    for (const std::int64_t value : some_values(knob, random)) {
      SCOPED_TRACE(std::string(knob.name) + " " + std::to_string(value));
      ScheduleConfig config;
      config.streams = 64;  // of which a region may have all
      knob.region_member.set(config.regions["a.b"], value);
      const std::string name = "regions.a.b." + std::string(knob.name);
      EXPECT_EQ(schedule_config_from_json(to_json(config)).value(), config);
      EXPECT_EQ(knob_values(config).at(name), json_of(knob, value));
    }
  }
}

TEST(KnobTable, OtherSpellingsAreReadAsTheirChoice) {
  for (const Knob& knob : schedule_knobs()) {
    for (const auto& [word, choice] : knob.other_spellings) {
      EXPECT_EQ(knob.index_of(word), knob.index_of(choice));
      EXPECT_EQ(with_knob({}, knob.name, word).value(), with_knob({}, knob.name, choice).value());
    }
    EXPECT_FALSE(knob.index_of("lifo"));
  }
}

TEST(KnobTable, AValueOutsideIsRefusedByNameWithTheRange) {
  const auto refusal = [](const Knob& knob, const json& value) {
    const std::string name(knob.name);
    const auto config = schedule_config_from_json(document_with(name, value));
    if (config) return "accepted " + value.dump();
    EXPECT_THAT(config.error().message, HasSubstr("field \"" + name + "\""));
    return config.error().message;
  };
  for (const Knob& knob : schedule_knobs()) {
    if (knob.is_choice()) {
      EXPECT_THAT(refusal(knob, "lifo"),
                  HasSubstr("expected one of " + std::string(knob.choices.front()) + ", "));
      EXPECT_THAT(refusal(knob, 0), HasSubstr("expected one of "));
      continue;
    }
    const std::string range =
        "expected an integer from " + std::to_string(knob.low) + " to " + std::to_string(knob.high);
    for (const std::int64_t value : {knob.low - 1, knob.high + 1}) {
      EXPECT_THAT(refusal(knob, value), HasSubstr(range));
      ScheduleConfig config;
      knob.member.set(config, value);
      ASSERT_FALSE(validate(config)) << knob.name;
      EXPECT_THAT(validate(config).error().message, HasSubstr(range));
    }
    EXPECT_THAT(refusal(knob, "many"), HasSubstr(range));
  }
}

TEST(KnobTable, SearchesWhatARowSays) {
  const auto is_in = [](const std::vector<std::string>& names, const Knob& knob) {
    return std::ranges::count(names, knob.name) == 1;
  };
  for (const Knob& knob : schedule_knobs()) {
    EXPECT_EQ(is_in(searched_knobs(false), knob), knob.search == KnobSearch::every_study);
    EXPECT_EQ(is_in(searched_knobs(true), knob), knob.search != KnobSearch::none);
  }
  EXPECT_EQ(names_text(KnobEffect::placement), "offload_k, prefetch_layers");
}

TEST(KnobTable, ThePageHasEveryRow) {
  const auto page = read_file(HOCKET_SOURCE_DIR "/docs/formats/schedule_config.md");
  ASSERT_TRUE(page) << page.error().message;
  for (const Knob& knob : schedule_knobs()) {
    EXPECT_THAT(*page, HasSubstr(row_of(knob)));
    EXPECT_THAT(*page, HasSubstr("\n- `" + std::string(knob.name) + "`: "));
  }
  for (const Knob& knob : region_knobs())
    EXPECT_THAT(page->substr(page->find("### Regions")),
                HasSubstr("`" + std::string(knob.name) + "`"));
}

}  // namespace
}  // namespace hocket
