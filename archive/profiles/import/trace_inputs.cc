#include "archive/profiles/import/trace_inputs.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "archive/profiles/traces/trace_order.h"
#include "core/base/text.h"
#include "core/files/file_stream.h"
#include "core/files/regular_file.h"
#include "core/files/scratch_folder.h"
#include "profiler/formats/foreign_file.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDatabaseMagic("SQLite format 3", 16);  // with the 0 at its end
constexpr std::size_t kNamesInNote = 3;
constexpr std::size_t kInputNameLimitBytes = 400;
constexpr const char* kExpected =
    "it is no trace; expected JSON trace events (PyTorch's profiler, hocket), an SQLite export of "
    "Nsight Systems (nsys export --type sqlite), a trace file of hocket, or these packed by gzip, "
    "zstd, xz, tar or zip";
constexpr const char* kEmpty = "the file is empty; the other ranks can be imported without it";

/// Returns whether the first bytes can be those of a JSON document with events.
bool may_be_json(std::string_view head) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (head.starts_with(kMark)) head.remove_prefix(kMark.size());
  const auto at = head.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? !head.empty() : head[at] == '{' || head[at] == '[';
}

/// The files of a folder or archive that were left out.
class LeftOut {
 public:
  void is_no_trace(const std::string& name) {
    ++strangers_;
    if (names_.size() < kNamesInNote) names_.push_back(name);
  }
  void cannot_be_read(std::string reason) {
    ++failures_;
    if (reasons_.size() < kNamesInNote) reasons_.push_back(std::move(reason));
  }

  std::vector<std::string> notes(const std::string& path) const {
    std::vector<std::string> notes;
    for (const std::string& reason : reasons_) notes.push_back("left out: " + reason);
    if (const auto more = failures_ - reasons_.size(); more > 0)
      notes.push_back(path + ": left out: " + std::to_string(more) + " further files like these");
    if (strangers_ == 0) return notes;
    std::string list;
    for (const std::string& name : names_) list += (list.empty() ? "" : ", ") + name;
    if (strangers_ > names_.size()) list += ", …";
    notes.push_back(path + ": left out: " + std::to_string(strangers_) +
                    (strangers_ == 1 ? " file that is no trace (" : " files that are no traces (") +
                    list + ")");
    return notes;
  }

  /// Returns why nothing was taken.
  std::string why() const {
    if (!reasons_.empty()) return reasons_.front();
    return strangers_ == 0 ? "there is nothing in it" : "no file in it is one";
  }

 private:
  std::vector<std::string> names_, reasons_;
  std::size_t strangers_ = 0, failures_ = 0;
};

class InputReader {
 public:
  using Take = std::function<Result<void>(const TraceInput&)>;

  InputReader(const TraceInputOptions& options, const Take& take) : options_(options), take_(take) {
    use_.limits = options.limits;
  }

  Result<void> read(const std::string& path) {
    std::error_code error;
    if (path == "-") {
      if (!is_new("-")) return invalid("-: standard input can be read only once");
      if (options_.standard_input == nullptr) return invalid("-: there is no standard input here");
      return must_be_trace(read_stream("standard input", *options_.standard_input->rdbuf(), 0),
                           "standard input");
    }
    if (!is_new(fs::weakly_canonical(path, error).string()))
      return invalid(path + ": the file is given twice");
    if (fs::is_directory(path, error)) return read_folder(path);
    return must_be_trace(read_named(path), path);
  }

  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  /// Returns whether the file was taken; it is not if it does not begin like a trace.
  using Taken = Result<bool>;

  bool is_new(const std::string& canonical) { return seen_.insert(canonical).second; }

