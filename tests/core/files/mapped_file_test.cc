#include "core/files/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "tests/odd_files.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

std::string_view text_of_mapped(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, HasTheBytesOfTheFile) {
  const TemporaryFolder folder;
  auto file = MappedFile::open(folder.write("file", "some text"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(text_of_mapped(*file), "some text");
  const MappedFile moved = std::move(*file);
  EXPECT_EQ(text_of_mapped(moved), "some text");
  EXPECT_TRUE(file->bytes().empty());
  MappedFile other = MappedFile::open(folder.write("empty", "")).value();
  EXPECT_TRUE(other.bytes().empty());
  other = MappedFile::open(folder.write("file", "another")).value();
  EXPECT_EQ(text_of_mapped(other), "another");
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(MappedFile::open(folder.file("none")).error().code, ErrorCode::not_found);
  for (const OddFile& odd : odd_files()) {
    if (!odd.kind.starts_with("a named pipe") && !odd.kind.starts_with("a folder")) continue;
    const std::string path = folder.file("odd-" + odd.kind.substr(2));
    odd.make(path);
    EXPECT_TRUE(ends([&] { (void)MappedFile::open(path); })) << odd.kind;
    const auto file = MappedFile::open(path);
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().message, testing::HasSubstr(odd.kind));
  }
}

}  // namespace
}  // namespace hocket
