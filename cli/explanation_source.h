#pragma once

// Where an explanation comes from: the search of a study, or a recorded table. One thread.

#include <string>
#include <vector>

#include "cli/text.h"
#include "core/result.h"
#include "store/store.h"
#include "tuner/explanation.h"
#include "tuner/recorded_table.h"

namespace hocket {

struct Explained {
  std::string title;      ///< "study NAME" or the table's file
  std::string objective;  ///< what was minimised
  Unit unit = Unit::none;
  Space space;
  std::vector<SearchTrial> trials;
  std::vector<std::string> reasons;  ///< why each was asked; empty where nobody asked
  Explanation explanation;
};

Result<Explained> explain_study(Store& store, const std::string& study);
Result<Explained> explain_table(const std::string& path, const RecordedTableOptions& columns);

}  // namespace hocket
