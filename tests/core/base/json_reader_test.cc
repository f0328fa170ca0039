#include "core/base/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/base/json.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

enum class Colour { red, green };
constexpr std::array<Word<Colour>, 2> kColours{{{"red", Colour::red}, {"green", Colour::green}}};

/// Returns the error of reading `document` with `read(JsonReader&)`, or "".
template <class Read>
std::string error_of(const json& document, const Read& read) {
  JsonReader reader(document);
  read(reader);
  const auto ok = reader.done();
  return ok ? "" : ok.error().message;
}

TEST(JsonReader, ReadsEveryKindOfField) {
  const json document = json::parse(
      R"({"format":"f","version":1,"text":"a","integer":-3,"number":2.5,"flag":true,"time":7.6,
          "choice":"green","texts":["x","y"],"part":{"n":1},"parts":[{"n":2},{"n":3}],
          "members":{"k":4},"more":5})");
  std::string text;
  std::int64_t integer = 0, time = 0;
  double number = 0;
  bool flag = false;
  Colour colour = Colour::red;
  std::vector<std::string> texts, others;
  std::map<std::string, std::int64_t> members;
  int part = 0;
  std::optional<int> absent_part = 1;
  std::vector<int> parts;
  const ReadInto<int> read_part = [](JsonReader& fields, int& n) { fields.integer("n", n, 0, 9); };
  JsonReader reader(document);
  reader.format("f", 1);
  reader.text("text", text);
  reader.integer("integer", integer, -3, -3);
  reader.number("number", number);
  reader.flag("flag", flag);
  reader.time("time", time, 10, 0);
  reader.choice("choice", colour, kColours);
  reader.texts("texts", texts);
  reader.part("part", part, read_part);
  reader.part("absent", absent_part, read_part);
  reader.parts("parts", parts, read_part);
  reader.object("members", [&](JsonReader& fields) {
    fields.members([&](const std::string& name, const JsonValue& value) {
      members[name] = value.integer(0, 9);
    });
  });
  reader.others([&](const std::string& name, const JsonValue&) { others.push_back(name); });
  ASSERT_TRUE(reader.done()) << reader.done().error().message;
  EXPECT_EQ(text, "a");
  EXPECT_EQ(integer, -3);
  EXPECT_EQ(number, 2.5);
  EXPECT_TRUE(flag);
  EXPECT_EQ(time, 8);
  EXPECT_EQ(colour, Colour::green);
  EXPECT_THAT(texts, ElementsAre("x", "y"));
  EXPECT_EQ(part, 1);
  EXPECT_FALSE(absent_part);
  EXPECT_THAT(parts, ElementsAre(2, 3));
  EXPECT_THAT(members, ElementsAre(std::pair("k", 4)));
  EXPECT_THAT(others, ElementsAre("more"));
}

TEST(JsonReader, AnAbsentFieldTakesItsDefaultOrIsMissing) {
  std::string text = "old";
  std::int64_t integer = 1;
  std::optional<double> number = 1;
  bool flag = false;
  Colour colour = Colour::red;
  EXPECT_EQ(error_of(json::object(),
                     [&](JsonReader& reader) {
                       reader.text("text", text, "new");
                       reader.integer("integer", integer, 5, 9, 7);
                       reader.number("number", number);
                       reader.flag("flag", flag, true);
                       reader.choice("choice", colour, kColours, Colour::green);
                     }),
            "");
  EXPECT_EQ(text, "new");
  EXPECT_EQ(integer, 7);
  EXPECT_FALSE(number);
  EXPECT_TRUE(flag);
  EXPECT_EQ(colour, Colour::green);
  EXPECT_EQ(error_of(json{{"a", json::object()}},
                     [&](JsonReader& reader) {
                       reader.object("a", [&](JsonReader& a) { a.text("text", text); });
                     }),
            R"(field "a.text" is missing)");
}

TEST(JsonReader, ErrorsNameTheValueFoundAndTheAllowedValues) {
  const json document = json::parse(
      R"({"integer":9223372036854775808,"number":3,"choice":"gren","long":"abc","list":[1,2],
          "format":"g","version":3})");
  std::string text;
  std::int64_t integer = 0;
  double number = 0;
  Colour colour = Colour::red;
  const auto said = [&](auto read) { return error_of(document, read); };
  EXPECT_EQ(said([&](JsonReader& r) { r.integer("integer", integer, 0, INT64_MAX); }),
            R"(field "integer": expected an integer from 0 to 9223372036854775807, found )"
            "9223372036854775808");
  EXPECT_EQ(said([&](JsonReader& r) { r.number("number", number, 4, 5); }),
            R"(field "number": expected a number from 4.0 to 5.0, found 3)");
  EXPECT_EQ(said([&](JsonReader& r) { r.choice("choice", colour, kColours); }),
            R"(field "choice": expected one of red, green, found "gren"; did you mean "green")");
  EXPECT_EQ(said([&](JsonReader& r) { r.text("number", text); }),
            R"(field "number": expected a string, found 3)");
  EXPECT_EQ(said([&](JsonReader& r) {
              r.value("long", [&](const JsonValue& value) { text = value.text(2); });
            }),
            R"(field "long": expected at most 2 bytes, found 3)");
  EXPECT_EQ(said([&](JsonReader& r) {
              r.array(
                  "list", [](const JsonValue&) {}, Presence::required, 1);
            }),
            R"(field "list": expected at most 1 elements, found 2)");
  EXPECT_EQ(said([&](JsonReader& r) { r.format("f", 3); }),
            R"(field "format": expected "f", found "g")");
  EXPECT_THAT(said([&](JsonReader& r) { r.format("g", 2); }),
              HasSubstr("reads versions 1 to 2, found 3; use a newer hocket"));
  EXPECT_EQ(error_of(json(7), [](JsonReader&) {}), "expected an object, found 7");
  JsonReader reader(document, "report");
  reader.text("x", text);
  EXPECT_EQ(reader.result(1).error().message, R"(report: field "x" is missing)");
}

