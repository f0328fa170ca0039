#include "models/weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Returns a file with this header and so many bytes of data.
std::string file_with(const std::string& header, std::size_t data) {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i)
    file.push_back(static_cast<char>(std::uint64_t{header.size()} >> (8 * i)));
  return file + header + std::string(data, 'x');
}

std::string error_of(const std::string& header, std::size_t data) {
  const std::string file = file_with(header, data);
  const auto tensors = read_safetensors(bytes_of_text(file));
  return tensors ? "" : tensors.error().message;
}

std::string one_tensor(const std::string& type, const std::string& shape,
                       const std::string& offsets) {
  return R"({"w": {"dtype": ")" + type + R"(", "shape": )" + shape + R"(, "data_offsets": )" +
         offsets + "}}";
}

TEST(Safetensors, AHeaderIsReadBackAsItWasWritten) {
  const std::vector<NewTensor> tensors = {{"b.weight", StoredType::float32, {2, 3}},
                                          {"a.weight", StoredType::bfloat16, {3}},
                                          {"scalar", StoredType::int64, {}}};
  const std::string header = safetensors_header(tensors).value();
  EXPECT_EQ(header.size() % 8, 0u);
  const std::string file = header + std::string(24 + 6 + 8, 'x');
  const auto read = read_safetensors(bytes_of_text(file));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3u);
  std::size_t begin = header.size();
  for (std::size_t i = 0; i < 3; ++i) {
    const NewTensor& tensor = tensors[i];
    const auto size = static_cast<std::size_t>(count_of(tensor.shape) * number_bytes(tensor.type));
    EXPECT_EQ((*read)[i],
              (TensorPlace{tensor.name, tensor.type, tensor.shape, begin, begin + size}));
    begin += size;
  }
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  EXPECT_EQ(error_of(R"({"__metadata__": {"format": "pt"},
      "b": {"dtype": "I8", "shape": [], "data_offsets": [8, 9]},
      "empty": {"dtype": "F64", "shape": [0, 4], "data_offsets": [9, 9]},
      "a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}   )",
                     9),
            "");
  EXPECT_EQ(error_of("{}", 0), "");
  for (const auto type : {StoredType::float64, StoredType::float8_e4m3, StoredType::boolean}) {
    const auto bytes = static_cast<std::size_t>(number_bytes(type));
    EXPECT_EQ(error_of(one_tensor(std::string(to_string(type)), "[1]",
                                  "[0, " + std::to_string(bytes) + "]"),
                       bytes),
              "");
  }
}

TEST(Safetensors, RefusesWhatDoesNotFitTheFile) {
  EXPECT_THAT(error_of(one_tensor("F32", "[2]", "[0, 4]"), 4),
              HasSubstr("tensor \"w\": bytes 0 to 4 are not those of F32[2]"));
  EXPECT_THAT(error_of(one_tensor("F32", "[2]", "[8, 0]"), 8), HasSubstr("are not those of"));
  EXPECT_THAT(error_of(one_tensor("F32", "[2]", "[0, 8]"), 7),
              HasSubstr("are behind the end of the file; it may not be whole"));
  EXPECT_THAT(error_of(one_tensor("F32", "[2]", "[4, 12]"), 12), HasSubstr("do not follow"));
  EXPECT_THAT(error_of(one_tensor("F32", "[2]", "[0, 8]"), 9),
              HasSubstr("has 1 bytes behind its last tensor"));
  EXPECT_THAT(error_of(one_tensor("F33", "[2]", "[0, 8]"), 8), HasSubstr("header"));
  EXPECT_THAT(error_of(one_tensor("F32", "[-2]", "[0, 8]"), 8), HasSubstr("shape[0]"));
  EXPECT_THAT(error_of(one_tensor("F32", "[2.5]", "[0, 8]"), 8), HasSubstr("shape[0]"));
  EXPECT_THAT(error_of(one_tensor("F32", "[1,1,1,1,1,1,1,1,1]", "[0, 4]"), 4), HasSubstr("shape"));
  EXPECT_THAT(error_of(one_tensor("F32", "[2]", "[0]"), 8), Not(testing::IsEmpty()));
  EXPECT_THAT(error_of(one_tensor("F32", "[2]", "[0, 8, 9]"), 8), HasSubstr("data_offsets"));
  EXPECT_THAT(error_of(one_tensor("F64", "[4294967296, 4294967296, 2]", "[0, 8]"), 8),
              HasSubstr("are not those of"));
  EXPECT_THAT(error_of(one_tensor("F64", "[4294967296, 4294967296, 2]", "[0, 0]"), 0),
              HasSubstr("are not those of"));
  EXPECT_THAT(error_of(R"({"w": 3})", 0), HasSubstr("expected"));
  EXPECT_THAT(error_of("[1]", 0), HasSubstr("must be a JSON object"));
  EXPECT_THAT(error_of(R"({"a": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]},
                           "b": {"dtype": "I8", "shape": [4], "data_offsets": [2, 6]}})",
                       6),
              HasSubstr("tensor \"b\": bytes 2 to 6 overlap those of another tensor"));
  const std::string long_name(2000, 'n');
  EXPECT_THAT(
      error_of("{\"" + long_name + R"(": {"dtype": "I8", "shape": [], "data_offsets": [0, 1]}})",
               1),
      testing::AllOf(HasSubstr("a name of 1 to 1000 bytes"), testing::SizeIs(testing::Lt(400u))));
}

