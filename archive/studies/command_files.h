#pragma once

// The files among the words of a study's command, by whose content a study notices that its script
// has changed: values of before and after must not mix. Reads the file system; thread-safe as far
// as the store is.

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "store/store.h"
#include "tuner/study/study_definition.h"
#include "tuner/trial/file_fingerprint.h"

namespace hocket {

/// Returns the files of `command`, started in the absolute path `folder`, without symbolic links:
/// the script or the program that it runs (tuner/command/command_program.h), and its words that are
/// regular files (also behind "=", and scripts within a text for a shell). Programs of the system
/// and files of more than kMostFingerprintedBytes are left out.
std::vector<FileFingerprint> command_files(std::span<const std::string> command,
                                           const std::string& folder);

/// Returns the files of a new study's command, without those that its objectives and limits read.
std::vector<FileFingerprint> files_of_study(const StudyDefinition& definition,
                                            std::span<const std::string> command);

/// Returns why a study cannot go on since `file` has changed; `remedy` says what to do.
Error changed_error(const std::string& study, const FileFingerprint& file,
                    const std::string& remedy);

/// Forgets those files of the study's definition that were arguments and have another content now:
/// the command itself writes them. To be called when the first trial has ended. Returns their
/// paths.
Result<std::vector<std::string>> forget_written_files(Store& store, std::int64_t study_id);

}  // namespace hocket
