#pragma once

// The exit status of a command behind a pipe: that of `bash -c 'train | tee log'` is tee's, also
// when the training has died. Pure; thread-safe.

#include <string>
#include <vector>

namespace hocket {

/// Returns the words of a command whose text for bash ends with the status of the first command of
/// its last pipeline that failed, where its own would be another command's: bash keeps them in
/// PIPESTATUS. A command that ends because nobody reads it any more (SIGPIPE) has not failed.
/// Commands without a pipe, and those of other shells, which keep no status, stay as they are.
std::vector<std::string> with_pipe_status(std::vector<std::string> words);

}  // namespace hocket
