#include "tuner/space/built_in_knobs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "tuner/space/knob_texts.h"

namespace hocket {

const std::vector<KnobFile>& built_in_knobs() {
  static const std::vector<KnobFile> files = [] {
    std::vector<KnobFile> read;
    for (const KnobText& text : knob_texts()) {
      auto file = read_knob_file(text.text, "formats/knobs/" + std::string(text.name));
      HOCKET_CHECK(file, file.error().message.c_str());
      read.push_back(std::move(*file));
    }
    std::ranges::sort(read, {}, &KnobFile::tool);
    return read;
  }();
  return files;
}

const KnobFile* find_built_in_knobs(std::string_view tool) {
  const auto& files = built_in_knobs();
  const auto found = std::ranges::find(files, tool, &KnobFile::tool);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace hocket
