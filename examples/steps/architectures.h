#pragma once

// The steps of well-known models: layers from the published architectures, compute times from the
// published profile of one of them, VGG16. Pure.

#include <string>
#include <vector>

#include "core/step/step_description.h"

namespace hocket {

struct ExampleStep {
  std::string file;  ///< in examples/steps/
  StepDescription step;
};

/// VGG16, ResNet50, GNMT, BERT-large and GPT-2 124M.
std::vector<ExampleStep> example_steps();

/// The text of the file of `step`.
std::string example_text(const StepDescription& step);

}  // namespace hocket
