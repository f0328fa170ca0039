#include "core/step/declaration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/json_reader.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kSpace = {
    {"format", "hocket-space"},
    {"version", 1},
    {"parameters",
     {{{"name", "N"}, {"type", "int"}, {"low", 1}, {"high", 9}, {"log", false}, {"default", 2}},
      {{"name", "LR"}, {"type", "float"}, {"low", 0.5}, {"high", 2}, {"log", true}},
      {{"name", "MODE"}, {"type", "choice"}, {"choices", {"fast", "$(slow)"}}},
      {{"name", "SIZE"}, {"type", "levels"}, {"levels", {1, 4, 16}}},
      {{"name", "streams"}, {"type", "int"}, {"low", 1}, {"high", 4}}}}};

Declaration declaration_in(const json& document) {
  const auto read = read_json<Declaration>(document, read_declaration);
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(Declaration());
}

std::string said_of(const json& config, const Declaration& declaration = declaration_in(kSpace)) {
  const auto ok = check_declared(config, declaration);
  return ok ? "accepted" : ok.error().message;
}

/// Returns the scheduler's default configuration with `fields`.
json schedule_with(const json& fields) {
  json document = to_json(ScheduleConfig());
  document.update(fields);
  return document;
}

TEST(Declaration, IsReadFromASpaceAndFromItsOwnForm) {
  Declaration declaration = declaration_in(kSpace);
  EXPECT_EQ(declaration.parameters.size(), 5U);
  declaration.knobs = {{.name = "depth", .low = 1, .high = 3, .default_value = std::int64_t{1}}};
  EXPECT_EQ(declaration_in(to_json(declaration)), declaration);
  EXPECT_EQ(declaration_in(json::object()), Declaration());
}

TEST(Declaration, AcceptsDeclaredNamesWithDeclaredValues) {
  EXPECT_EQ(said_of({{"N", 9}, {"LR", 2}, {"MODE", "fast"}, {"SIZE", 4}}), "accepted");
  EXPECT_EQ(said_of({{"LR", 0.75}, {"SIZE", 4.0}, {"streams", 4}}), "accepted");
  EXPECT_EQ(said_of(json::object()), "accepted");
  EXPECT_EQ(said_of(schedule_with({{"N", 1}, {"streams", 4}})), "accepted");
  EXPECT_EQ(said_of(schedule_with({{"bucket_bytes", 5}}), {}), "accepted");
  EXPECT_EQ(said_of({{"streams", 64}}, {}), "accepted") << "a knob is always declared";
}

TEST(Declaration, RefusesOtherNamesAndSaysWhatIsDeclared) {
  EXPECT_THAT(said_of({{"BASH_ENV", "x"}}),
              HasSubstr("field \"BASH_ENV\" is not declared; declared are N, LR, MODE"));
  EXPECT_THAT(said_of(schedule_with({{"FOO_FLAG", 1}}), {}),
              HasSubstr("field \"FOO_FLAG\" is not declared; only the scheduler's knobs are"));
  EXPECT_THAT(said_of({{"MODEL", "fast"}}), HasSubstr("did you mean \"MODE\""));
  EXPECT_THAT(said_of(schedule_with({{"regions", {{"a", {{"FOO", 1}}}}}})), HasSubstr("FOO"));
  EXPECT_THAT(said_of(schedule_with({{"job", {{"depth", 1}}}})), HasSubstr("job.depth"));
  EXPECT_THAT(said_of({{"job.depth", 1}}), HasSubstr("job.depth"));
  EXPECT_THAT(said_of({{"a\x1b[2Jb", 1}}), Not(HasSubstr("\x1b")));
}

TEST(Declaration, RefusesValuesOfAnotherTypeOrOutOfRange) {
  EXPECT_THAT(said_of({{"N", 10}}), HasSubstr("\"N\": expected an integer from 1 to 9"));
  for (const json& value : {json("4"), json(4.5), json(true), json(nullptr), json::array({4}),
                            json::object(), json(0), json(UINT64_MAX)}) {
    EXPECT_NE(said_of({{"N", value}}), "accepted") << value;
    EXPECT_NE(said_of({{"SIZE", value}}), "accepted") << value;
    EXPECT_NE(said_of({{"MODE", value}}), "accepted") << value;
  }
  EXPECT_NE(said_of({{"LR", 2.5}}), "accepted");
  EXPECT_NE(said_of({{"LR", "1"}}), "accepted");
  EXPECT_THAT(said_of({{"MODE", std::string(1 << 20, 'a')}}), HasSubstr("one of fast, $(slow)"));
  EXPECT_LT(said_of({{"MODE", std::string(1 << 20, 'a')}}).size(), 1000U);
  EXPECT_THAT(said_of(schedule_with({{"streams", 5}})),
              HasSubstr("\"streams\": expected an integer from 1 to 4, as it is declared"));
  EXPECT_NE(said_of(schedule_with({{"streams", 0}}), {}), "accepted");
  EXPECT_NE(said_of({{"streams", 65}}, {}), "accepted");
}

TEST(Declaration, OfNamesThatNoParameterHasIsRefused) {
  for (const char* name : {"", "A=B", "BASH_FUNC_x%%", "1A", "A B", "A\nB", "A-B"}) {
    const json document = {
        {"parameters", {{{"name", name}, {"type", "int"}, {"low", 1}, {"high", 2}}}}};
    EXPECT_FALSE(read_json<Declaration>(document, read_declaration)) << name;
  }
  json many = {{"parameters", json::array()}};
  for (int i = 0; i < 65; ++i) {
    many["parameters"].push_back(
        {{"name", "A" + std::to_string(i)}, {"type", "int"}, {"low", 1}, {"high", 2}});
  }
  EXPECT_FALSE(read_json<Declaration>(many, read_declaration));
}

}  // namespace
}  // namespace hocket
