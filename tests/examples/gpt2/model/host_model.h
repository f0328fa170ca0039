#pragma once

// A model on the host with its backend. One thread.

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "examples/gpt2/model/host_backend.h"
#include "examples/gpt2/model/model.h"

namespace hocket {

struct HostModel {
  HostModel(const Gpt2Config& config, const TrainingOptions& options, const Text& text,
            bool fuses = false)
      : backend(std::make_unique<HostBackend>(fuses)) {
    auto created = Gpt2::create(config, options, text, *backend);
    EXPECT_TRUE(created) << created.error().message;
    model = std::move(*created);
  }

  Gpt2* operator->() const { return model.get(); }
  Gpt2& operator*() const { return *model; }

  std::unique_ptr<HostBackend> backend;
  std::unique_ptr<Gpt2> model;
};

}  // namespace hocket
