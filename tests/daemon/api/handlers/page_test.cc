// The page as the daemon answers it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/daemon/assembled.h"
#include "web/assets.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kToken = "0123456789abcdef";

std::string field_of(const ServiceResponse& response, std::string_view name) {
  for (const auto& [field, value] : response.fields)
    if (field == name) return value;
  return "";
}

class PageTest : public ::testing::Test {
 protected:
  ServiceResponse get(const std::string& target, const std::string& accept_encoding = "") {
    ServiceRequest request{.method = "GET", .target = target};
    request.accept_encoding = accept_encoding;
    auto reply = daemon_.api.answer_at_once(request);
    EXPECT_TRUE(reply) << target << " is not answered at once";
    return reply ? std::get<ServiceResponse>(*reply) : ServiceResponse();
  }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_, *AccessTokens::parse(std::string("admin ada ") + kToken)};
  const std::string version_{web_version()};
};

TEST_F(PageTest, IsServedWithoutATokenAndWithAStrictPolicy) {
  const auto page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(*page.body, find_web_asset("index.html")->bytes);
  const auto policy = field_of(page, "Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(field_of(page, "Cache-Control"), "no-cache");
  EXPECT_EQ(field_of(page, "X-Content-Type-Options"), "nosniff");
}

TEST_F(PageTest, FilesAreThoseOfThisVersionAndStay) {
  const auto file = get("/page/" + version_ + "/views/parts.js");
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(*file.body, find_web_asset("views/parts.js")->bytes);
  EXPECT_THAT(field_of(file, "Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(get("/page/" + version_ + "/app.js").status, 200);
  EXPECT_EQ(*get("/page/" + version_ + "/views/jobs/card.js").body,
            find_web_asset("views/jobs/card.js")->bytes);
  for (const std::string& target : std::initializer_list<std::string>{
           "/page/0000000000000000/app.js", "/page/" + version_ + "/other.js",
           "/page/" + version_ + "/views/..%2fapp.js", "/page/" + version_ + "/a/b/c.js"}) {
    const auto missing = get(target);
    EXPECT_EQ(missing.status, 404) << target;
    EXPECT_EQ(field_of(missing, "Cache-Control"), "");
  }
}

TEST_F(PageTest, IsCompressedForWhoAcceptsIt) {
  const WebAsset& page = *find_web_asset("index.html");
  for (const char* accepts : {"gzip", "gzip, deflate, br", "br, gzip;q=0.5"}) {
    const auto packed = get("/", accepts);
    EXPECT_EQ(*packed.body, page.gzip) << accepts;
    EXPECT_EQ(field_of(packed, "Content-Encoding"), "gzip");
    EXPECT_EQ(field_of(packed, "Vary"), "Accept-Encoding");
  }
  for (const char* accepts : {"", "br", "gzip;q=0, br"}) {
    const auto plain = get("/", accepts);
    EXPECT_EQ(*plain.body, page.bytes) << accepts;
    EXPECT_EQ(field_of(plain, "Content-Encoding"), "");
  }
}

TEST_F(PageTest, SaysWhoAsks) {
  EXPECT_EQ(daemon_.call("GET", "/v1/whoami").status, 401);
  const auto answer = daemon_.call("GET", "/v1/whoami", "", std::string("Bearer ") + kToken);
  EXPECT_EQ(nlohmann::json::parse(*answer.body),
            (nlohmann::json{
                {"name", "ada"}, {"role", "admin"}, {"page", version_}, {"serves", "daemon"}}));
}

TEST(StorePage, ShowsAndChangesNothing) {
  SetClock clock;
  const auto store = open_store_in_memory([&] { return clock.now; });
  DaemonState shown(*store, clock, {.is_daemon = false});
  const auto status = [&](const char* method, const std::string& target, const char* body) {
    ServiceRequest request{.method = method, .target = target};
    request.body = body;
    return std::get<ServiceResponse>(shown.api.handle(request, true)).status;
  };
  EXPECT_EQ(status("GET", "/v1/jobs", ""), 200);
  EXPECT_EQ(status("GET", "/v1/studies", ""), 200);
  EXPECT_EQ(status("GET", "/v1/whoami", ""), 200);
  EXPECT_EQ(status("POST", "/v1/simulate", "{}"), 400);
  EXPECT_EQ(status("POST", "/v1/jobs", "{}"), 403);
  EXPECT_EQ(status("PUT", "/v1/configs/" + sample_key() + "/pin", "{}"), 403);
  EXPECT_TRUE(store->audit({})->empty());
}

}  // namespace
}  // namespace hocket
