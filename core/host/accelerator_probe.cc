#include "core/host/accelerator_probe.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace hocket {
namespace {

constexpr std::size_t kMaxModelBytes = 256;

/// Returns the text after "Model:" in a GPU's information file; "" if there is none.
std::string model_in(const std::filesystem::path& information) {
  std::ifstream file(information);
  constexpr std::string_view kModel = "Model:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kModel)) continue;
    const auto begin = line.find_first_not_of(" \t", kModel.size());
    if (begin == std::string::npos) return "";
    const auto end = line.find_last_not_of(" \t\r");
    return line.substr(begin, std::min(end - begin + 1, kMaxModelBytes));
  }
  return "";
}

}  // namespace

std::vector<std::string> probe_accelerators(const std::string& driver) {
  std::error_code error;
  std::vector<std::filesystem::path> gpus;
  for (std::filesystem::directory_iterator at(driver + "/gpus", error), end; !error && at != end;
       at.increment(error))
    gpus.push_back(at->path());
  std::ranges::sort(gpus);
  std::vector<std::string> models;
  for (const auto& gpu : gpus) {
    std::string model = model_in(gpu / "information");
    if (!model.empty()) models.push_back(std::move(model));
  }
  return models;
}

std::string accelerator_name(std::vector<std::string> models) {
  std::ranges::sort(models);
  const auto repeated = std::ranges::unique(models);
  models.erase(repeated.begin(), repeated.end());
  std::string name;
  for (const std::string& model : models) name += (name.empty() ? "" : ", ") + model;
  return name;
}

}  // namespace hocket
