#include "models/weights/weight_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// Writes a file of one tensor of two numbers.
std::string write_pair(const TemporaryFolder& folder, const std::string& file,
                       const std::string& name, float begin) {
  const std::vector<float> numbers = {begin, begin + 1};
  const std::vector<NewTensor> tensors = {{name, StoredType::float32, {2}}};
  auto writer = WeightWriter::begin(folder.file(file), tensors);
  EXPECT_TRUE(writer) << writer.error().message;
  EXPECT_TRUE(writer->write(std::as_bytes(std::span(numbers))));
  EXPECT_TRUE(writer->finish());
  return folder.file(file);
}

std::vector<float> numbers_in(const WeightFiles& files, std::string_view name) {
  const auto* tensor = files.find(name);
  if (tensor == nullptr) return {};
  std::vector<float> values(static_cast<std::size_t>(count_of(tensor->place.shape)));
  EXPECT_TRUE(to_floats(tensor->place.type, tensor->bytes, 0, values));
  return values;
}

TEST(WeightFiles, AFileIsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  const auto files = WeightFiles::open(write_pair(folder, "one.safetensors", "a", 3));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(numbers_in(*files, "a"), testing::ElementsAre(3, 4));
  EXPECT_EQ(files->find("b"), nullptr);
}

TEST(WeightFiles, AnUnfinishedFileLeavesTheOldOne) {
  const TemporaryFolder folder;
  const std::string path = write_pair(folder, "one", "a", 3);
  const std::vector<NewTensor> tensors = {{"a", StoredType::float32, {2}}};
  {
    auto writer = WeightWriter::begin(path, tensors);
    ASSERT_TRUE(writer);
    WeightWriter moved = std::move(*writer);
    const std::vector<float> half = {1};
    ASSERT_TRUE(moved.write(std::as_bytes(std::span(half))));
    EXPECT_TRUE(std::filesystem::exists(path + ".part"));
    EXPECT_THAT(moved.finish().error().message, HasSubstr("4 bytes of its tensors are missing"));
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_THAT(numbers_in(WeightFiles::open(path).value(), "a"), testing::ElementsAre(3, 4));
  EXPECT_THAT(WeightWriter::begin(folder.file("no/file"), tensors).error().message,
              HasSubstr("no/file"));
}

TEST(WeightFiles, AnIndexJoinsFilesThatLieBesideIt) {
  const TemporaryFolder folder;
  write_pair(folder, "one.safetensors", "a", 3);
  write_pair(folder, "two.safetensors", "b", 5);
  const std::string index = folder.write("model.safetensors.index.json", R"({
    "metadata": {"total_size": 16},
    "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  for (const std::string& path : {index, std::string(folder.path())}) {
    const auto files = WeightFiles::open(path);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_THAT(numbers_in(*files, "a"), testing::ElementsAre(3, 4));
    EXPECT_THAT(numbers_in(*files, "b"), testing::ElementsAre(5, 6));
  }
}

TEST(WeightFiles, AFolderHasOneFileOrAnIndex) {
  const TemporaryFolder folder;
  EXPECT_THAT(WeightFiles::open(folder.path()).error().message,
              HasSubstr("has neither model.safetensors.index.json nor model.safetensors"));
  write_pair(folder, "model.safetensors", "a", 3);
  EXPECT_TRUE(WeightFiles::open(folder.path()));
}

TEST(WeightFiles, AnIndexLeadsNowhereElse) {
  const TemporaryFolder folder;
  write_pair(folder, "one.safetensors", "a", 3);
  write_pair(folder, "same.safetensors", "a", 3);
  const auto error = [&](const std::string& map) {
    const auto files = WeightFiles::open(folder.write("x.json", R"({"weight_map": )" + map + "}"));
    return files ? "" : files.error().message;
  };
  for (const char* name : {"../one.safetensors", "/etc/passwd", "..", "", "a/b", "a\\u0000b"}) {
    EXPECT_THAT(error(std::string(R"({"a": ")") + name + "\"}"),
                testing::AllOf(HasSubstr("x.json"), HasSubstr("beside the index")));
  }
  EXPECT_THAT(error(R"({"b": "one.safetensors"})"),
              HasSubstr("tensor \"b\" is not in one.safetensors"));
  EXPECT_THAT(error(R"({"a": "none.safetensors"})"), HasSubstr("none.safetensors"));
  EXPECT_THAT(error(R"({"a": "one.safetensors", "b": "same.safetensors"})"),
              HasSubstr("tensor \"a\" is in another file, too"));
  EXPECT_THAT(error("[]"), HasSubstr("weight_map"));
}

TEST(WeightFiles, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(WeightFiles::open(folder.write("bad", "short")).error().message,
              HasSubstr("bad: is no safetensors file: it has only 5 bytes"));
  EXPECT_EQ(WeightFiles::open(folder.file("none")).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace hocket