  static Result<void> must_be_trace(const Taken& taken, const std::string& path) {
    HOCKET_TRY(taken);
    if (*taken) return {};
    if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) {
      return invalid(path +
                     ": a report of Nsight Systems is imported from its export: nsys export "
                     "--type sqlite " +
                     path);
    }
    return invalid(path + ": " + kExpected);
  }

  /// Returns the regular files of a folder in order.
  Result<std::vector<std::string>> files_of(const std::string& path) const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (!at->is_regular_file(ignored)) continue;
      names.push_back(at->path().filename().string());
      if (names.size() > options_.most_files) {
        return invalid(path + ": the folder has more than " + std::to_string(options_.most_files) +
                       " files; name those that are traces");
      }
    }
    if (error) return invalid(path + ": " + error.message());
    std::sort(names.begin(), names.end(), is_name_before);
    return names;
  }

  Result<void> read_folder(const std::string& path) {
    const auto names = files_of(path);
    HOCKET_TRY(names);
    LeftOut left_out;
    bool found = false;
    for (const std::string& name : *names) {
      const std::string file = (fs::path(path) / name).string();
      std::error_code error;
      if (name.front() == '.') {
        left_out.is_no_trace(name);
      } else if (!is_new(fs::weakly_canonical(file, error).string())) {
        return invalid(file + ": the file is given twice");
      } else {
        HOCKET_TRY(take_member(read_file(file), name, left_out, found));
      }
    }
    return finish_set(path, "the folder", left_out, found);
  }

  /// Notes what became of a file of a folder or an archive. Returns an error that ends the import.
  Result<void> take_member(const Taken& taken, const std::string& name, LeftOut& left_out,
                           bool& found) const {
    if (is_over_limit_) return failure(taken.error());
    if (!taken) {
      left_out.cannot_be_read(taken.error().message);
    } else if (!*taken) {
      left_out.is_no_trace(name);
    } else {
      found = true;
    }
    return {};
  }

  Result<void> finish_set(const std::string& path, const std::string& what, const LeftOut& left_out,
                          bool found) {
    if (!found) {
      return invalid(path + ": " + what + " has no trace: " + left_out.why() +
                     "; expected files with JSON trace events or SQLite exports, one for each "
                     "rank, packed or not");
    }
    for (std::string& note : left_out.notes(path)) notes_.push_back(std::move(note));
    return {};
  }

  /// Reads a file that the user named, which may be a pipe.
  Taken read_named(const std::string& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status) || fs::is_regular_file(status)) return read_file(path);
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) return invalid(path + ": " + std::generic_category().message(errno));
    return read_stream(path, *in.rdbuf(), 0);
  }

  Taken read_file(const std::string& path) {
    auto opened = open_regular_file(path);
    if (!opened) return invalid(opened.error().message);
    FileReader in(std::move(*opened));
    std::error_code error;
    const auto size = static_cast<std::int64_t>(fs::file_size(path, error));
    char head[kDatabaseMagic.size()] = {};
    in.read(head, sizeof head);
    if (in.gcount() == sizeof head && std::string_view(head, sizeof head) == kDatabaseMagic)
      return take(TraceInput{.name = path, .database = path});
    in.clear();
    in.seekg(0);
    return read_stream(path, *in.rdbuf(), size);
  }

  Taken read_stream(const std::string& name, std::streambuf& bytes, std::int64_t size) {
    PackedStream packed(bytes, use_, {.with_archives = true, .on_read = [&](std::int64_t read) {
                                        if (options_.on_progress)
                                          options_.on_progress({name, read, size});
                                      }});
    if (!packed.next()) {
      return packed.problem() ? stopped(name, packed) : Taken(invalid(name + ": " + kEmpty));
    }
    if (!packed.is_in_archive()) return read_content(name, packed, true);
    LeftOut left_out;
    bool found = false;
    do {
      const std::string member = printable(name + "/" + packed.name(), kInputNameLimitBytes);
      const auto base = std::string_view(packed.name()).substr(packed.name().rfind('/') + 1);
      if (base.starts_with('.')) {
        left_out.is_no_trace(packed.name());
        continue;
      }
      HOCKET_TRY(take_member(read_content(member, packed, true), packed.name(), left_out, found));
    } while (packed.next());
    if (packed.problem()) {
      const auto why = stopped(name, packed);
      if (is_over_limit_ || !found) return failure(why.error());
      add_note(why.error().message + "; it was read as far as it goes");
    }
    HOCKET_TRY(finish_set(name, "the archive", left_out, found));
    return true;
  }

  /// Reads the current file of `packed`.
  Taken read_content(const std::string& name, PackedStream& packed, bool may_be_packed) {
    const std::string_view head = packed.head();
    if (may_be_packed && is_packed(head)) return read_packed_member(name, packed);
    Taken taken = false;
    if (const auto foreign = foreign_file(name, head)) return invalid(name + ": " + *foreign);
    if (head.empty()) {
      if (!packed.problem()) return invalid(name + ": " + kEmpty);
    } else if (head.starts_with(kDatabaseMagic)) {
      taken = read_database(name, packed);
    } else if (may_be_json(head)) {
      taken = take(TraceInput{.name = name, .text = &packed.bytes()});
    }
    if (!packed.problem()) return taken;
    const auto why = stopped(name, packed);
    if (is_over_limit_ || !taken || !*taken) return failure(why.error());
    return taken;  // the parser of a text or a database notices a cut-off end itself
  }

  /// Reads a file of an archive that is packed by itself.
  Taken read_packed_member(const std::string& name, PackedStream& outer) {
    PackedStream inner(*outer.bytes().rdbuf(), use_,
                       {.with_archives = false, .is_inner = true, .on_read = {}});
    if (inner.next()) {
      auto taken = read_content(name, inner, false);
      if (!outer.problem() || is_over_limit_) return taken;
    } else if (!inner.problem() && !outer.problem()) {
      return invalid(name + ": " + kEmpty);
    }
    return stopped(name, outer.problem() ? outer : inner);
  }

  /// Unpacks a database, which is not read as a stream.
  Taken read_database(const std::string& name, PackedStream& packed) {
    if (!scratch_) {
      auto made = ScratchFolder::make();
      HOCKET_TRY(made);
      scratch_.emplace(std::move(*made));
    }
    const std::string path = (fs::path(scratch_->path()) / "trace.sqlite").string();
    std::error_code error;
    HOCKET_TRY(copy(name, packed.bytes(), path));
    auto taken = take(TraceInput{.name = name, .database = path});
    fs::remove(path, error);
    return taken;
  }

  Result<void> copy(const std::string& name, std::istream& bytes, const std::string& path) {
    auto opened = open_to_write(path, Writing::from_begin, 0600, Links::refused);
    HOCKET_TRY(opened);
    FileWriter out(std::move(*opened));
    std::vector<char> block(64 * 1024);
    for (std::int64_t copied = 0; out && bytes;) {
      bytes.read(block.data(), std::ssize(block));
      copied += bytes.gcount();
      if (copied > options_.most_database_bytes) {
        is_over_limit_ = true;
        return invalid(name + ": it unpacks to more than " +
                       std::to_string(options_.most_database_bytes) +
                       " bytes; unpack it if you trust it, and import its files");
      }
      out.write(block.data(), bytes.gcount());
    }
    out.close();
    if (out) return {};
    return failure(ErrorCode::unavailable,
                   name + ": cannot unpack it into " + path + "; set TMPDIR to a larger disk");
  }

  Taken take(const TraceInput& input) {
    HOCKET_TRY(take_(input));
    return true;
  }

  /// Returns an error with the problem of `packed`.
  Taken stopped(const std::string& name, const PackedStream& packed) {
    const UnpackProblem& problem = *packed.problem();
    is_over_limit_ = is_over_limit_ || problem.is_limit;
    return invalid(
        name + ": " +
        (problem.is_limit ? problem.message : "it cannot be unpacked further: " + problem.message));
  }

  void add_note(std::string note) { notes_.push_back(std::move(note)); }

  const TraceInputOptions& options_;
  const Take& take_;
  UnpackUse use_;
  std::set<std::string> seen_;
  std::vector<std::string> notes_;
  std::optional<ScratchFolder> scratch_;
  bool is_over_limit_ = false;
};

}  // namespace

Result<std::vector<std::string>> read_trace_inputs(
    const std::vector<std::string>& paths, const TraceInputOptions& options,
    const std::function<Result<void>(const TraceInput&)>& take) {
  InputReader reader(options, take);
  for (const std::string& path : paths) HOCKET_TRY(reader.read(path));
  return reader.take_notes();
}

}  // namespace hocket
