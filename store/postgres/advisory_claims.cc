#include "store/postgres/advisory_claims.h"

#include <utility>
#include <vector>

#include "store/postgres/result_rows.h"

namespace hocket::postgres {
namespace {

constexpr const char* kLock =
    "SELECT pg_try_advisory_lock(hashtextextended("
    "'hocket claim ' || current_schema() || ' ' || $1, 0))::int";
constexpr const char* kUnlock =
    "SELECT pg_advisory_unlock(hashtextextended("
    "'hocket claim ' || current_schema() || ' ' || $1, 0))";

}  // namespace

class AdvisoryClaims::Claim final : public KeyClaim {
 public:
  Claim(std::shared_ptr<AdvisoryClaims> claims, std::string key, std::int64_t connection)
      : claims_(std::move(claims)), key_(std::move(key)), connection_(connection) {}
  ~Claim() override { claims_->release(key_, connection_); }

  bool is_held() override { return claims_->is_held(connection_); }

 private:
  const std::shared_ptr<AdvisoryClaims> claims_;
  const std::string key_;
  const std::int64_t connection_;
};

bool AdvisoryClaims::has_session() {
  if (session_ && session_->consume_input()) return true;
  // Closes a connection of which only this side knows that it is lost.
  session_.reset();
  held_.clear();
  return false;
}

Result<bool> AdvisoryClaims::try_lock(const std::string& key) {
  if (!has_session()) {
    auto session = Session::connect(target_);
    HOCKET_TRY(session);
    session_ = std::move(*session);
    ++connections_;
  }
  // The server would give a lock to its holder once more.
  if (held_.contains(key)) return false;
  auto result = session_->run(kLock, std::vector<sql::Value>{key});
  HOCKET_TRY(result);
  const auto rows = make_rows(target_.libpq, std::move(*result));
  HOCKET_TRY(rows->next());
  const bool is_locked = rows->integer(0) != 0;
  if (is_locked) held_.insert(key);
  return is_locked;
}

Result<std::unique_ptr<KeyClaim>> AdvisoryClaims::claim(
    const std::shared_ptr<AdvisoryClaims>& claims, const std::string& key) {
  const std::lock_guard lock(claims->mutex_);
  const auto is_locked = claims->try_lock(key);
  HOCKET_TRY(is_locked);
  if (!*is_locked) return nullptr;
  return std::make_unique<Claim>(claims, key, claims->connections_);
}

bool AdvisoryClaims::is_held(std::int64_t connection) {
  const std::lock_guard lock(mutex_);
  return has_session() && connection == connections_;
}

void AdvisoryClaims::release(const std::string& key, std::int64_t connection) {
  const std::lock_guard lock(mutex_);
  if (!session_ || connection != connections_) return;
  held_.erase(key);
  if (!session_->run(kUnlock, std::vector<sql::Value>{key})) session_->give_up();
}

}  // namespace hocket::postgres
