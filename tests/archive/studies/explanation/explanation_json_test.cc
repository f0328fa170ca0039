#include "archive/studies/explanation/explanation_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "store/open.h"
#include "tests/archive/studies/kept_study.h"

namespace hocket {
namespace {

TEST(ExplanationJson, HasTheFieldsOfTheFormat) {
  const auto store = open_store_in_memory();
  keep_study(*store, parabola());
  auto explained = explain_study(*store, "parabola").value();
  const auto document = to_json(explained);
  std::vector<std::string> names;
  for (const auto& [name, value] : document.items()) names.push_back(name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre(
                         "of", "objective", "unit", "name", "direction", "other_objectives",
                         "model", "completed", "failed", "modelled", "variation",
                         "variation_is_relative", "importance", "calibration", "recommended",
                         "slices", "surface", "simulator", "rejected", "trials"));
  EXPECT_EQ(document.at("direction"), "min");
  EXPECT_EQ(document.at("slices").size(), 2U);
  EXPECT_EQ(document.at("surface").at("expected").size(), document.at("surface").at("ys").size());
  EXPECT_EQ(document.at("trials")[0].at("reason"), "the default");

  explained.reasons.clear();
  explained.explanation.calibration.reset();
  explained.explanation.surface.reset();
  set_failed(explained.trials[0].outcome, "");
  const auto sparse = to_json(explained);
  for (const char* name : {"calibration", "surface", "simulator"})
    EXPECT_EQ(sparse.at(name), nullptr) << name;
  EXPECT_EQ(sparse.at("trials")[0].at("reason"), nullptr);
  EXPECT_EQ(sparse.at("trials")[0].at("value"), nullptr);
}

}  // namespace
}  // namespace hocket
