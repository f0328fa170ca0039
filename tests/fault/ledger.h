#pragma once

// What a daemon has acknowledged to several clients, and whether its store has it. Thread-safe.

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
  /// A trial was given out; the same one twice is a complaint.
  void asked(const std::string& study, std::int64_t trial, const nlohmann::json& params);
  void told(const std::string& study, std::int64_t trial, double value);
  /// Versions of one client: each is above the one before.
  void pushed(std::int64_t version, const nlohmann::json& config);

  /// The study that workers share now, and that it has no more to give.
  int study_number() const;
  void study_is_taken(const std::string& study);

  /// Compares with the store: what came since the last call, or everything.
  void check(const std::string& store, bool everything);

  void complain(const std::string& what);
  bool has_complaints() const { return !complaints().empty(); }
  std::vector<std::string> complaints() const;
  /// Answers that were entered.
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
  std::set<std::string> changed_;  // studies, since the last check
  std::map<std::int64_t, nlohmann::json> versions_;
  std::set<std::int64_t> trials_;
  int study_number_ = 1;
  std::uint64_t asks_ = 0, tells_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace hocket
