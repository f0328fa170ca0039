#include "tuner/space/torch_knobs.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/text.h"
#include "tuner/space/job_value.h"

namespace hocket {
namespace {

struct TorchKnob {
  std::string_view set, name;
  std::string_view values;  ///< separated by commas
};

constexpr std::array kTorchKnobs = {
    TorchKnob{"torch:ddp", "HOCKET_TORCH_BUCKET_CAP_MB", "1,2,4,8,16,32,64,128,256"},
    TorchKnob{"torch:compile", "HOCKET_TORCH_OPTIMIZE_DDP", "on,off"},
    TorchKnob{"torch:inductor", "HOCKET_TORCH_REORDER_OVERLAP", "on,off"},
    TorchKnob{"torch:inductor", "HOCKET_TORCH_BUCKET_COLLECTIVES_MB", "16,32,64,128,256,512"},
};

Parameter parameter_of(const TorchKnob& knob) {
  Choices choices{{std::string(kUnset)}};
  for (std::size_t begin = 0; begin <= knob.values.size();) {
    const std::size_t end = std::min(knob.values.find(',', begin), knob.values.size());
    choices.names.emplace_back(knob.values.substr(begin, end - begin));
    begin = end + 1;
  }
  return {std::string(knob.name), std::move(choices), std::string(kUnset)};
}

}  // namespace

Result<std::vector<Parameter>> torch_parameters(std::string_view set) {
  std::vector<Parameter> parameters;
  for (const TorchKnob& knob : kTorchKnobs) {
    if (set == "torch" || set == knob.set) parameters.push_back(parameter_of(knob));
  }
  if (parameters.empty()) {
    return invalid("--knobs: expected torch, torch:ddp, torch:compile or torch:inductor, found \"" +
                   printable(std::string(set), 100) + "\"");
  }
  return parameters;
}

bool is_torch_knob(std::string_view name) {
  return std::ranges::count(kTorchKnobs, name, &TorchKnob::name) > 0;
}

}  // namespace hocket
