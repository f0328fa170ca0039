#pragma once

// Steps of well-known models: layers from the published architectures, and compute times derived
// from the published profile of one of them, VGG16. Pure.

#include <string>
#include <vector>

#include "core/description/step_description.h"

namespace hocket {

struct ExampleStep {
  std::string file;  ///< in examples/steps/
  StepDescription step;
};

/// Returns VGG16, ResNet50, GNMT, BERT-large and GPT-2 124M, and a pipeline of made-up times.
std::vector<ExampleStep> example_steps();

/// Returns the text of the file for `step`.
std::string example_text(const StepDescription& step);

}  // namespace hocket
