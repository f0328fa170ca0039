#pragma once

// How a step is partitioned and what was rejected, as JSON and as people read it
// (docs/formats/explanation.md). Thread-safe.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/sim/partition_search/partition_search.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct ExplainedStep {
  std::string title;  ///< its file
  ScheduleConfig base;
  PartitionChoice choice;
};

nlohmann::json to_json(const ExplainedStep& explained);

void print_partition(std::ostream& out, const ExplainedStep& explained);

}  // namespace hocket
