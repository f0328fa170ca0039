#pragma once

// Weights in safetensors files, read where they lie (core/files/mapped_file.h says what that
// requires) and written so that a file appears whole or not at all.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/files/descriptor.h"
#include "core/files/mapped_file.h"
#include "models/weights/safetensors.h"

namespace hocket {

/// Immutable after opening, so thread-safe.
class WeightFiles {
 public:
  struct Tensor {
    TensorPlace place;
    std::span<const std::byte> bytes;
  };

  /// Opens a safetensors file; an index of several (model.safetensors.index.json), which lie beside
  /// it; or a folder with such an index or with "model.safetensors". The error names the file.
  static Result<WeightFiles> open(const std::string& path);

  /// Returns the tensor of this name, or null. It is valid while this object is.
  const Tensor* find(std::string_view name) const;
  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
  const std::string& path() const { return path_; }

 private:
  Result<void> add(const std::string& path);
  Result<void> add_indexed(const std::string& path);

  std::string path_;
  std::vector<MappedFile> files_;
  std::map<std::string, Tensor, std::less<>> tensors_;
};

/// Writes a safetensors file. One thread.
class WeightWriter {
 public:
  /// Begins a file "PATH.part" with the tensors in this order. Errors as safetensors_header() and
  /// open_to_write().
  static Result<WeightWriter> begin(const std::string& path, std::span<const NewTensor> tensors);

  WeightWriter(WeightWriter&&) noexcept = default;
  WeightWriter& operator=(WeightWriter&&) = delete;
  /// Removes what was not finished.
  ~WeightWriter();

  /// Writes the next bytes of the tensors, which may be parts of them.
  Result<void> write(std::span<const std::byte> bytes);
  /// Puts the file in place of the one at the path. invalid_argument if bytes are missing or too
  /// many.
  Result<void> finish();

 private:
  WeightWriter(std::string path, FileDescriptor file, std::int64_t missing)
      : path_(std::move(path)), file_(std::move(file)), missing_(missing) {}

  std::string unfinished() const { return path_ + ".part"; }

  std::string path_;
  FileDescriptor file_;
  std::int64_t missing_;  ///< bytes
};

}  // namespace hocket
