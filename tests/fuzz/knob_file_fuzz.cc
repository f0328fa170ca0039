// Any text is refused with an error, or gives knobs that are valid parameters, whose selection and
// places can be read again, and which can be applied to a command.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/check.h"
#include "core/base/json_reader.h"
#include "tuner/space/knob_file.h"
#include "tuner/trial/call/knob_call.h"

namespace {

hocket::KnobSurroundings surroundings() {
  return {[](const std::string&) { return std::optional<std::string>("--a=1 --b"); },
          [](const std::string&) { return hocket::Result<std::string>(R"({"a":{"b":1}})"); },
          "/copies"};
}

void apply(const hocket::KnobFile& file) {
  const std::vector<std::string> command = {"job", "--config", "c.json", "--size", "3"};
  const auto place = surroundings();
  for (const hocket::ToolKnob& knob : file.knobs) {
    HOCKET_CHECK(hocket::validate(knob.parameter), "the knob is no valid parameter");
    const auto parameter = hocket::parameter_in(knob, command, place);
    if (!parameter) continue;
    HOCKET_CHECK(hocket::validate(*parameter), "the job's value is none of the knob's");
    const hocket::Params params = {{knob.parameter.name, hocket::decode(parameter->domain, 0.99)}};
    hocket::CommandCall call{command, {}};
    (void)hocket::apply_knobs({{knob.parameter.name, knob.place}}, command, params, {}, place,
                              call);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = hocket::read_knob_file({reinterpret_cast<const char*>(data), size}, "the file");
  if (!file) return 0;
  hocket::KnobPlaces places, again;
  for (const hocket::ToolKnob& knob : file->knobs) places[knob.parameter.name] = knob.place;
  const nlohmann::json document = {{"knobs", to_json(places)}};
  hocket::JsonReader reader(document);
  hocket::read_knob_places(reader, "knobs", again);
  HOCKET_CHECK(reader.done() && again == places, "places are not read back as they were written");
  hocket::KnobSelection selection;
  selection.version = "2.19";
  (void)hocket::selected_knobs(*file, selection);
  apply(*file);
  return 0;
}
