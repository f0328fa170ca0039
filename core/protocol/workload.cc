#include "core/protocol/workload.h"

#include <nlohmann/json.hpp>

#include "core/base/fingerprint.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

void read_tensor(JsonReader& reader, TensorSpec& tensor) {
  // Bounded, as is the number of tensors, so that the sum of all sizes cannot overflow.
  constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 42;
  reader.text("name", tensor.name);
  reader.integer("bytes", tensor.bytes, 0, kMaxTensorBytes);
}

void read_parameter(JsonReader& reader, WorkloadParameter& parameter) {
  reader.text("name", parameter.name);
  reader.text("kind", parameter.kind);
}

void read_traits(JsonReader& reader, std::map<std::string, std::string>& traits) {
  reader.members([&](const std::string& name, const JsonValue& value) {
    if (name.size() > kMaxTraitBytes || traits.size() == kMaxTraits) {
      value.refuse("one of at most 32 traits, with a name of at most 200 bytes");
    } else {
      traits[name] = value.text(kMaxTraitBytes);
    }
  });
}

}  // namespace

std::int64_t Workload::bytes() const {
  std::int64_t sum = 0;
  for (const auto& tensor : tensors) sum += tensor.bytes;
  return sum;
}

std::string traits_text(const Workload& workload) {
  std::string text;
  for (const auto& [name, value] : workload.traits)
    text += (text.empty() ? "" : ", ") + name + ' ' + value;
  return text;
}

std::string fingerprint(const Workload& workload) {
  return fingerprint_of(to_json(workload));
}

nlohmann::json to_json(const Workload& workload) {
  auto tensors = nlohmann::json::array();
  for (const auto& tensor : workload.tensors) {
    tensors.push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
  }
  nlohmann::json document = {{"name", workload.name}, {"tensors", std::move(tensors)}};
  if (!workload.program.empty()) document["program"] = workload.program;
  for (const auto& parameter : workload.parameters) {
    document["parameters"].push_back({{"name", parameter.name}, {"kind", parameter.kind}});
  }
  for (const DeclaredKnob& knob : workload.knobs) document["knobs"].push_back(to_json(knob));
  if (!workload.traits.empty()) document["traits"] = workload.traits;
  return document;
}

void read_workload(JsonReader& reader, Workload& workload) {
  constexpr std::size_t kMaxTensors = 1 << 20, kMaxParameters = 1 << 10;
  reader.text("name", workload.name);
  reader.parts("tensors", workload.tensors, read_tensor, kMaxTensors);
  reader.text("program", workload.program, "");
  reader.parts("parameters", workload.parameters, read_parameter, kMaxParameters, kOptional);
  reader.parts("knobs", workload.knobs, read_declared_knob, kMaxDeclaredKnobs, kOptional);
  reader.object(
      "traits", [&](JsonReader& traits) { read_traits(traits, workload.traits); }, kOptional);
  if (!reader.finish()) return;
  if (const auto ok = validate(workload.knobs); !ok) reader.self().fail(ok.error());
}

Result<Workload> workload_from_json(const nlohmann::json& document) {
  return read_json(document, read_workload);
}

}  // namespace hocket
