#include "core/protocol/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace hocket {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(Workload, TraitsTellJobsOfOneModelApart) {
  const Workload plain{.name = "gpt2", .tensors = {{"embedding", 1024}}};
  Workload adam = plain, sgd = plain;
  adam.traits = {{"optimizer", "AdamW"}, {"gradients", "bfloat16"}};
  sgd.traits = {{"optimizer", "SGD"}, {"gradients", "bfloat16"}};
  EXPECT_NE(fingerprint(adam), fingerprint(sgd));
  EXPECT_NE(fingerprint(adam), fingerprint(plain));
  EXPECT_EQ(workload_from_json(to_json(adam)).value(), adam);
  EXPECT_EQ(traits_text(adam), "gradients bfloat16, optimizer AdamW");
  EXPECT_EQ(traits_text(plain), "");
}

TEST(Workload, OneWithoutTraitsIsStoredAsBeforeTraitsExisted) {
  const Workload plain{.name = "gpt2", .tensors = {{"embedding", 1024}}};
  EXPECT_EQ(to_json(plain),
            Json::parse(R"({"name":"gpt2","tensors":[{"name":"embedding","bytes":1024}]})"));
}

TEST(Workload, TraitsOutOfRangeAreRefused) {
  const auto error_of = [](Json traits) {
    const auto read =
        workload_from_json({{"name", "w"}, {"tensors", Json::array()}, {"traits", traits}});
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(error_of(Json::object()), "");
  EXPECT_EQ(error_of({{"a", std::string(kMaxTraitBytes, 'x')}}), "");
  EXPECT_THAT(error_of({{"a", std::string(kMaxTraitBytes + 1, 'x')}}), HasSubstr("traits.a"));
  EXPECT_THAT(error_of({{std::string(kMaxTraitBytes + 1, 'x'), "a"}}), HasSubstr("at most 200"));
  EXPECT_THAT(error_of({{"a", 3}}), HasSubstr("traits.a"));
  EXPECT_THAT(error_of("x"), HasSubstr("traits"));
  Json many = Json::object();
  for (std::size_t i = 0; i < kMaxTraits; ++i) many[std::to_string(i)] = "x";
  EXPECT_EQ(error_of(many), "");
  many["more"] = "x";
  EXPECT_THAT(error_of(many), HasSubstr("at most 32"));
}

}  // namespace
}  // namespace hocket
