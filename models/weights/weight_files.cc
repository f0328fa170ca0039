#include "models/weights/weight_files.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/base/text.h"
#include "core/files/regular_file.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kFileName = "model.safetensors";
constexpr std::int64_t kMostIndexBytes = 64 << 20;
constexpr std::size_t kShownWeightBytes = 60;

/// Returns the file in a folder that has the weights or their index; `path` itself if it is none.
Result<std::string> weights_in(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  for (const std::string_view name : {kIndexName, kFileName}) {
    std::string file = fs::path(path) / name;
    if (fs::exists(file, ignored)) return file;
  }
  return failure(ErrorCode::not_found, "folder " + path + ": has neither " +
                                           std::string(kIndexName) + " nor " +
                                           std::string(kFileName));
}

/// Files of an index lie beside it: a name that leads elsewhere is refused.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

/// Returns the names of tensors with that of their file.
Result<std::map<std::string, std::string>> read_index(const std::string& path) {
  const auto text = read_regular_file(path, kMostIndexBytes);
  HOCKET_TRY(text);
  const auto document = parse_object(*text, "index");
  if (!document) return failure(document.error().in(path));
  std::map<std::string, std::string> files;
  JsonReader reader(*document, path);
  reader.object("weight_map", [&](JsonReader& map) {
    map.members([&](const std::string& name, const JsonValue& found) {
      std::string file = found.text(kMostTensorNameBytes);
      if (!is_plain_name(file)) found.refuse("the name of a file beside the index");
      files.emplace(name, std::move(file));
    });
  });
  HOCKET_TRY(reader.done());
  return files;
}

}  // namespace

Result<WeightFiles> WeightFiles::open(const std::string& path) {
  const auto file = weights_in(path);
  HOCKET_TRY(file);
  WeightFiles weights;
  weights.path_ = path;
  HOCKET_TRY(file->ends_with(".json") ? weights.add_indexed(*file) : weights.add(*file));
  return weights;
}

Result<void> WeightFiles::add(const std::string& path) {
  auto mapped = MappedFile::open(path);
  HOCKET_TRY(mapped);
  auto tensors = read_safetensors(mapped->bytes());
  if (!tensors) return failure(tensors.error().in(path));
  for (TensorPlace& tensor : *tensors) {
    const auto bytes = mapped->bytes().subspan(tensor.begin, tensor.end - tensor.begin);
    std::string name = tensor.name;
    const auto added = tensors_.try_emplace(std::move(name), Tensor{std::move(tensor), bytes});
    if (!added.second)
      return invalid(path + ": tensor \"" + printable(added.first->first, kShownWeightBytes) +
                     "\" is in another file, too");
  }
  files_.push_back(std::move(*mapped));
  return {};
}

Result<void> WeightFiles::add_indexed(const std::string& path) {
  const auto index = read_index(path);
  HOCKET_TRY(index);
  std::set<std::string> files;
  for (const auto& [name, file] : *index) files.insert(file);
  for (const std::string& file : files) HOCKET_TRY(add(fs::path(path).parent_path() / file));
  for (const auto& [name, file] : *index) {
    if (find(name) == nullptr)
      return invalid(path + ": tensor \"" + printable(name, kShownWeightBytes) + "\" is not in " +
                     printable(file, kShownWeightBytes));
  }
  return {};
}

const WeightFiles::Tensor* WeightFiles::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Result<WeightWriter> WeightWriter::begin(const std::string& path,
                                         std::span<const NewTensor> tensors) {
  const auto header = safetensors_header(tensors);
  if (!header) return failure(header.error().in(path));
  std::int64_t bytes = 0;
  for (const NewTensor& tensor : tensors)
    bytes += count_of(tensor.shape) * number_bytes(tensor.type);
  auto file = open_to_write(path + ".part", Writing::from_begin, 0666, Links::refused);
  HOCKET_TRY(file);
  WeightWriter writer(path, std::move(*file), bytes);
  HOCKET_TRY(write_all(writer.file_, *header, writer.unfinished()));
  return writer;
}

WeightWriter::~WeightWriter() {
  if (file_) ::unlink(unfinished().c_str());
}

Result<void> WeightWriter::write(std::span<const std::byte> bytes) {
  missing_ -= static_cast<std::int64_t>(bytes.size());
  return write_all(file_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                   unfinished());
}

Result<void> WeightWriter::finish() {
  if (missing_ != 0)
    return invalid(path_ + ": " + std::to_string(missing_) + " bytes of its tensors are missing");
  if (::fsync(file_.get()) != 0 || ::rename(unfinished().c_str(), path_.c_str()) != 0)
    return failure(ErrorCode::unavailable,
                   "cannot write " + path_ + ": " + std::generic_category().message(errno));
  file_.reset();
  return {};
}

}  // namespace hocket
