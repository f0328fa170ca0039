#include "tests/fault/gpt2_job.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/json.h"

namespace hocket {

Gpt2Job::Gpt2Job(const TemporaryFolder& folder, const Gpt2JobOptions& options)
    : folder_(folder.file("job")) {
  std::filesystem::remove_all(folder_);
  for (const char* name : {"/meet", "/cache"}) std::filesystem::create_directories(folder_ + name);
  ChildOptions common;
  common.argv = {HOCKET_BIN "/gpt2", "--layers", "2", "--json"};
  if (options.watch) {
    common.argv.insert(common.argv.end(), {"--watch", "--explore", options.explore});
  }
  if (options.record) common.argv.insert(common.argv.end(), {"--record", folder_ + "/tape"});
  common.argv.insert(common.argv.end(), options.arguments.begin(), options.arguments.end());
  common.environment = {
      {"HOCKET_DAEMON", options.daemon},
      {"HOCKET_STORE", options.store.empty() ? "/nonexistent/hocket.db" : options.store},
      {"HOCKET_ITERATIONS", folder_ + "/iterations"},
      {"HOCKET_RENDEZVOUS",
       options.rendezvous.empty() ? "file:" + folder_ + "/meet" : options.rendezvous},
      {"XDG_CACHE_HOME", folder_ + "/cache"},
      {"OPENBLAS_NUM_THREADS", "1"},
      {"WORLD_SIZE", std::to_string(options.ranks)}};
  for (const auto& [name, value] : options.environment) common.environment[name] = value;
  for (int rank = 0; rank < options.ranks; ++rank) {
    ChildOptions child = common;
    if (const auto place = static_cast<std::size_t>(rank); place < options.launchers.size())
      child.argv.insert(child.argv.begin(), options.launchers[place].begin(),
                        options.launchers[place].end());
    child.environment["RANK"] = child.environment["LOCAL_RANK"] = std::to_string(rank);
    child.out_path = file("out", rank);
    child.err_path = file("err", rank);
    ranks_.push_back(std::make_unique<Child>(child));
  }
}

std::string Gpt2Job::file(const std::string& name, int rank) const {
  return folder_ + "/" + name + "." + std::to_string(rank);
}

std::int64_t Gpt2Job::iterations() const {
  const std::string text = read_file(folder_ + "/iterations").value_or("");
  return std::ranges::count(text, '\n');
}

std::string Gpt2Job::out() const {
  return read_file(file("out", 0)).value_or("");
}

std::string Gpt2Job::errors() const {
  std::string errors;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) errors += this->errors(rank);
  return errors;
}

std::string Gpt2Job::errors(int rank) const {
  return read_file(file("err", rank)).value_or("");
}

int Gpt2Job::wait() {
  int status = 0;
  for (const auto& rank : ranks_) {
    const int one = rank->wait(std::chrono::minutes(1)).value_or(-1);
    if (status == 0) status = one;
  }
  return status;
}

std::string Gpt2Job::tape(int rank) const {
  const std::string suffix = rank == 0 ? "" : "." + std::to_string(rank);
  return read_file(folder_ + "/tape" + suffix).value_or("");
}

nlohmann::json Gpt2Job::learned() const {
  const auto report = nlohmann::json::parse(out(), nullptr, false);
  if (!report.is_object()) return nullptr;
  return {{"losses", report.at("losses")}, {"parameters_hash", report.at("parameters_hash")}};
}

}  // namespace hocket
