#include "archive/studies/command_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "tuner/command/command_program.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using FileProgramKind = CommandProgram::Kind;

/// Folders whose programs change with the system, not with what a user edits.
constexpr std::string_view kSystemFolders[] = {"/bin/", "/sbin/",    "/usr/bin/", "/usr/sbin/",
                                               "/lib/", "/usr/lib/", "/dev/",     "/proc/"};
/// Ends of the names of files that a text for a shell reads rather than writes.
constexpr std::string_view kSourceEnds[] = {".py",   ".sh",  ".bash", ".zsh", ".pl",   ".rb",
                                            ".lua",  ".jl",  ".R",    ".js",  ".yaml", ".yml",
                                            ".toml", ".cfg", ".conf", ".ini"};

/// Collects files, each once, in order.
class FileList {
 public:
  explicit FileList(fs::path folder) : folder_(std::move(folder)) {}

  bool add(const fs::path& path, bool is_program) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(folder_ / path, error);
    if (error) return false;
    const std::string text = real.string();
    const auto is_within = [&](std::string_view system) { return text.starts_with(system); };
    if (std::ranges::any_of(kSystemFolders, is_within)) return false;
    const auto known = std::ranges::find(files_, text, &FileFingerprint::path);
    if (known != files_.end()) return true;
    auto fingerprint = content_fingerprint(text);
    if (!fingerprint) return false;
    files_.push_back({text, std::move(*fingerprint), is_program});
    return true;
  }

  std::vector<FileFingerprint> take() { return std::move(files_); }

 private:
  const fs::path folder_;
  std::vector<FileFingerprint> files_;
};

void add_program(const CommandProgram& program, FileList& files) {
  if (program.text.empty()) return;
  const fs::path folder = program.folder;
  switch (program.kind) {
    case FileProgramKind::script:
      files.add(folder / program.text, true);
      return;
    case FileProgramKind::program:
      // Without "/" it is found through PATH.
      if (program.text.find('/') != std::string::npos) files.add(folder / program.text, true);
      return;
    case FileProgramKind::module: {
      std::string relative = program.text;
      std::ranges::replace(relative, '.', '/');
      if (!files.add(folder / (relative + ".py"), true))
        files.add(folder / relative / "__main__.py", true);
      return;
    }
    case FileProgramKind::code:
    case FileProgramKind::unknown:
      return;
  }
}

bool is_source(std::string_view word) {
  return std::ranges::any_of(kSourceEnds,
                             [&](std::string_view end) { return word.ends_with(end); });
}

/// Adds the scripts that a text for a shell names.
void add_words_of_code(std::string_view code, FileList& files) {
  constexpr std::string_view kBetween = " \t\n;|&()<>'\"`=";
  while (!code.empty()) {
    const std::size_t length = std::min(code.find_first_of(kBetween), code.size());
    const std::string_view word = code.substr(0, length);
    if (is_source(word)) files.add(fs::path(word), true);
    code.remove_prefix(std::min(length + 1, code.size()));
  }
}

}  // namespace

std::vector<FileFingerprint> command_files(std::span<const std::string> command,
                                           const std::string& folder) {
  FileList files(folder);
  if (command.empty()) return {};
  add_program(read_command(command), files);
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word.empty() || (i == 0 && word.find('/') == std::string::npos)) continue;
    if (word.find_first_of(" \t\n;|&") != std::string::npos) {
      add_words_of_code(word, files);
    } else if (const auto equals = word.find('='); equals != std::string::npos) {
      if (equals + 1 < word.size()) files.add(word.substr(equals + 1), false);
    } else {
      files.add(word, i == 0);
    }
  }
  return files.take();
}

std::vector<FileFingerprint> files_of_study(const StudyDefinition& definition,
                                            std::span<const std::string> command) {
  auto files = command_files(command, definition.working_directory);
  std::vector<Objective> measured = objectives_of(definition);
  for (const MetricLimit& limit : definition.limits) measured.push_back(limit.objective);
  for (const Objective& objective : measured) {
    if (objective.kind != ObjectiveKind::file) continue;
    std::error_code error;
    const auto path =
        fs::weakly_canonical(fs::path(definition.working_directory) / objective.argument, error);
    std::erase_if(files, [&](const FileFingerprint& file) { return file.path == path.string(); });
  }
  return files;
}

Error changed_error(const std::string& study, const FileFingerprint& file,
                    const std::string& remedy) {
  std::error_code error;
  const bool is_there = fs::exists(file.path, error);
  return {ErrorCode::invalid_argument,
          file.path + (is_there ? " has changed since study " : " is not there any more; study ") +
              study + (is_there ? " began, and" : " began with it, and") +
              " values of before and after do not mix; " + remedy};
}

Result<std::vector<std::string>> forget_written_files(Store& store, std::int64_t study_id) {
  const auto study = store.study(std::to_string(study_id));
  HOCKET_TRY(study);
  auto definition = study_definition_from_json(study->definition);
  HOCKET_TRY(definition);
  std::vector<std::string> written;
  std::erase_if(definition->files, [&](const FileFingerprint& file) {
    const bool is_written = !file.is_program && content_fingerprint(file.path) != file.fingerprint;
    if (is_written) written.push_back(file.path);
    return is_written;
  });
  if (written.empty()) return written;
  HOCKET_TRY(store.update_study(
      study_id, {.definition = to_json(*definition), .expected_owner = study->owner}));
  return written;
}

}  // namespace hocket