TEST(Safetensors, RefusesAHeaderThatIsNotWhole) {
  for (const std::string& file : {std::string(), std::string("{}"), std::string(8, '\xff'),
                                  std::string("\3\0\0\0\0\0\0\0{}", 10)}) {
    const auto read = read_safetensors(bytes_of_text(file));
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("is no safetensors file"));
  }
}

TEST(Safetensors, MutatedFilesAreRefusedOrFit) {
  std::mt19937_64 random(11);
  const std::string good = file_with(
      R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
          "b": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [8, 16]}})",
      16);
  for (std::uint64_t round = 0; round < rounds(2000); ++round) {
    const std::string file = mutate(good, random);
    const auto read = read_safetensors(bytes_of_text(file));
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
      continue;
    }
    for (const TensorPlace& tensor : *read) {
      EXPECT_LE(tensor.begin, tensor.end);
      EXPECT_LE(tensor.end, file.size());
    }
  }
}

TEST(Safetensors, ConvertsToFloats) {
  const auto read = [](StoredType type, const std::vector<std::uint16_t>& bits) {
    std::vector<float> values(bits.size() - 1);
    EXPECT_TRUE(to_floats(type, std::as_bytes(std::span(bits)), 1, values));
    return values;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(read(StoredType::float16,
                   {7, 0x3c00, 0xc000, 0x0001, 0x8001, 0x7bff, 0x7c00, 0x0400, 0x3555}),
              testing::ElementsAre(1, -2, std::ldexp(1.0f, -24), -std::ldexp(1.0f, -24), 65504,
                                   infinity, std::ldexp(1.0f, -14), 0.333251953125f));
  EXPECT_TRUE(std::isnan(read(StoredType::float16, {0, 0x7e00})[0]));
  EXPECT_TRUE(std::signbit(read(StoredType::float16, {0, 0x8000})[0]));
  EXPECT_THAT(read(StoredType::bfloat16, {7, 0x3f80, 0xc000, 0x3eaa}),
              testing::ElementsAre(1, -2, 0.33203125f));
  std::vector<float> value(1);
  EXPECT_THAT(to_floats(StoredType::int64, {}, 0, value).error().message,
              HasSubstr("has numbers of type I64, expected F32, F16 or BF16"));
}

TEST(Safetensors, RefusesNamesThatCannotBe) {
  const auto error = [](std::vector<NewTensor> tensors) {
    const auto header = safetensors_header(tensors);
    return header ? "" : header.error().message;
  };
  EXPECT_THAT(error({{"a", StoredType::int8, {1}}, {"a", StoredType::int8, {1}}}),
              HasSubstr("tensor \"a\": is there twice"));
  EXPECT_THAT(error({{"", StoredType::int8, {1}}}), HasSubstr("expected a name"));
  EXPECT_THAT(error({{"__metadata__", StoredType::int8, {1}}}), HasSubstr("is there twice"));
}

}  // namespace
}  // namespace hocket
