#include "web/assets.h"

#include <algorithm>

namespace hocket {

const WebAsset* find_web_asset(std::string_view path) {
  const auto assets = web_assets();
  const auto found = std::ranges::find(assets, path, &WebAsset::path);
  return found == assets.end() ? nullptr : &*found;
}

}  // namespace hocket
