#include "tuner/study/default_source.h"

#include <array>
#include <nlohmann/json.hpp>

#include "core/base/check.h"

namespace hocket {
namespace {

constexpr std::array<Word<DefaultOrigin>, 5> kOrigins = {
    {{"given", DefaultOrigin::given},
     {"environment", DefaultOrigin::environment},
     {"script", DefaultOrigin::script},
     {"scheduler", DefaultOrigin::scheduler},
     {"assumed", DefaultOrigin::assumed}}};

std::string_view name_of(DefaultOrigin origin) {
  for (const auto& [word, value] : kOrigins) {
    if (value == origin) return word;
  }
  HOCKET_CHECK(false, "every origin has a name");
}

}  // namespace

std::string readable(const DefaultSource& source) {
  if (source.origin == DefaultOrigin::script) return "argparse of " + source.detail;
  const std::string name(name_of(source.origin));
  return source.detail.empty() ? name : name + "; " + source.detail;
}

std::vector<std::string> assumed_parameters(const DefaultSources& sources) {
  std::vector<std::string> names;
  for (const auto& [name, source] : sources) {
    if (source.origin == DefaultOrigin::assumed) names.push_back(name);
  }
  return names;
}

nlohmann::json to_json(const DefaultSources& sources) {
  auto document = nlohmann::json::object();
  for (const auto& [name, source] : sources) {
    document[name] = {{"origin", name_of(source.origin)}};
    if (!source.detail.empty()) document[name]["detail"] = source.detail;
  }
  return document;
}

void read_default_sources(JsonReader& reader, DefaultSources& target) {
  reader.members([&](const std::string& name, const JsonValue& value) {
    value.object([&](JsonReader& fields) {
      DefaultSource& source = target[name];
      fields.choice("origin", source.origin, kOrigins);
      fields.text("detail", source.detail, "");
    });
  });
}

}  // namespace hocket
