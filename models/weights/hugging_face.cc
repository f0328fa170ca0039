#include "models/weights/hugging_face.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace hocket {
namespace {

struct NamePair {
  std::string_view ours, theirs;
  bool is_transposed = false;
};

/// Names outside of blocks, and within them; "transformer." or "model." and the number of the block
/// are in front of theirs.
constexpr std::array<NamePair, 4> kGpt2Outer{{{"embedding.tokens", "transformer.wte.weight"},
                                              {"embedding.positions", "transformer.wpe.weight"},
                                              {"head.norm.weight", "transformer.ln_f.weight"},
                                              {"head.norm.bias", "transformer.ln_f.bias"}}};
/// Their Conv1D multiplies by a matrix of [inputs, outputs].
constexpr std::array<NamePair, 12> kGpt2Inner{{{"attention.norm.weight", "ln_1.weight"},
                                               {"attention.norm.bias", "ln_1.bias"},
                                               {"attention.qkv.weight", "attn.c_attn.weight", true},
                                               {"attention.qkv.bias", "attn.c_attn.bias"},
                                               {"attention.out.weight", "attn.c_proj.weight", true},
                                               {"attention.out.bias", "attn.c_proj.bias"},
                                               {"mlp.norm.weight", "ln_2.weight"},
                                               {"mlp.norm.bias", "ln_2.bias"},
                                               {"mlp.up.weight", "mlp.c_fc.weight", true},
                                               {"mlp.up.bias", "mlp.c_fc.bias"},
                                               {"mlp.down.weight", "mlp.c_proj.weight", true},
                                               {"mlp.down.bias", "mlp.c_proj.bias"}}};
constexpr std::array<NamePair, 3> kLlamaOuter{{{"embedding.tokens", "model.embed_tokens.weight"},
                                               {"head.norm.weight", "model.norm.weight"},
                                               {"head.weight", "lm_head.weight"}}};
constexpr std::array<NamePair, 9> kLlamaInner{
    {{"attention.norm.weight", "input_layernorm.weight"},
     {"attention.query.weight", "self_attn.q_proj.weight"},
     {"attention.key.weight", "self_attn.k_proj.weight"},
     {"attention.value.weight", "self_attn.v_proj.weight"},
     {"attention.out.weight", "self_attn.o_proj.weight"},
     {"mlp.norm.weight", "post_attention_layernorm.weight"},
     {"mlp.gate.weight", "mlp.gate_proj.weight"},
     {"mlp.up.weight", "mlp.up_proj.weight"},
     {"mlp.down.weight", "mlp.down_proj.weight"}}};

struct NameTable {
  std::string_view model;
  std::span<const NamePair> outer, inner;
  std::string_view block;  ///< in front of the number of a block
};
constexpr std::array<NameTable, 2> kNameTables{
    {{"gpt2", kGpt2Outer, kGpt2Inner, "transformer.h."},
     {"llama", kLlamaOuter, kLlamaInner, "model.layers."}}};
constexpr std::string_view kOurBlock = "block", kGpt2Prefix = "transformer.";

const NamePair* find_pair(std::span<const NamePair> pairs, std::string_view name) {
  for (const NamePair& pair : pairs)
    if (pair.ours == name) return &pair;
  return nullptr;
}

/// Place in a matrix of [rows, columns] whose transpose has its numbers in order.
std::int64_t swapped_place(std::int64_t place, std::int64_t rows, std::int64_t columns) {
  return place % columns * rows + place / columns;
}

const WeightFiles::Tensor* find_stored(const WeightFiles& files, std::string_view name) {
  const auto* tensor = files.find(name);
  if (tensor == nullptr && name.starts_with(kGpt2Prefix))
    tensor = files.find(name.substr(kGpt2Prefix.size()));
  return tensor;
}

tl::unexpected<Error> no_name(std::string_view model, std::string_view name) {
  return invalid("parameter \"" + std::string(name) + "\" of " + std::string(model) +
                 " has no name in Hugging Face's files; those of gpt2 and llama have");
}

}  // namespace

