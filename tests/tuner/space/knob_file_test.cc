#include "tuner/space/knob_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/base/json_reader.h"
#include "tests/rounds.h"
#include "tuner/space/built_in_knobs.h"
#include "tuner/space/job_value.h"
#include "tuner/space/space.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json small_file() {
  return json::parse(R"({"format":"hocket-knobs","version":1,"tool":"mine","about":"a tool",
    "way":"variable","unknown":"ignored","knobs":[
    {"name":"MINE_LOW","set":"size","type":"levels","levels":[1,2,4],"default":1,
     "since":"2.4","about":"Lowest.","source":"mine.c"},
    {"name":"MINE_HIGH","set":"size","type":"int","low":1,"high":64,"log":true,"default":8,
     "until":"2.19","about":"Highest.","source":"mine.c"},
    {"name":"MINE_WAY","set":"way","type":"choice","choices":["a","b,c"],"default":"unset",
     "about":"Way.","source":"mine.c"}],
    "constraints":["MINE_LOW<=MINE_HIGH"]})");
}

Result<KnobFile> read(const json& document) {
  return read_knob_file(document.dump(), "mine.json");
}

std::string why(const json& document) {
  const auto file = read(document);
  return file ? "accepted" : file.error().message;
}

std::vector<std::string> names_in(const KnobFile& file) {
  std::vector<std::string> names;
  for (const ToolKnob& knob : file.knobs) names.push_back(knob.parameter.name);
  return names;
}

KnobFile selected(const KnobFile& file, const std::string& text) {
  return selected_knobs(file, parse_knob_selection(text).value()).value();
}

TEST(KnobFile, DeclaresParametersWithTheirPlaces) {
  const auto file = read(small_file()).value();
  EXPECT_THAT(names_in(file), ElementsAre("MINE_LOW", "MINE_HIGH", "MINE_WAY"));
  EXPECT_EQ(file.knobs[1].parameter.domain, Domain(IntegerRange{1, 64, true}));
  EXPECT_EQ(file.knobs[2].parameter.domain, Domain(Choices{{"unset", "a", "b,c"}}));
  EXPECT_TRUE(is_unset(file.knobs[2].parameter.default_value));
  EXPECT_EQ(file.knobs[0].place.name, "MINE_LOW");
  EXPECT_THAT(sets_of(file), ElementsAre("size", "way"));
}

TEST(KnobFile, OfAnotherWayHasNamesWithTheToolInFront) {
  json document = small_file();
  document["way"] = "field";
  document["options"] = {"--config"};
  document["constraints"] = {"mine.zero.low<=mine.high"};
  document["knobs"][0]["name"] = "zero.low";
  document["knobs"][1]["name"] = "high";
  document["knobs"][1]["as"] = "zero.highest";
  const auto file = read(document).value();
  EXPECT_THAT(names_in(file), ElementsAre("mine.zero.low", "mine.high", "mine.MINE_WAY"));
  EXPECT_EQ(file.knobs[1].place,
            (KnobPlace{KnobWay::field, "zero.highest", "", std::vector<std::string>{"--config"}}));
}

TEST(KnobFile, RefusesWhatItDoesNotKnowAndWhatContradictsItself) {
  const auto with = [](const std::string& path, const json& value) {
    json document = small_file();
    document[json::json_pointer(path)] = value;
    return why(document);
  };
  EXPECT_THAT(with("/more", 1), HasSubstr("more"));
  EXPECT_THAT(with("/knobs/0/more", 1), HasSubstr("more"));
  EXPECT_THAT(with("/version", 2), HasSubstr("version"));
  EXPECT_THAT(with("/tool", "Mine"), HasSubstr("tool"));
  EXPECT_THAT(with("/tool", "job"), HasSubstr("tool"));
  EXPECT_THAT(with("/way", "magic"), HasSubstr("variable"));
  EXPECT_THAT(with("/unknown", "maybe"), HasSubstr("ignored"));
  EXPECT_THAT(with("/knobs/0/default", 3), HasSubstr("expected one of 1, 2, 4, found 3"));
  EXPECT_THAT(with("/knobs/0/levels", {4, 2}), HasSubstr("levels must rise"));
  EXPECT_THAT(with("/knobs/0/type", "float"), HasSubstr("knobs[0]"));
  EXPECT_THAT(with("/knobs/1/default", "unset"), HasSubstr("list its levels"));
  EXPECT_THAT(with("/knobs/1/name", "MINE_LOW"), HasSubstr("is there twice"));
  EXPECT_THAT(with("/knobs/0/since", "v2"), HasSubstr("expected a version such as 2.19"));
  EXPECT_THAT(with("/knobs/0/since", "2..1"), HasSubstr("expected a version"));
  EXPECT_THAT(with("/knobs/0/about", ""), HasSubstr("about"));
  EXPECT_THAT(with("/knobs/0/set", "a b"), HasSubstr("set: expected"));
  EXPECT_THAT(with("/knobs/0/as", "OTHER"), HasSubstr("has the name of its knob"));
  EXPECT_THAT(with("/knobs/0/needs", {"x"}), HasSubstr("needs: expected an option"));
  EXPECT_THAT(with("/constraints/0", "MINE_LOW<=OTHER"), HasSubstr("constraints"));
  EXPECT_THAT(with("/knobs", json::array()), HasSubstr("at least one knob"));
  for (const char* text : {"", "[]", "{", "{}", "null"})
    EXPECT_FALSE(read_knob_file(text, "mine.json")) << text;
}

