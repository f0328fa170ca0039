#include "tests/fault/ledger.h"

#include <nlohmann/json.hpp>

#include "store/open.h"

namespace hocket {

void Ledger::asked(const std::string& study, std::int64_t trial, const nlohmann::json& params) {
  const std::lock_guard lock(mutex_);
  ++asks_;
  changed_.insert(study);
  if (!trials_.insert(trial).second) {
    complaints_.push_back("trial " + std::to_string(trial) + " was given out twice");
  }
  studies_[study][trial].params = params;
}

void Ledger::told(const std::string& study, std::int64_t trial, double value) {
  const std::lock_guard lock(mutex_);
  ++tells_;
  changed_.insert(study);
  studies_[study][trial].value = value;
}

void Ledger::pushed(std::int64_t version, const nlohmann::json& config) {
  const std::lock_guard lock(mutex_);
  if (!versions_.empty() && version <= versions_.rbegin()->first) {
    complaints_.push_back("version " + std::to_string(version) + " was pushed after version " +
                          std::to_string(versions_.rbegin()->first));
  }
  versions_[version] = config;
}

int Ledger::study_number() const {
  const std::lock_guard lock(mutex_);
  return study_number_;
}

void Ledger::study_is_taken(const std::string& study) {
  const std::lock_guard lock(mutex_);
  if (study.ends_with("-" + std::to_string(study_number_))) ++study_number_;
}

void Ledger::check_study(Store& store, const std::string& name, const Trials& trials) {
  const auto study = store.study(name);
  if (!study) return complaints_.push_back(study.error().message);
  const auto rows = store.trials(study->id, TrialDetail::summary);
  if (!rows) return complaints_.push_back(rows.error().message);
  std::map<std::int64_t, TrialRow> there;
  for (const TrialRow& row : *rows) there[row.id] = row;
  for (const auto& [id, trial] : trials) {
    const std::string what = "trial " + std::to_string(id) + " of " + name;
    const auto row = there.find(id);
    if (row == there.end()) {
      complaints_.push_back(what + " was acknowledged and is lost");
    } else if (row->second.params != trial.params) {
      complaints_.push_back(what + " has other parameters now");
    } else if (trial.value && row->second.value != trial.value) {
      complaints_.push_back("the value of " + what + " was acknowledged and is lost");
    }
  }
}

void Ledger::check(const std::string& path, bool everything) {
  const std::lock_guard lock(mutex_);
  const auto store = open_store(path, {.read_only = true});
  if (!store) return complaints_.push_back(store.error().message);
  for (const auto& [name, trials] : studies_) {
    if (everything || changed_.contains(name)) check_study(**store, name, trials);
  }
  changed_.clear();
  const auto rows = (*store)->promotions({});
  if (!rows) return complaints_.push_back(rows.error().message);
  std::map<std::int64_t, nlohmann::json> there;
  for (const PromotionRow& row : *rows) there[row.id] = row.config;
  for (const auto& [version, config] : versions_) {
    const auto row = there.find(version);
    if (row != there.end() && row->second == config) continue;
    complaints_.push_back("version " + std::to_string(version) +
                          " was acknowledged and is lost or another");
  }
}

void Ledger::complain(const std::string& what) {
  const std::lock_guard lock(mutex_);
  complaints_.push_back(what);
}

std::vector<std::string> Ledger::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

std::uint64_t Ledger::acknowledged() const {
  const std::lock_guard lock(mutex_);
  return asks_ + tells_ + versions_.size();
}

nlohmann::json Ledger::counts() const {
  const std::lock_guard lock(mutex_);
  return {{"asks", asks_}, {"tells", tells_}, {"pushes", versions_.size()}};
}

}  // namespace hocket
