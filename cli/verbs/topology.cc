// hocket topology: prints the topology of this host.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "core/host/accelerator_probe.h"
#include "core/host/topology_probe.h"

namespace hocket {
namespace {

Result<int> show_topology(bool json, VerbContext& context) {
  auto topology = probe_topology();
  HOCKET_TRY(topology);
  const auto accelerators = probe_accelerators();
  topology->accelerator = accelerator_name(accelerators);
  const auto document = to_json(*topology);
  if (json) {
    context.out << json_text({{"name", readable_name(*topology)},
                              {"fingerprint", fingerprint(*topology)},
                              {"accelerators", accelerators.size()},
                              {"topology", document}})
                << '\n';
    return kDone;
  }
  context.out << readable_name(*topology) << '\n'
              << "fingerprint: " << fingerprint(*topology) << '\n'
              << "accelerators: " << accelerators.size() << '\n';
  for (const auto& [field, value] : document.items()) {
    context.out << field << ": "
                << (value.is_string() ? value.get<std::string>() : json_text(value)) << '\n';
  }
  return kDone;
}

}  // namespace

void add_topology(CLI::App& program, VerbAction& action) {
  auto json = std::make_shared<bool>(false);
  auto* verb = program.add_subcommand("topology", "show what this host is");
  verb->add_flag("--json", *json, "print JSON");
  verb->footer("Example:\n  hocket topology --json\n");
  verb->callback(
      [json, &action] { action = [json](VerbContext& c) { return show_topology(*json, c); }; });
}

}  // namespace hocket
