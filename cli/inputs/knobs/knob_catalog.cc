#include "cli/inputs/knobs/knob_catalog.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "core/files/regular_file.h"
#include "tuner/space/built_in_knobs.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
/// Most files of a user's folder that are looked at.
constexpr std::size_t kMaxKnobFiles = 256;

Result<KnobFile> read_file_of_knobs(const std::string& path) {
  const auto text = read_regular_file(path, kMaxKnobFileBytes);
  HOCKET_TRY(text);
  return read_knob_file(*text, path);
}

/// Reads TOOL.json of the user's folder, whose tool must be that of its name.
Result<KnownKnobs> read_own(const std::string& path) {
  auto file = read_file_of_knobs(path);
  HOCKET_TRY(file);
  const std::string tool = fs::path(path).stem().string();
  if (file->tool != tool)
    return invalid(path + " has the knobs of \"" + file->tool + "\", so it must be called " +
                   file->tool + ".json");
  const bool is_replacing = find_built_in_knobs(tool) != nullptr;
  return KnownKnobs{std::move(*file), path, is_replacing};
}

std::vector<std::string> own_paths(const std::string& folder) {
  std::vector<std::string> paths;
  if (folder.empty()) return paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (path.ends_with(kSuffix) && paths.size() < kMaxKnobFiles) paths.push_back(path);
  }
  std::ranges::sort(paths);
  return paths;
}

std::string tools_text(const std::vector<std::string>& tools) {
  std::string text;
  for (const std::string& tool : tools) text += (text.empty() ? "" : ", ") + tool;
  return text;
}

/// Returns the number of a value, or of a choice that is one; nothing for other words.
std::optional<double> number_of_value(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

}  // namespace

std::string own_knobs_folder(const Environment& environment) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  if (const std::string config = value("XDG_CONFIG_HOME"); config.starts_with('/'))
    return config + "/hocket/knobs";
  const std::string home = value("HOME");
  return home.empty() ? "" : home + "/.config/hocket/knobs";
}

KnobCatalog read_knob_catalog(const std::string& folder) {
  KnobCatalog catalog;
  for (const std::string& path : own_paths(folder)) {
    auto own = read_own(path);
    if (own) {
      catalog.files.push_back(std::move(*own));
    } else {
      catalog.problems.push_back(own.error().message);
    }
  }
  for (const KnobFile& file : built_in_knobs()) {
    const auto is_same = [&](const KnownKnobs& own) { return own.file.tool == file.tool; };
    if (std::ranges::none_of(catalog.files, is_same)) catalog.files.push_back({file});
  }
  std::ranges::sort(catalog.files, {}, [](const KnownKnobs& each) { return each.file.tool; });
  return catalog;
}

Result<KnownKnobs> find_knobs(const KnobSelection& selection, const std::string& folder) {
  if (selection.is_path) {
    auto file = read_file_of_knobs(selection.source);
    if (!file) return failure(file.error().in("--knobs"));
    return KnownKnobs{std::move(*file), selection.source};
  }
  if (!folder.empty()) {
    const std::string path = folder + "/" + selection.source + std::string(kSuffix);
    std::error_code error;
    if (fs::exists(path, error)) {
      auto own = read_own(path);
      if (!own) return failure(own.error().in("--knobs"));
      return std::move(*own);
    }
  }
  if (const KnobFile* const file = find_built_in_knobs(selection.source); file != nullptr)
    return KnownKnobs{*file};
  std::vector<std::string> tools;
  for (const KnownKnobs& known : read_knob_catalog(folder).files) tools.push_back(known.file.tool);
  return failure(ErrorCode::not_found,
                 "--knobs: there are no knobs of \"" + printable(selection.source, 100) + "\"" +
                     did_you_mean(selection.source, tools) + "; there are those of " +
                     tools_text(tools) + ", and a file of your own is named by its path");
}

Result<ToolKnob> find_knob_of(const std::string& parameter, const std::string& folder,
                              const std::vector<std::string>& paths) {
  const auto knob_in = [&](const KnobFile& file) -> const ToolKnob* {
    const auto found = std::ranges::find_if(
        file.knobs, [&](const ToolKnob& knob) { return knob.parameter.name == parameter; });
    return found == file.knobs.end() ? nullptr : &*found;
  };
  for (const std::string& path : paths) {
    const auto file = read_file_of_knobs(path);
    if (!file) return failure(file.error().in("--knobs"));
    if (const ToolKnob* const knob = knob_in(*file); knob != nullptr) return *knob;
  }
  const std::string tool = parameter.substr(0, parameter.find('.'));
  const auto known = find_knobs({.source = tool, .is_path = false}, folder);
  if (known) {
    if (const ToolKnob* const knob = knob_in(known->file); knob != nullptr) return *knob;
  }
  return failure(ErrorCode::not_found, printable(parameter, 100) +
                                           " is no knob of any tool that is known here (hocket "
                                           "knobs list); --knobs FILE names a file with it");
}

Result<void> check_knob_value(const ToolKnob& knob, const ParameterValue& value) {
  const Domain& domain = knob.parameter.domain;
  const auto number = number_of_value(value);
  if (const auto* levels = std::get_if<Levels>(&domain); levels != nullptr && number) {
    if (*number >= *number_of_value(levels->values.front()) &&
        *number <= *number_of_value(levels->values.back()))
      return {};
  }
  // A knob that a framework would compute is a choice in the study, whatever it is in the file.
  Parameter open = knob.parameter;
  leave_open(open);
  if (std::holds_alternative<std::string>(value) ? admit(open.domain, value).has_value()
                                                 : admit(domain, value).has_value())
    return {};
  return invalid(knob.parameter.name + " is " + printable(to_text(value), 100) +
                 ", which is none of the knob's values here: " + describe(domain));
}

}  // namespace hocket
