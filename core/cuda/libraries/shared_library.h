#pragma once

// Opens a shared library when the program runs and finds its functions. An opened library stays:
// its threads and the state that it keeps in the driver do. Any thread.

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Finds the functions of an opened library.
class FunctionLookup {
 public:
  explicit FunctionLookup(void* library) : library_(library) {}

  /// Sets `function` to the library's function `name`, and to null where there is none.
  template <class Function>
  void find(const char* name, Function*& function) {
    static_assert(std::is_function_v<Function>);
    function = reinterpret_cast<Function*>(address(name));
  }
  /// Returns the name of the first function that was not found; null if all were.
  const char* missing() const { return missing_; }

 private:
  void* address(const char* name);

  void* library_;
  const char* missing_ = nullptr;
};

/// Opens the library `file`, a name for the loader or a path. Returns not_found with the loader's
/// message.
Result<void*> open_library(const std::string& file);
/// Opens the first of `candidates` that can be opened, if there is one: a library that another one
/// opens by its name, which the loader then finds wherever its file is.
void open_for_others(std::span<const std::string> candidates);
/// Closes a library of which nothing was used.
void close_library(void* library);

/// Returns the file that `function` was loaded from; empty when unknown.
std::string library_file(const void* function);

/// Opens `file` and fills a table of its functions by `find_all(lookup, table)`. Returns not_found
/// when it cannot be opened or lacks one of them.
template <class Functions, class FindAll>
Result<Functions> load_functions(const std::string& file, const FindAll& find_all) {
  const auto library = open_library(file);
  HOCKET_TRY(library);
  Functions functions{};
  FunctionLookup lookup(*library);
  find_all(lookup, functions);
  if (lookup.missing() == nullptr) return functions;
  close_library(*library);
  return failure(ErrorCode::not_found, file + " has no function " + lookup.missing());
}

/// Fills the table from the first of `candidates` that can be used; returns not_found with the
/// reason why the last one cannot.
template <class Functions, class FindAll>
Result<Functions> load_functions(std::span<const std::string> candidates, const FindAll& find_all) {
  Result<Functions> last = failure(ErrorCode::not_found, "no library was named");
  for (const std::string& candidate : candidates) {
    last = load_functions<Functions>(candidate, find_all);
    if (last) break;
  }
  return last;
}

}  // namespace hocket