TEST(KnobFile, MayNotNameAVariableByWhichProgramsFindOthers) {
  for (const char* name : {"LD_PRELOAD", "PATH", "HOME", "PYTHONPATH", "NCCL_NET_PLUGIN",
                           "HOCKET_STORE", "HOCKET_TORCH_EXPLORE", "A B", "A=B", ""}) {
    json document = small_file();
    document["constraints"] = json::array();
    document["knobs"][0]["name"] = name;
    EXPECT_FALSE(read(document)) << name;
  }
  json document = small_file();
  document["constraints"] = json::array();
  document["knobs"][0]["name"] = "HOCKET_TORCH_OPTIMIZE_DDP";
  EXPECT_TRUE(read(document));
  document["knobs"][0]["name"] = "verbose";
  document["way"] = "flag";
  document["variable"] = "LD_PRELOAD";
  EXPECT_THAT(why(document), HasSubstr("LD_PRELOAD says which libraries"));
  document["variable"] = "MINE_FLAGS";
  EXPECT_TRUE(read(document));
}

TEST(KnobFile, ValuesAreNoOptionsPathsOrCode) {
  for (const char* word : {"-x", "/bin/sh", "a b", "$(x)", "a;b", "a\nb", "a=b", "\x1b[2J", "'"}) {
    json document = small_file();
    document["knobs"][2]["choices"] = {word};
    EXPECT_THAT(why(document), HasSubstr("expected choices of at most")) << word;
  }
  json document = small_file();
  document["way"] = "argument";
  document["constraints"] = json::array();
  EXPECT_THAT(why(document), HasSubstr("expected an option such as --size"));
  for (json& knob : document["knobs"]) knob["as"] = "--" + knob["name"].get<std::string>();
  EXPECT_TRUE(read(document)) << why(document);
  for (const char* option : {"-c", "--", "---x", "--x y", "--x=1"}) {
    document["knobs"][0]["as"] = option;
    EXPECT_FALSE(read(document)) << option;
  }
}

TEST(KnobFile, MutatedTextIsReadOrRefused) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string whole = small_file().dump();
  for (std::uint64_t i = 0; i < rounds(2000); ++i) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    if (const auto file = read_knob_file(text, "mine.json")) {
      for (const ToolKnob& knob : file->knobs) EXPECT_TRUE(validate(knob.parameter));
    }
  }
}

TEST(KnobSelection, NamesAToolOrAFileAndASetAndAVersion) {
  const auto parsed = [](const std::string& text) { return parse_knob_selection(text).value(); };
  EXPECT_EQ(parsed("nccl").source, "nccl");
  EXPECT_FALSE(parsed("nccl").is_path);
  EXPECT_EQ(parsed("nccl:net@2.19").set, "net");
  EXPECT_EQ(parsed("nccl:net@2.19").version, "2.19");
  EXPECT_EQ(parsed("nccl@2.19").set, "");
  const auto path = parsed("/a@1:b/mine.json:net@2.19");
  EXPECT_EQ(path.source, "/a@1:b/mine.json");
  EXPECT_TRUE(path.is_path);
  EXPECT_EQ(path.set, "net");
  EXPECT_TRUE(parsed("mine.json").is_path);
  for (const char* text : {"", ":", "@", "nccl:", "nccl@", "nccl@new", "NCCL", "a b", "nccl:a b"}) {
    const auto none = parse_knob_selection(text);
    ASSERT_FALSE(none) << text;
    EXPECT_THAT(none.error().message, HasSubstr("--knobs: expected "));
  }
}

