#pragma once

// Texts of step descriptions and what reading them gives, for tests.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/description/step_description.h"

namespace hocket {

/// Returns a document with these fields in addition to the format.
inline std::string document(const std::string& fields) {
  return R"({"format":"hocket-step","version":1,)" + fields + "}";
}
inline std::string with_layer(const std::string& fields) {
  return document(R"("collective":{},"layers":[{},{)" + fields + "}]");
}
inline std::string with_tasks(const std::string& tasks) {
  return document(R"("collective":{},"tasks":[)" + tasks + "]");
}
inline std::string with_top(const std::string& fields) {
  return document(R"("collective":{},"layers":[{"forward_ns":1}],)" + fields);
}

inline StepDescription parsed(const std::string& text) {
  auto step = parse_step_description(text);
  EXPECT_TRUE(step) << (step ? "" : step.error().message) << "\n" << text;
  return step ? std::move(*step) : StepDescription{};
}

inline std::string step_error(const std::string& text) {
  const auto step = parse_step_description(text);
  if (step) return "no error";
  EXPECT_EQ(step.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(step.error().message.find('\n'), std::string::npos);
  EXPECT_LT(step.error().message.size(), 500u);
  return step.error().message;
}

inline std::string validation_of(const StepDescription& step) {
  const auto ok = validate(step);
  return ok ? "no error" : ok.error().message;
}

}  // namespace hocket
