#include "daemon/http/internal_errors.h"

#include <exception>
#include <utility>
#include <vector>

namespace hocket {
namespace {

std::string text_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace

std::string_view to_string(ErrorOrigin where) {
  constexpr std::array<std::string_view, kErrorOrigins> kNames = {
      "handler", "ask", "stream", "connection", "server", "key", "tuning", "tick", "retention"};
  return kNames[static_cast<std::size_t>(where)];
}

InternalErrors::InternalErrors(Log log) : shared_(std::make_shared<Shared>()) {
  shared_->log = std::move(log);
}

std::string InternalErrors::caught(ErrorOrigin where,
                                   std::initializer_list<LogField> fields) const noexcept {
  shared_->counts[static_cast<std::size_t>(where)].fetch_add(1, std::memory_order_relaxed);
  try {
    std::string text = text_of_current_exception();
    std::vector<LogField> all = {{"where", to_string(where)}, {"error", text}};
    all.insert(all.end(), fields);
    shared_->log.write(LogLevel::error, "internal error", all);
    return text;
  } catch (...) {
    return "no memory";  // even for its text; short enough to need none
  }
}

std::uint64_t InternalErrors::count(ErrorOrigin where) const {
  return shared_->counts[static_cast<std::size_t>(where)].load(std::memory_order_relaxed);
}

}  // namespace hocket
