#include "store/sqlite/sqlite_database.h"

#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "store/open.h"

namespace hocket::sqlite {
namespace {

class SqliteRows final : public sql::Rows {
 public:
  explicit SqliteRows(Query query) : query_(std::move(query)) {}

  Result<bool> next() override { return query_.next(); }
  bool is_null(int column) const override { return query_.is_null(column); }
  std::int64_t integer(int column) const override { return query_.integer(column); }
  double real(int column) const override { return query_.real(column); }
  std::string text(int column) const override { return query_.text(column); }

 private:
  Query query_;
};

/// The keys that a store's users have claimed.
struct ClaimedKeys {
  using Key = std::pair<std::int64_t, std::int64_t>;

  std::mutex mutex;
  std::set<Key> keys;
};

class LocalClaim final : public KeyClaim {
 public:
  LocalClaim(std::shared_ptr<ClaimedKeys> claimed, ClaimedKeys::Key key)
      : claimed_(std::move(claimed)), key_(key) {}
  ~LocalClaim() override {
    const std::lock_guard lock(claimed_->mutex);
    claimed_->keys.erase(key_);
  }

  bool is_held() override { return true; }

 private:
  const std::shared_ptr<ClaimedKeys> claimed_;
  const ClaimedKeys::Key key_;
};

class SqliteDatabase final : public sql::Database {
 public:
  explicit SqliteDatabase(Connection connection) : db_(std::move(connection)) {}

  const std::string& name() const override { return db_.path(); }

  Result<void> begin(Access access) override {
    return db_.execute(access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN");
  }
  Result<void> commit() override { return db_.execute("COMMIT"); }
  void rollback() override {
    // SQLite rolls back by itself after some errors, such as a full disk. If ROLLBACK fails, the
    // transaction ends with the connection.
    if (db_.in_transaction()) (void)db_.execute("ROLLBACK");
  }
  bool is_repeatable() const override { return false; }

  Result<std::unique_ptr<sql::Rows>> rows(std::string_view sql,
                                          std::span<const sql::Value> values) override {
    auto query = bound(sql, values);
    HOCKET_TRY(query);
    return std::make_unique<SqliteRows>(std::move(*query));
  }
  Result<std::unique_ptr<sql::Rows>> stream(std::string_view sql) override { return rows(sql, {}); }

  Result<std::int64_t> change(std::string_view sql, std::span<const sql::Value> values) override {
    if (statement(sql).empty()) return 0;
    auto query = bound(sql, values);
    HOCKET_TRY(query);
    for (;;) {
      const auto row = query->next();
      HOCKET_TRY(row);
      if (!*row) return db_.changes();
    }
  }
  Result<void> change_each(std::string_view sql,
                           std::span<const std::vector<sql::Value>> lists) override {
    for (const auto& values : lists) HOCKET_TRY(change(sql, values));
    return {};
  }

  Result<std::int64_t> now_ns() override { return system_unix_ns(); }
  Result<void> hold(std::string_view) override { return {}; }
  Result<std::int64_t> next_id(std::string_view table) override {
    return last_id(table).map([](std::int64_t last) { return last + 1; });
  }
  Result<std::int64_t> last_id(std::string_view table) override {
    return db_.integer("SELECT seq FROM sqlite_sequence WHERE name = ?1", table)
        .map([](const auto& found) { return found.value_or(0); });
  }
  Result<void> set_last_id(std::string_view table, std::int64_t id) override {
    const auto numbers = db_.integer(
        "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%'", table);
    HOCKET_TRY(numbers);
    if (numbers->value_or(0) == 0) return {};
    HOCKET_TRY(db_.execute("DELETE FROM sqlite_sequence WHERE name = ?1", table));
    return db_.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", table, id);
  }
  Result<void> notify(const KeyChange&) override { return {}; }

  Result<std::int64_t> change_count() override {
    // data_version counts the changes of other connections; both counts only grow.
    const auto others = db_.integer("PRAGMA data_version");
    HOCKET_TRY(others);
    return others->value_or(0) + db_.total_changes();
  }
  Result<std::unique_ptr<ChangeListener>> listen(OnKeyChange) override {
    return std::make_unique<ChangeListener>();
  }
  Result<std::unique_ptr<KeyClaim>> claim(std::int64_t topology_id,
                                          std::int64_t workload_id) override {
    const ClaimedKeys::Key key{topology_id, workload_id};
    const std::lock_guard lock(claimed_->mutex);
    if (!claimed_->keys.insert(key).second) return nullptr;
    return std::make_unique<LocalClaim>(claimed_, key);
  }

 private:
  /// Returns the text that SQLite runs, which lives as long as the connection.
  const std::string& statement(std::string_view sql) {
    auto found = statements_.find(std::string(sql));
    if (found == statements_.end()) {
      found = statements_.emplace(sql, sql::statement_text(sql, '?', false)).first;
    }
    return found->second;
  }

  Result<Query> bound(std::string_view sql, std::span<const sql::Value> values) {
    auto query = db_.query(statement(sql));
    HOCKET_TRY(query);
    for (std::size_t i = 0; i < values.size(); ++i) {
      HOCKET_TRY(bind(*query, static_cast<int>(i) + 1, values[i]));
    }
    return query;
  }

  static Result<void> bind(Query& query, int index, const sql::Value& value) {
    using Type = sql::Value::Type;
    if (value.is_null) return query.bind_more(index, std::optional<std::int64_t>());
    if (value.type == Type::integer) return query.bind_more(index, value.integer);
    if (value.type == Type::real) return query.bind_more(index, value.real);
    return query.bind_more(index, value.text);
  }

  std::unordered_map<std::string, std::string> statements_;
  Connection db_;
  const std::shared_ptr<ClaimedKeys> claimed_ = std::make_shared<ClaimedKeys>();
};

}  // namespace

std::unique_ptr<sql::Database> make_database(Connection connection) {
  return std::make_unique<SqliteDatabase>(std::move(connection));
}

}  // namespace hocket::sqlite
