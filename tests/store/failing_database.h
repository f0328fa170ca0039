#pragma once

// A Database of which one statement, or the commit, fails without an effect, for tests of what a
// transaction leaves behind. Not thread-safe.

#include <memory>
#include <utility>

#include "store/sql/database.h"

namespace hocket::sql {

class FailingDatabase final : public Database {
 public:
  /// Lets the statement with this number, from 1, fail; the commit if it is 0.
  FailingDatabase(std::unique_ptr<Database> inner, int failing_statement)
      : inner_(std::move(inner)),
        statements_left_(failing_statement),
        at_commit_(failing_statement == 0) {}

  const std::string& name() const override { return inner_->name(); }
  Result<void> begin(Access access) override { return inner_->begin(access); }
  Result<void> commit() override {
    if (at_commit_) return failure(fault());
    return inner_->commit();
  }
  void rollback() override { inner_->rollback(); }
  bool is_repeatable() const override { return false; }

  Result<std::unique_ptr<Rows>> rows(std::string_view sql, std::span<const Value> values) override {
    if (is_next()) return failure(fault());
    return inner_->rows(sql, values);
  }
  Result<std::unique_ptr<Rows>> stream(std::string_view sql) override {
    if (is_next()) return failure(fault());
    return inner_->stream(sql);
  }
  Result<std::int64_t> change(std::string_view sql, std::span<const Value> values) override {
    if (is_next()) return failure(fault());
    return inner_->change(sql, values);
  }
  Result<void> change_each(std::string_view sql,
                           std::span<const std::vector<Value>> lists) override {
    if (is_next()) return failure(fault());
    return inner_->change_each(sql, lists);
  }

  Result<std::int64_t> now_ns() override { return inner_->now_ns(); }
  Result<void> hold(std::string_view name) override { return inner_->hold(name); }
  Result<std::int64_t> next_id(std::string_view table) override { return inner_->next_id(table); }
  Result<std::int64_t> last_id(std::string_view table) override { return inner_->last_id(table); }
  Result<void> set_last_id(std::string_view table, std::int64_t id) override {
    return inner_->set_last_id(table, id);
  }
  Result<void> notify(const KeyChange& change) override { return inner_->notify(change); }
  Result<std::int64_t> change_count() override { return inner_->change_count(); }
  Result<std::unique_ptr<ChangeListener>> listen(OnKeyChange on_change) override {
    return inner_->listen(std::move(on_change));
  }
  Result<std::unique_ptr<KeyClaim>> claim(std::int64_t topology_id,
                                          std::int64_t workload_id) override {
    return inner_->claim(topology_id, workload_id);
  }

 private:
  static Error fault() { return {ErrorCode::unavailable, "disk full: injected by a test"}; }
  bool is_next() { return --statements_left_ == 0; }

  const std::unique_ptr<Database> inner_;
  int statements_left_;
  const bool at_commit_;
};

}  // namespace hocket::sql
