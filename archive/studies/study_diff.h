#pragma once

// Two studies against each other: what differs between them, whether their values can be compared,
// and then what the difference is worth. Pure functions; thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "core/protocol/topology.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"

namespace hocket {

/// A study as far as a comparison depends on it.
struct ComparedStudy {
  std::string name;
  std::vector<std::string> command = {};
  StudyDefinition definition;  ///< its objective as far as its trials have shown it
  Topology topology = {};
  std::string workload = {};  ///< fingerprint
  StudyResult result = {};    ///< without a value where nothing completed
};

/// The same of both; empty where a study has none.
struct Differing {
  std::string name, first, second;

  bool operator==(const Differing&) const = default;
};

/// A value of both, with its spread.
struct ComparedValue {
  double first = 0, first_spread = 0, second = 0, second_spread = 0;
  /// The second one's change against the first, as a share of it; nothing if that is 0.
  std::optional<double> change = {};
  bool is_beyond_spread = false;  ///< they are further apart than both spreads together

  bool operator==(const ComparedValue&) const = default;
};

struct StudyDiff {
  std::vector<Differing> parameters = {};  ///< what is searched, where it differs
  std::vector<Differing> defaults = {};    ///< values of the default settings, where they differ
  std::vector<Differing> best = {};        ///< values of the best settings, where they differ
  /// Why no value of one may be held against one of the other; empty if they may.
  std::vector<std::string> incomparable = {};
  /// Only where the studies are comparable; the first also needs equal default settings.
  std::optional<ComparedValue> of_defaults = {}, of_best = {};
  /// Why the best values are not compared although the studies are comparable; may be empty.
  std::string why_not_best = {};
};

StudyDiff study_diff(const ComparedStudy& first, const ComparedStudy& second);

}  // namespace hocket