TEST(KnobSelection, TakesWhatAVersionHas) {
  KnobFile file = read(small_file()).value();
  EXPECT_THAT(names_in(selected(file, "mine@2.19.3")),
              ElementsAre("MINE_LOW", "MINE_HIGH", "MINE_WAY"));
  EXPECT_THAT(names_in(selected(file, "mine@2.20")), ElementsAre("MINE_LOW", "MINE_WAY"));
  EXPECT_THAT(names_in(selected(file, "mine@2.3")), ElementsAre("MINE_HIGH", "MINE_WAY"));
  EXPECT_THAT(selected(file, "mine@2.3").constraints, IsEmpty());
  EXPECT_THAT(selected(file, "mine:size").constraints, ElementsAre("MINE_LOW<=MINE_HIGH"));
  EXPECT_THAT(names_in(selected(file, "mine")), ElementsAre("MINE_LOW", "MINE_HIGH", "MINE_WAY"));
  file.refuses_unknown = true;
  EXPECT_THAT(names_in(selected(file, "mine")), ElementsAre("MINE_LOW", "MINE_WAY"));
  const auto none = selected_knobs(file, parse_knob_selection("mine:sizes").value());
  EXPECT_THAT(none.error().message, HasSubstr("did you mean \"size\"; its sets are size, way"));
  EXPECT_FALSE(selected_knobs(selected(file, "mine:size"), {.source = "mine", .version = "2.2"}));
}

TEST(KnobSelection, ComparesVersionsByTheirNumbers) {
  EXPECT_TRUE(is_within_versions("2.19", "2.4", ""));
  EXPECT_FALSE(is_within_versions("2.4", "2.19", ""));
  EXPECT_TRUE(is_within_versions("0.15.3", "", "0.15"));
  EXPECT_FALSE(is_within_versions("0.16", "", "0.15"));
  EXPECT_TRUE(is_within_versions("3", "2.9", ""));
  EXPECT_TRUE(is_within_versions("99999999999999999999", "2", ""));
}

TEST(KnobPlaces, AreReadAsTheyAreWritten) {
  KnobPlaces places;
  for (const KnobFile& file : built_in_knobs())
    for (const ToolKnob& knob : file.knobs) places[knob.parameter.name] = knob.place;
  const json document = {{"knobs", to_json(places)}};
  JsonReader reader(document);
  KnobPlaces again;
  read_knob_places(reader, "knobs", again);
  ASSERT_TRUE(reader.done());
  EXPECT_EQ(again, places);
  const json hostile = {
      {"knobs", {{{"parameter", "x.y"}, {"way", "variable"}, {"name", "LD_PRELOAD"}}}}};
  JsonReader other(hostile);
  read_knob_places(other, "knobs", again);
  EXPECT_FALSE(other.done());
}

TEST(BuiltInKnobs, AreSpacesWhoseDefaultTheirConstraintsAllow) {
  std::vector<std::string> tools;
  for (const KnobFile& file : built_in_knobs()) {
    tools.push_back(file.tool);
    std::vector<Parameter> parameters;
    for (const ToolKnob& knob : file.knobs) {
      parameters.push_back(knob.parameter);
      EXPECT_TRUE(knob.source.starts_with("https://")) << knob.parameter.name;
      EXPECT_TRUE(knob.about.ends_with('.')) << knob.parameter.name;
    }
    const auto space = Space::make(parameters, file.constraints);
    EXPECT_TRUE(space) << file.tool << ": " << space.error().message;
  }
  EXPECT_THAT(tools, ElementsAre("deepspeed", "megatron", "nccl", "torch", "xla"));
}

TEST(BuiltInKnobs, NeverChangeWhatAJobComputes) {
  for (const KnobFile& file : built_in_knobs()) {
    for (const ToolKnob& knob : file.knobs) {
      const auto* choices = std::get_if<Choices>(&knob.parameter.domain);
      if (choices == nullptr) continue;
      for (const std::string& word : choices->names)
        EXPECT_EQ(word.find("LL128"), std::string::npos) << "corrupts data where not supported";
    }
  }
  const auto threads = find_built_in_knobs("nccl");
  ASSERT_NE(threads, nullptr);
  EXPECT_EQ(find_built_in_knobs("no"), nullptr);
}

TEST(BuiltInKnobs, OfPyTorchAreThoseThatTheirVariablesAllow) {
  for (const ToolKnob& knob : find_built_in_knobs("torch")->knobs) {
    EXPECT_TRUE(is_own_knob(knob.parameter.name)) << knob.parameter.name;
    EXPECT_TRUE(is_unset(knob.parameter.default_value));
  }
  EXPECT_EQ(find_built_in_knobs("torch")->knobs.size(), 4u);
  EXPECT_FALSE(is_own_knob("HOCKET_TORCH"));
  EXPECT_FALSE(is_own_knob("HOCKET_TORCH_BUCKET_CAP_MB2"));
}

}  // namespace
}  // namespace hocket
