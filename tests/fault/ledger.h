#pragma once

// Records what a daemon has acknowledged to several clients, and checks that its store contains it.
// Thread-safe.

#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace hocket {

class Ledger {
 public:
  /// Records a trial that was handed out; handing it out twice is a complaint.
  void asked(const std::string& study, std::int64_t trial, const nlohmann::json& params);
  void told(const std::string& study, std::int64_t trial, double value);
  /// Records versions of one client; each must be above the previous one.
  void pushed(std::int64_t version, const nlohmann::json& config);

  /// The study that the workers currently share, and the notification that it has no more trials.
  int study_number() const;
  void study_is_taken(const std::string& study);

  /// Compares with the store the entries since the last call, or all entries.
  void check(const std::string& store, bool everything);

  void complain(const std::string& what);
  bool has_complaints() const { return !complaints().empty(); }
  std::vector<std::string> complaints() const;
  /// Returns the number of recorded acknowledgements.
  std::uint64_t acknowledged() const;
  nlohmann::json counts() const;

 private:
  struct Trial {
    nlohmann::json params;
    std::optional<double> value;
  };
  using Trials = std::map<std::int64_t, Trial>;

  void check_study(class Store& store, const std::string& name, const Trials& trials);

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<std::string, Trials> studies_;
  std::set<std::string> changed_;  // studies changed since the last check
  std::map<std::int64_t, nlohmann::json> versions_;
  std::set<std::int64_t> trials_;
  int study_number_ = 1;
  std::uint64_t asks_ = 0, tells_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace hocket
