#include "store/postgres/postgres_database.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <thread>
#include <unordered_map>
#include <utility>

#include "store/postgres/advisory_claims.h"
#include "store/postgres/notifications.h"
#include "store/postgres/result_rows.h"
#include "store/postgres/schema.h"
#include "store/schema/migrations.h"
#include "store/store_uri.h"

namespace hocket::postgres {
namespace {

using SteadyTime = std::chrono::steady_clock;

class PostgresDatabase final : public sql::Database {
 public:
  PostgresDatabase(Target target, std::unique_ptr<Session> session)
      : target_(std::move(target)),
        claims_(std::make_shared<AdvisoryClaims>(target_)),
        session_(std::move(session)) {}

  const std::string& name() const override { return target_.shown; }

  Result<void> begin(Access access) override {
    is_committing_ = false;
    if (access == Access::write && target_.read_only) {
      return failure(ErrorCode::unavailable,
                     "store " + target_.shown + " is read-only: it was opened for reading");
    }
    return execute_first(access == Access::write
                             ? "BEGIN ISOLATION LEVEL READ COMMITTED"
                             : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .map([](const auto&) {});
  }

  Result<void> commit() override {
    // Asks for the transaction's number first, to find out later how it ended.
    const auto number = session_->execute("SELECT pg_current_xact_id_if_assigned()");
    HOCKET_TRY(number);
    const std::string transaction = session_->text(*number);
    is_committing_ = true;
    const auto ended = session_->execute("COMMIT");
    if (ended) return {};
    if (!session_->is_lost() || transaction.empty()) return failure(ended.error());
    return find_out(transaction, ended.error());
  }

  void rollback() override {
    if (!session_ || session_->is_lost() || !session_->is_in_transaction()) return;
    if (!session_->execute("ROLLBACK") || session_->is_in_transaction()) session_->give_up();
  }

  bool is_repeatable() const override {
    if (is_committing_ || !session_ || session_->is_silent()) return false;
    // A connection that is lost before the commit, a deadlock, statements that were prepared
    // before another process migrated the schema.
    const std::string& state = session_->error_state();
    if (state == "0A000") session_->give_up();
    return session_->is_lost() || state == "40P01" || state == "40001";
  }

  Result<std::unique_ptr<sql::Rows>> rows(std::string_view sql,
                                          std::span<const sql::Value> values) override {
    auto result = session_->run(statement(sql), values);
    HOCKET_TRY(result);
    return make_rows(target_.libpq, std::move(*result));
  }

  Result<std::unique_ptr<sql::Rows>> stream(std::string_view sql) override {
    // The limit would count the time that the reader takes.
    HOCKET_TRY(session_->execute("SELECT set_config('statement_timeout', '0', true)"));
    HOCKET_TRY(session_->start_stream(statement(sql)));
    return make_stream(*session_);
  }

  Result<std::int64_t> change(std::string_view sql, std::span<const sql::Value> values) override {
    const auto result = session_->run(statement(sql), values);
    HOCKET_TRY(result);
    const std::string_view count = target_.libpq.PQcmdTuples(result->get());
    std::int64_t number = 0;
    std::from_chars(count.data(), count.data() + count.size(), number);
    return number;
  }

  Result<void> change_each(std::string_view sql,
                           std::span<const std::vector<sql::Value>> lists) override {
    return session_->run_each(statement(sql), lists);
  }

  Result<std::int64_t> now_ns() override {
    return number("SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint");
  }

  Result<void> hold(std::string_view name) override {
    return query(
               "SELECT pg_advisory_xact_lock(hashtextextended("
               "'hocket ' || current_schema() || ' ' || ?1, 0))",
               name)
        .map([](const auto&) {});
  }

  Result<std::int64_t> next_id(std::string_view table) override {
    return number("SELECT nextval(pg_get_serial_sequence(?1, 'id'))", table);
  }
  Result<std::int64_t> last_id(std::string_view table) override {
    return number("SELECT pg_sequence_last_value(pg_get_serial_sequence(?1, 'id')::regclass)",
                  table);
  }
  Result<void> set_last_id(std::string_view table, std::int64_t id) override {
    if (id == 0) return {};
    return query("SELECT setval(pg_get_serial_sequence(?1, 'id'), ?2)", table, id)
        .map([](const auto&) {});
  }

  Result<void> notify(const KeyChange& change) override {
    return query(kNotify, payload_of(change)).map([](const auto&) {});
  }

  Result<std::int64_t> change_count() override {
    // Changes with every transaction of the server that begins to write or ends.
    const auto result = execute_first("SELECT hashtextextended(pg_current_snapshot()::text, 0)");
    HOCKET_TRY(result);
    const std::string text = session_->text(*result);
    std::int64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
  }

  Result<std::unique_ptr<ChangeListener>> listen(OnKeyChange on_change) override {
    return listen_for_changes(target_, std::move(on_change));
  }

  Result<std::unique_ptr<KeyClaim>> claim(std::int64_t topology_id,
                                          std::int64_t workload_id) override {
    return AdvisoryClaims::claim(claims_,
                                 std::to_string(topology_id) + "." + std::to_string(workload_id));
  }

 private:
  template <class... Values>
  Result<std::int64_t> number(std::string_view sql, const Values&... values) {
    return integer(sql, values...).map([](const auto& found) { return found.value_or(0); });
  }

  /// Connects if that is necessary.
  Result<void> ensure_session() {
    if (session_ && !session_->is_lost()) return {};
    session_.reset();
    auto session = Session::connect(target_);
    HOCKET_TRY(session);
    session_ = std::move(*session);
    return {};
  }

  /// Runs the first statement of a call. A connection that was lost since the last call is only
  /// noticed then; nothing has begun, so it is tried again.
  Result<PqResult> execute_first(const std::string& sql) {
    HOCKET_TRY(ensure_session());
    auto result = session_->execute(sql);
    if (result || !session_->is_lost() || session_->is_silent()) return result;
    HOCKET_TRY(ensure_session());
    return session_->execute(sql);
  }

  /// Asks the server, once it is there again, how a transaction ended of which the commit was not
  /// answered.
  Result<void> find_out(const std::string& transaction, const Error& why) {
    const auto deadline =
        SteadyTime::now() + std::chrono::milliseconds(std::max(2'000, target_.busy_timeout_ms));
    const std::string ask = "SELECT pg_xact_status('" + transaction + "'::xid8)";
    do {
      if (ensure_session()) {
        const auto status = session_->execute(ask);
        const std::string text = status ? session_->text(*status) : "";
        if (text == "committed") return {};
        // After a crash the server may not know of a transaction that wrote nothing to its disk.
        const bool is_unknown = !status && session_->error_state() == "22023";
        if (text == "aborted" || is_unknown) return failure(why);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (SteadyTime::now() < deadline);
    return failure(ErrorCode::unavailable,
                   "the connection to store " + target_.shown +
                       " was lost while a change was committed, and whether it is stored is not "
                       "known; look before you repeat it");
  }

  const std::string& statement(std::string_view sql) {
    auto found = statements_.find(std::string(sql));
    if (found == statements_.end()) {
      found = statements_.emplace(sql, sql::statement_text(sql, '$', true)).first;
    }
    return found->second;
  }

  const Target target_;
  const std::shared_ptr<AdvisoryClaims> claims_;
  std::unique_ptr<Session> session_;
  std::unordered_map<std::string, std::string> statements_;
  bool is_committing_ = false;
};

}  // namespace

Result<std::unique_ptr<sql::Database>> open_database(const Target& target) {
  auto session = Session::connect(target);
  HOCKET_TRY(session);
  HOCKET_TRY(prepare_schema(**session, schema::steps()));
  return std::make_unique<PostgresDatabase>(target, std::move(*session));
}

Result<std::unique_ptr<sql::Database>> open_database(const std::string& uri,
                                                     const OpenOptions& options) {
  HOCKET_TRY(check_postgres_uri(uri));
  const auto libpq = open_libpq();
  HOCKET_TRY(libpq);
  return open_database({.libpq = *libpq,
                        .uri = uri,
                        .shown = shown_store(uri),
                        .busy_timeout_ms = options.busy_timeout_ms,
                        .answer_timeout_ms = options.answer_timeout_ms,
                        .read_only = options.read_only});
}

}  // namespace hocket::postgres
