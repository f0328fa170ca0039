#include "models/weights/hugging_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/gpt2.h"
#include "models/llama.h"
#include "models/mixture.h"
#include "tests/models/sample_model.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

Graph small_gpt2() {
  return built(gpt2({.layers = 2,
                     .heads = 2,
                     .width = 4,
                     .vocabulary = 5,
                     .positions = 3,
                     .sequence = 3,
                     .batch = 1}));
}
Graph small_llama() {
  return built(llama({.layers = 11,
                      .heads = 2,
                      .groups = 1,
                      .width = 4,
                      .hidden = 6,
                      .vocabulary = 5,
                      .sequence = 3,
                      .batch = 1}));
}

TEST(HuggingFace, EveryParameterHasANameOfItsOwn) {
  for (const auto& [model, graph] :
       std::map<std::string, Graph>{{"gpt2", small_gpt2()}, {"llama", small_llama()}}) {
    std::set<std::string> names;
    std::size_t parameters = 0;
    for (const Operation& operation : graph.operations()) {
      if (operation.kind != OperationKind::parameter) continue;
      ++parameters;
      const auto name = hugging_face_name(model, operation.name);
      ASSERT_TRUE(name) << operation.name;
      names.insert(name->name);
    }
    EXPECT_EQ(names.size(), parameters);
  }
}

TEST(HuggingFace, NamesAreThoseOfTheirModels) {
  EXPECT_EQ(hugging_face_name("gpt2", "block11.attention.qkv.weight"),
            (ForeignName{"transformer.h.11.attn.c_attn.weight", true}));
  EXPECT_EQ(hugging_face_name("llama", "block31.mlp.norm.weight"),
            (ForeignName{"model.layers.31.post_attention_layernorm.weight", false}));
  for (const char* name : {"block.mlp.up.weight", "block1", "blocks1.mlp.up.weight", "", "tokens"})
    EXPECT_FALSE(hugging_face_name("gpt2", name)) << name;
  EXPECT_FALSE(hugging_face_name("mixture", "head.weight"));
}

/// Numbers of each parameter, from 0 on.
std::vector<float> ascending(std::int64_t count) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i));
  return numbers;
}

TEST(HuggingFace, PartsOfWeightsAreReadAsTheyWereWritten) {
  const TemporaryFolder folder;
  for (const auto& [model, graph] :
       std::map<std::string, Graph>{{"gpt2", small_gpt2()}, {"llama", small_llama()}}) {
    std::map<std::string, std::vector<float>, std::less<>> numbers;
    for (const Operation& operation : graph.operations())
      numbers[operation.name] = ascending(graph.type(operation.first_result).count());
    const std::string path = folder.file(model);
    const auto written = write_hugging_face(path, model, graph, [&](std::string_view name) {
      return std::span<const float>(numbers.find(name)->second);
    });
    ASSERT_TRUE(written) << written.error().message;
    const WeightFiles files = WeightFiles::open(path).value();
    for (const Operation& operation : graph.operations()) {
      if (operation.kind != OperationKind::parameter) continue;
      const ParameterName name{model, operation.name, graph.type(operation.first_result).shape};
      const std::vector<float>& expected = numbers[operation.name];
      for (std::size_t first = 0; first < expected.size(); ++first) {
        std::vector<float> part(std::min<std::size_t>(3, expected.size() - first));
        const auto read = read_hugging_face(files, name, static_cast<std::int64_t>(first), part);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_TRUE(std::ranges::equal(part, std::span(expected).subspan(first, part.size())));
      }
    }
  }
  // Their Conv1D has [inputs, outputs]: the weight of output 1 and input 0 is ours at 4.
  const WeightFiles files = WeightFiles::open(folder.file("gpt2")).value();
  const auto* tensor = files.find("transformer.h.0.attn.c_attn.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->place.shape, (Shape{4, 12}));
  std::vector<float> value(1);
  ASSERT_TRUE(to_floats(tensor->place.type, tensor->bytes, 1, value));
  EXPECT_EQ(value[0], 4);
}

TEST(HuggingFace, TheirPrefixMayBeLeftOut) {
  const TemporaryFolder folder;
  const std::vector<float> numbers = ascending(20);
  const std::vector<NewTensor> tensors = {{"wte.weight", StoredType::float32, {5, 4}}};
  auto writer = WeightWriter::begin(folder.file("x"), tensors);
  ASSERT_TRUE(writer && writer->write(std::as_bytes(std::span(numbers))) && writer->finish());
  const WeightFiles files = WeightFiles::open(folder.file("x")).value();
  std::vector<float> read(20);
  ASSERT_TRUE(read_hugging_face(files, {"gpt2", "embedding.tokens", {5, 4}}, 0, read));
  EXPECT_EQ(read, numbers);
  const auto error = [&](const ParameterName& name) {
    return said(read_hugging_face(files, name, 0, read));
  };
  EXPECT_THAT(error({"gpt2", "embedding.tokens", {4, 5}}),
              HasSubstr("tensor \"transformer.wte.weight\" has the shape [5, 4], expected [4, 5]"));
  EXPECT_THAT(error({"gpt2", "embedding.positions", {5, 4}}),
              HasSubstr("tensor \"transformer.wpe.weight\" is not there"));
  EXPECT_THAT(error({"mixture", "embedding.tokens", {5, 4}}),
              HasSubstr("parameter \"embedding.tokens\" of mixture has no name"));
}

}  // namespace
}  // namespace hocket
