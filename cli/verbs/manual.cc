// hocket manual: writes the manual pages, from what the verbs declare. For builds of hocket, so
// help does not list it.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "archive/profiles/export_profile.h"
#include "cli/reference/manual_page.h"
#include "cli/verbs/program.h"
#include "cli/verbs/verb.h"

namespace hocket {
namespace {

Result<int> write_manual(const CLI::App& program, const std::string& folder) {
  const std::filesystem::path path(folder);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return failure(ErrorCode::unavailable, folder + ": " + error.message());
  const ManualEdition edition{.version = HOCKET_VERSION, .date = HOCKET_VERSION_DATE};
  const DescribedVerb described = describe_verb(program, takes_command);
  HOCKET_TRY(write_whole_file(path / (described.name + ".1"), program_page(described, edition)));
  for (const DescribedVerb& verb : described.verbs) {
    const std::string file = described.name + "-" + verb.name + ".1";
    HOCKET_TRY(write_whole_file(path / file, verb_page(described, verb, edition)));
  }
  return kDone;
}

}  // namespace

void add_manual(CLI::App& program, VerbAction& action) {
  auto folder = std::make_shared<std::string>();
  auto* verb = program.add_subcommand("manual", "write the manual pages into a folder")->group("");
  verb->add_option("FOLDER", *folder, "the folder; it is made")->type_name("FOLDER")->required();
  verb->callback([folder, &program, &action] {
    action = [folder, &program](VerbContext&) { return write_manual(program, *folder); };
  });
}

}  // namespace hocket
