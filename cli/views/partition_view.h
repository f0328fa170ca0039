#pragma once

// Formats the partition of a step and the rejected alternatives, as JSON and as text
// (docs/formats/explanation.md). Thread-safe.

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/sim/partition_search/partition_search.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct ExplainedStep {
  std::string title;  ///< name of its file
  ScheduleConfig base;
  std::string base_name;  ///< such as "DDP's defaults"
  std::int64_t ranks = 1;
  PartitionChoice choice;
};

nlohmann::json to_json(const ExplainedStep& explained);

void print_partition(std::ostream& out, const ExplainedStep& explained);

}  // namespace hocket