TEST(JsonReader, RefusesUnknownFieldsOnRequest) {
  const json document = json::parse(R"({"a":{"streams":1,"stream":2},"zzzz":3})");
  const auto read = [](JsonReader& reader) {
    reader.object("a", [](JsonReader& a) {
      std::int64_t streams = 0;
      a.integer("streams", streams, 0, 9);
    });
  };
  EXPECT_EQ(error_of(document, read), "");
  const auto strict = [&](JsonReader& reader) {
    reader.refuse_others();
    read(reader);
  };
  EXPECT_EQ(error_of(document, strict),
            R"(field "a.stream" is not known here; did you mean "streams")");
  json other = document;
  other["a"].erase("stream");
  EXPECT_THAT(error_of(other, strict),
              AllOf(HasSubstr(R"(field "zzzz" is not known)"), Not(HasSubstr("did you mean"))));
}

/// A random format: what a document holds, and so how it is read.
struct Format {
  enum Kind { text, integer, number, flag, choice, object, array, kinds };
  Kind kind = text;
  /// Members of an object by name, elements of an array by index.
  std::vector<std::pair<std::string, Format>> parts = {};
};

Format random_format(std::mt19937_64& random, int depth) {
  Format format{
      static_cast<Format::Kind>(random() % (depth == 0 ? Format::object : Format::kinds))};
  if (depth == 3) format.kind = Format::object;
  if (format.kind < Format::object) return format;
  const char* const names[] = {"a", "name", "x_ns", "\xc3\xa4", "two words"};
  for (std::size_t i = 0; i < 1 + random() % 4; ++i)
    format.parts.emplace_back(names[i], random_format(random, depth - 1));
  return format;
}

json sample_of(const Format& format) {
  const json scalars[] = {"text", -5, 0.5, true, "green"};
  if (format.kind < Format::object) return scalars[format.kind];
  json sample = format.kind == Format::object ? json::object() : json::array();
  for (const auto& [name, part] : format.parts) {
    if (format.kind == Format::object) {
      sample[name] = sample_of(part);
    } else {
      sample.push_back(sample_of(part));
    }
  }
  return sample;
}

void read_value(const JsonValue& value, const Format& format) {
  switch (format.kind) {
    case Format::text:
      value.text(100);
      break;
    case Format::integer:
      value.integer(-5, 5);
      break;
    case Format::number:
      value.number(0, 1);
      break;
    case Format::flag:
      value.flag();
      break;
    case Format::choice:
      value.choice(kColours);
      break;
    case Format::object:
      value.object([&](JsonReader& fields) {
        for (const auto& [name, part] : format.parts)
          fields.value(name, [&](const JsonValue& field) { read_value(field, part); });
      });
      break;
    default:
      std::size_t i = 0;
      value.array([&](const JsonValue& element) {
        if (i < format.parts.size()) read_value(element, format.parts[i++].second);
      });
  }
}

std::string error_of(const json& document, const Format& format) {
  return error_of(document, [&](JsonReader& reader) {
    reader.refuse_others();
    for (const auto& [name, part] : format.parts)
      reader.value(name, [&](const JsonValue& field) { read_value(field, part); });
  });
}

/// Puts a value of no allowed kind, or nothing, in a random place below `document`; returns the
/// expected beginning of the error.
std::string damage(json& document, const Format& format, std::string path,
                   std::mt19937_64& random) {
  const std::size_t i = random() % format.parts.size();
  const auto& [name, part] = format.parts[i];
  const bool is_object = format.kind == Format::object;
  path += is_object ? (path.empty() ? "" : ".") + name : "[" + std::to_string(i) + "]";
  json& value = is_object ? document[name] : document[i];
  if (part.kind >= Format::object && random() % 2 == 0) return damage(value, part, path, random);
  if (is_object && random() % 4 == 0) {
    document.erase(name);
    return "field \"" + path + "\" is missing";
  }
  value = part.kind == Format::integer && random() % 2 == 0 ? json(6) : json();
  return "field \"" + path + "\": expected ";
}

TEST(JsonReader, TheErrorNamesThePathOfTheDamage) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Format format = random_format(random, 3);
    json document = sample_of(format);
    ASSERT_EQ(error_of(document, format), "");
    const std::string expected = damage(document, format, "", random);
    ASSERT_THAT(error_of(document, format), testing::StartsWith(expected)) << document.dump();
  }
}

TEST(JsonReader, MutatedTextIsReadOrRefusedWithAPath) {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Format format = random_format(random, 3);
    const auto document = parse_object(mutate(sample_of(format).dump(), random), "document");
    if (!document) continue;
    std::string error;
    ASSERT_NO_THROW(error = error_of(*document, format));
    ++(error.empty() ? accepted : refused);
    if (!error.empty()) {
      ASSERT_THAT(error, testing::StartsWith("field \""));
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(JsonReader, AFieldsNameFromOutsideIsShownAsJsonAndShortened) {
  const json document{{std::string("\n\x01\xff", 3) + std::string(1000, 'n'), 1}};
  const std::string error = error_of(document, [](JsonReader& reader) { reader.refuse_others(); });
  EXPECT_THAT(error, AllOf(HasSubstr(R"(field "\n\u0001)"), HasSubstr("is not known here")));
  EXPECT_LT(error.size(), 200u);
}

}  // namespace
}  // namespace hocket
