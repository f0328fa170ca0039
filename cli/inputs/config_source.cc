#include "cli/inputs/config_source.h"

#include <ostream>
#include <vector>

#include "cli/inputs/command_line.h"
#include "core/base/json.h"

namespace hocket {

Result<ScheduleConfig> read_config(const std::string& source, ScheduleConfig otherwise,
                                   std::ostream& err) {
  if (source.empty()) return otherwise;
  const auto begin = source.find_first_not_of(" \t\n");
  const bool is_json = begin != std::string::npos && source[begin] == '{';
  const auto text = is_json ? source : read_file(source);
  if (!text) return invalid(text.error().in("--config").message);
  std::vector<std::string> warnings;
  auto config = parse_schedule_config(*text, &warnings);
  if (!config) return failure(config.error().in("--config"));
  for (const auto& warning : warnings) err << "hocket: --config: " << warning << std::endl;
  return config;
}

}  // namespace hocket
