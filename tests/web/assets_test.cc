#include "web/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

/// The length of the file in a gzip member (RFC 1952, section 2.3.1).
std::uint32_t unpacked_bytes(std::string_view gzip) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, gzip.data() + gzip.size() - sizeof bytes, sizeof bytes);
  return bytes;
}

TEST(WebAssets, AreTheFilesAndTheirCompressedForms) {
  std::set<std::string_view> paths;
  for (const WebAsset& asset : web_assets()) {
    SCOPED_TRACE(asset.path);
    EXPECT_TRUE(paths.insert(asset.path).second);
    EXPECT_EQ(find_web_asset(asset.path), &asset);
    EXPECT_FALSE(asset.bytes.empty());
    ASSERT_GT(asset.gzip.size(), 18U);
    EXPECT_TRUE(asset.gzip.starts_with("\x1f\x8b\x08"));
    EXPECT_EQ(asset.gzip.substr(4, 4), std::string_view("\0\0\0\0", 4)) << "a time";
    EXPECT_EQ(unpacked_bytes(asset.gzip), asset.bytes.size());
  }
  EXPECT_TRUE(paths.contains("index.html") && paths.contains("app.js") &&
              paths.contains("style.css"));
  EXPECT_EQ(find_web_asset("views"), nullptr);
  EXPECT_EQ(find_web_asset(""), nullptr);
}

TEST(WebAssets, ThePageNamesItsVersion) {
  const std::string version(web_version());
  EXPECT_THAT(version, MatchesRegex("[0-9a-f]{16}"));
  const WebAsset* const page = find_web_asset("index.html");
  ASSERT_NE(page, nullptr);
  EXPECT_THAT(std::string(page->bytes), HasSubstr("page/" + version + "/app.js"));
  EXPECT_THAT(std::string(page->bytes), Not(HasSubstr("@VERSION@")));
}

TEST(WebAssets, TypesAreThoseThatBrowsersAskFor) {
  for (const WebAsset& asset : web_assets()) {
    if (asset.path.ends_with(".js")) {
      EXPECT_TRUE(asset.content_type.starts_with("text/javascript")) << asset.path;
    }
    if (asset.path.ends_with(".css")) {
      EXPECT_TRUE(asset.content_type.starts_with("text/css")) << asset.path;
    }
  }
}

}  // namespace
}  // namespace hocket
