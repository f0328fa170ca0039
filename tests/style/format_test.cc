// Checks that clang-format would leave the sources unchanged.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "tests/style/source_tree.h"
#include "tests/temporary_folder.h"
#include "tuner/trial/process.h"

namespace hocket::style {
namespace {

/// Version in Debian 12; other versions format some code differently.
constexpr const char* kVersion = "version 14.";

ProcessResult run(std::vector<std::string> argv) {
  ProcessOptions options;
  options.argv = std::move(argv);
  auto result = run_process(options, SteadyClock(), CancelToken());
  if (result) return std::move(*result);
  ProcessResult failed;
  failed.exit_status = 127;
  failed.stderr_text = result.error().message;
  return failed;
}

/// Returns the result of a run that fails if clang-format would change a file.
ProcessResult check_format(const std::vector<std::string>& paths) {
  std::vector<std::string> argv = {"clang-format", "--dry-run", "-Werror",
                                   "--style=file:" HOCKET_SOURCE_DIR "/.clang-format"};
  argv.insert(argv.end(), paths.begin(), paths.end());
  return run(std::move(argv));
}

class Format : public testing::Test {
 protected:
  void SetUp() override {
    const std::string version = run({"clang-format", "--version"}).stdout_text;
    if (version.find(kVersion) == std::string::npos) {
      GTEST_SKIP() << "this needs clang-format " << kVersion
                   << "x, found: " << (version.empty() ? "none" : version);
    }
  }
};

TEST_F(Format, SeesABadlyFormattedFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("sample.cc", "int  x ;\n");
  EXPECT_NE(check_format({path}).exit_status, 0);
  folder.write("sample.cc", "int x;\n");
  EXPECT_EQ(check_format({path}).exit_status, 0);
}

TEST_F(Format, HoldsInThisTree) {
  std::vector<std::string> paths;
  for (const SourceFile& file : this_tree()) {
    if (file.kind == FileKind::cpp) paths.push_back(HOCKET_SOURCE_DIR "/" + file.path);
  }
  const ProcessResult result = check_format(paths);
  EXPECT_EQ(result.exit_status, 0) << result.stderr_text.substr(0, 8000);
}

}  // namespace
}  // namespace hocket::style
