#include "tests/style/name_rules.h"

#include <map>
#include <regex>
#include <string>

namespace hocket::style {
namespace {

/// Returns names such as "hocket::Window" of all types that `file` defines outside of other types.
std::vector<std::string> types_in(const SourceFile& file) {
  static const std::regex opens(R"(^namespace ([\w:]+) \{)"),
      defines(R"(^(?:struct|class|union|enum class|enum) (?:alignas\(\d+\) )?([\w:]+)[^;]*$)");
  std::vector<std::string> types, spaces;
  for (const std::string_view line : lines_of(file.text)) {
    std::cmatch match;
    if (std::regex_search(line.begin(), line.end(), match, opens)) {
      spaces.push_back(match[1]);
    } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
      spaces.pop_back();
    } else if (std::regex_search(line.begin(), line.end(), match, defines)) {
      std::string name;
      for (const std::string& space : spaces) name += space + "::";
      types.push_back(name + match[1].str());
    }
  }
  return types;
}

}  // namespace

Problems check_types_are_defined_once(const std::vector<SourceFile>& tree) {
  std::map<std::string, std::string> first;  // file of the first definition, by name
  Problems problems;
  for (const SourceFile& file : tree) {
    if (!file.path.ends_with(".h")) continue;
    for (const std::string& name : types_in(file)) {
      const auto [other, is_new] = first.emplace(name, file.path);
      if (!is_new)
        problems.push_back(file.path + ": defines " + name + ", as " + other->second + " does");
    }
  }
  return problems;
}

}  // namespace hocket::style
