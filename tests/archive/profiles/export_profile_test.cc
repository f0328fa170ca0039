#include "archive/profiles/export_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "profiler/formats/chrome_import.h"
#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(ExportProfile, ChromeIsReadBackEqual) {
  ProfiledJob job;
  const auto loaded = must(load_profile(job.add()));
  std::stringstream file;
  must(export_profile(loaded, ExportFormat::chrome, file));
  const auto read = must(read_chrome_trace(file));
  EXPECT_EQ(read.traces, loaded.traces);
}

TEST(ExportProfile, PerfettoHasTheNames) {
  ProfiledJob job;
  const auto loaded = must(load_profile(job.add()));
  std::ostringstream file;
  must(export_profile(loaded, ExportFormat::perfetto, file));
  for (const std::string& name : loaded.traces[0].names) EXPECT_THAT(file.str(), HasSubstr(name));
}

TEST(ExportProfile, KnowsItsFormats) {
  EXPECT_EQ(must(parse_export_format("chrome")), ExportFormat::chrome);
  EXPECT_EQ(must(parse_export_format("perfetto")), ExportFormat::perfetto);
  EXPECT_THAT(message_of(parse_export_format("otf2")), HasSubstr("otf2"));
}

TEST(ExportProfile, WritesAFileOrNothing) {
  ProfiledJob job;
  const auto loaded = must(load_profile(job.add()));
  for (const auto format : {ExportFormat::chrome, ExportFormat::perfetto}) {
    std::ostringstream expected;
    must(export_profile(loaded, format, expected));
    const std::string path = job.folder.file("out");
    must(export_profile_to(loaded, format, path));
    EXPECT_TRUE(read_bytes(path) == expected.str());
    EXPECT_FALSE(std::filesystem::exists(path + ".part"));
    // Simulates a full disk.
    EXPECT_THAT(message_of(export_profile_to(loaded, format, "/dev/full")),
                HasSubstr("/dev/full: No space left"));
    EXPECT_THAT(message_of(export_profile_to(loaded, format, job.folder.file("none/out"))),
                HasSubstr("No such file"));
    EXPECT_THAT(message_of(export_profile_to(loaded, format, job.folder.path())),
                HasSubstr("directory"));
  }
}

TEST(WriteWholeFile, LeavesWhatIsThereUntilItIsWhole) {
  TemporaryFolder folder;
  const std::string path = folder.file("out");
  must(write_whole_file(path, "old"));
  // A folder has the name of the temporary file.
  std::filesystem::create_directory(path + ".part");
  write_bytes(path + ".part/x", "x");
  EXPECT_FALSE(write_whole_file(path, "new"));
  EXPECT_EQ(read_bytes(path), "old");
  std::filesystem::remove_all(path + ".part");
  must(write_whole_file(path, "new"));
  EXPECT_EQ(read_bytes(path), "new");
  EXPECT_THAT(message_of(write_whole_file("/dev/full", "text")), HasSubstr("No space left"));
}

}  // namespace
}  // namespace hocket