std::optional<ForeignName> hugging_face_name(std::string_view model, std::string_view parameter) {
  for (const NameTable& table : kNameTables) {
    if (table.model != model) continue;
    if (const NamePair* pair = find_pair(table.outer, parameter))
      return ForeignName{std::string(pair->theirs), pair->is_transposed};
    const std::size_t dot = parameter.find('.');
    if (!parameter.starts_with(kOurBlock) || dot == std::string_view::npos) return std::nullopt;
    const std::string_view number = parameter.substr(kOurBlock.size(), dot - kOurBlock.size());
    const NamePair* const pair = find_pair(table.inner, parameter.substr(dot + 1));
    const bool is_number = std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (pair == nullptr || number.empty() || !is_number) return std::nullopt;
    return ForeignName{
        std::string(table.block) + std::string(number) + "." + std::string(pair->theirs),
        pair->is_transposed};
  }
  return std::nullopt;
}

Result<void> read_hugging_face(const WeightFiles& files, const ParameterName& parameter,
                               std::int64_t first, std::span<float> values) {
  const auto theirs = hugging_face_name(parameter.model, parameter.name);
  if (!theirs) return no_name(parameter.model, parameter.name);
  const std::string context = files.path() + ": tensor \"" + theirs->name + "\"";
  const auto* const tensor = find_stored(files, theirs->name);
  if (tensor == nullptr) return failure(ErrorCode::not_found, context + " is not there");
  Shape expected = parameter.shape;
  if (theirs->is_transposed) std::swap(expected.at(0), expected.at(1));
  const TensorPlace& place = tensor->place;
  if (place.shape != expected)
    return invalid(context + " has the shape " + to_string(place.shape) + ", expected " +
                   to_string(expected));
  if (!theirs->is_transposed) {
    const auto read = to_floats(place.type, tensor->bytes, first, values);
    return read ? read : failure(read.error().in(context));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t from =
        swapped_place(first + static_cast<std::int64_t>(i), parameter.shape[0], parameter.shape[1]);
    const auto read = to_floats(place.type, tensor->bytes, from, values.subspan(i, 1));
    if (!read) return failure(read.error().in(context));
  }
  return {};
}

Result<void> write_hugging_face(const std::string& path, std::string_view model, const Graph& graph,
                                const ParameterValues& values) {
  std::vector<NewTensor> tensors;
  std::vector<const Operation*> parameters;
  for (const Operation& operation : graph.operations()) {
    if (operation.kind != OperationKind::parameter) continue;
    const auto theirs = hugging_face_name(model, operation.name);
    if (!theirs) return no_name(model, operation.name);
    Shape shape = graph.type(operation.first_result).shape;
    if (theirs->is_transposed) std::swap(shape.at(0), shape.at(1));
    tensors.push_back({theirs->name, StoredType::float32, std::move(shape)});
    parameters.push_back(&operation);
  }
  auto writer = WeightWriter::begin(path, tensors);
  HOCKET_TRY(writer);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::span<const float> numbers = values(parameters[i]->name);
    HOCKET_CHECK(static_cast<std::int64_t>(numbers.size()) == count_of(tensors[i].shape),
                 "a parameter has all its numbers");
    std::vector<float> swapped;
    if (hugging_face_name(model, parameters[i]->name)->is_transposed) {
      swapped.resize(numbers.size());
      for (std::size_t place = 0; place < numbers.size(); ++place)
        swapped[static_cast<std::size_t>(swapped_place(static_cast<std::int64_t>(place),
                                                       tensors[i].shape[1], tensors[i].shape[0]))] =
            numbers[place];
      numbers = swapped;
    }
    HOCKET_TRY(writer->write(std::as_bytes(numbers)));
  }
  return writer->finish();
}

}  // namespace hocket
