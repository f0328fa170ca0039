// The table of routes, and the lookup of a request's route.

#include "daemon/api/routes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/http/request_target.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

std::vector<std::string> segments_of(std::string_view pattern) {
  return must(parse_request_target(pattern)).segments;
}

FoundRoute find(std::string_view method, const std::string& target) {
  return find_route(method, segments_of(target));
}

/// Returns whether some path matches both patterns.
bool overlap(std::string_view one, std::string_view other) {
  const auto a = segments_of(one), b = segments_of(other);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !a[i].starts_with('{') && !b[i].starts_with('{')) return false;
  }
  return true;
}

TEST(Routes, NoTwoTakeTheSameRequest) {
  for (const ApiRoute& one : api_routes()) {
    for (const ApiRoute& other : api_routes()) {
      EXPECT_TRUE(&one == &other || one.method != other.method ||
                  !overlap(one.pattern, other.pattern))
          << one.method << " " << one.pattern << " and " << other.pattern;
    }
  }
}

TEST(Routes, EachHasAHandlerAndIsFoundByItsPath) {
  for (const ApiRoute& route : api_routes()) {
    EXPECT_NE(route.handler, nullptr) << route.pattern;
    EXPECT_EQ(find(route.method, std::string(route.pattern)).route, &route) << route.pattern;
  }
}

TEST(Routes, WhatIsAnsweredOnTheServersThreadIsNamedHere) {
  std::vector<std::string> at_once;
  for (const ApiRoute& route : api_routes())
    if (route.at_once) at_once.emplace_back(route.pattern);
  EXPECT_EQ(at_once,
            (std::vector<std::string>{
                "/", "/page/{version}/{file}", "/page/{version}/{folder}/{file}",
                "/page/{version}/{folder}/{view}/{file}", "/healthz", "/metrics", "/v1/watch"}));
}

TEST(Routes, AParameterIsOneDecodedSegment) {
  const auto found = find("PUT", "/v1/traces/a%2Fb/3");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->pattern, "/v1/traces/{set}/{rank}");
  EXPECT_EQ(found.parameters.at("set"), "a/b");
  EXPECT_EQ(found.parameters.at("rank"), "3");
  EXPECT_EQ(found.allowed, "PUT, GET");
  for (const char* target : {"/v1", "/v1/traces/a", "/v1/traces/a/3/4", "/v2/traces/a/3"}) {
    EXPECT_EQ(find("PUT", target).route, nullptr) << target;
    EXPECT_EQ(find("PUT", target).allowed, "") << target;
  }
}

TEST(Routes, AMethodThatAPathLacksIsNoRoute) {
  EXPECT_EQ(find("DELETE", "/v1/traces/a/3").route, nullptr);
  EXPECT_EQ(find("DELETE", "/v1/traces/a/3").allowed, "PUT, GET");
  EXPECT_EQ(find("HEAD", "/v1/traces/a/3").route, find("GET", "/v1/traces/a/3").route);
}

}  // namespace
}  // namespace hocket
