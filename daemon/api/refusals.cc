#include "daemon/api/refusals.h"

#include <nlohmann/json.hpp>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxTextBytes = 200;

/// Returns the path without its query, in which a client may have put anything.
std::string path_of(std::string_view target) {
  return printable(target.substr(0, target.find('?')), kMaxTextBytes);
}

}  // namespace

TokenRefusals::TokenRefusals(Store& store, const Log& log, const Clock& clock)
    : store_(store), log_(log), clock_(clock) {}

std::optional<std::int64_t> TokenRefusals::others_before(const TokenRefusal& refusal) {
  std::string who(refusal.peer);
  for (const std::string_view part : {refusal.token_name, refusal.reason}) {
    who += '\n';
    who += part;
  }
  const std::lock_guard lock(mutex_);
  return limit_.allow(who, clock_.now_ns());
}

void TokenRefusals::note(const TokenRefusal& refusal) {
  const auto others = others_before(refusal);
  if (!others) return;
  const std::string path = path_of(refusal.target);
  const std::string method = printable(refusal.method, kMaxTextBytes);
  log_.write(LogLevel::warning, "refused",
             {{"token", refusal.token_name},
              {"reason", refusal.reason},
              {"peer", refusal.peer},
              {"method", method},
              {"path", path},
              {"others", *others}});
  const auto ok = store_.record_audit(
      {.actor = refusal.token_name.empty() ? "unknown" : std::string(refusal.token_name),
       .action = "refused",
       .subject = refusal.key.empty() ? path : std::string(refusal.key),
       .detail = {{"reason", refusal.reason},
                  {"peer", refusal.peer},
                  {"method", method},
                  {"path", path},
                  {"others", *others}}});
  if (!ok) {
    log_.write(LogLevel::error, "a refusal is not in the audit", {{"error", ok.error().message}});
  }
}

}  // namespace hocket
