// SqlStore's functions for configurations that were found elsewhere.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "store/rules/import_rules.h"
#include "store/rules/row_rules.h"
#include "store/sql/read_rows.h"
#include "store/sql/sql_store.h"

namespace hocket::sql {

Result<ImportOutcome> SqlStore::write_import(const NewImport& import, std::string_view actor,
                                             bool is_dry_run) {
  const auto id_of = [&](std::string_view select, const std::string& name) {
    return db_.integer(select, name);
  };
  auto topology =
      id_of("SELECT id FROM topologies WHERE fingerprint = ?1", fingerprint(import.topology));
  HOCKET_TRY(topology);
  auto workload =
      id_of("SELECT id FROM workloads WHERE fingerprint = ?1", fingerprint(import.workload));
  HOCKET_TRY(workload);
  const bool is_new = !*topology || !*workload;
  if (is_new && is_dry_run) return ImportOutcome{ImportAction::imported};
  if (is_new) {
    const auto topology_id = write_topology(import.topology);
    HOCKET_TRY(topology_id);
    const auto workload_id = write_workload(import.workload);
    HOCKET_TRY(workload_id);
    topology = *topology_id;
    workload = *workload_id;
  }
  // A dry run reads alone, and holds nobody up.
  const auto key = is_dry_run ? key_of(**topology, **workload) : locked_key(**topology, **workload);
  HOCKET_TRY(key);
  const auto versions =
      rows(db_.query("SELECT * FROM promotions WHERE topology_id = ?1 AND workload_id = ?2 "
                     "ORDER BY id",
                     **topology, **workload),
           read_promotion);
  HOCKET_TRY(versions);
  const auto quarantined = rows(
      db_.query("SELECT * FROM quarantine WHERE topology_id = ?1 AND workload_id = ?2 ORDER BY id",
                **topology, **workload),
      read_quarantine);
  HOCKET_TRY(quarantined);
  const auto state = state_of(**topology, **workload);
  HOCKET_TRY(state);
  ImportOutcome outcome = rules::import_decision(import, *versions, *state, *quarantined);
  if (outcome.action != ImportAction::imported || is_dry_run) return outcome;
  const auto row = write_version({.topology_id = **topology,
                                  .workload_id = **workload,
                                  .config = import.config,
                                  .measured = import.measured,
                                  .origin = PromotionOrigin::imported,
                                  .actor = std::string(actor),
                                  .note = import.note},
                                 *key, import.declared, rules::provenance_of(import));
  HOCKET_TRY(row);
  outcome.version = row->id;
  return outcome;
}

Result<std::vector<ImportOutcome>> SqlStore::import_configs(const std::vector<NewImport>& imports,
                                                            std::string_view actor,
                                                            bool is_dry_run) {
  HOCKET_TRY(rules::check_actor(actor, ""));
  for (const NewImport& import : imports) HOCKET_TRY(rules::check(import));
  // All lock the workloads of their keys in one order, so that no two wait for each other.
  std::vector<std::size_t> order(imports.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return fingerprint(imports[i].workload); });
  return transact(is_dry_run ? Access::read : Access::write,
                  [&]() -> Result<std::vector<ImportOutcome>> {
                    std::vector<ImportOutcome> outcomes(imports.size());
                    for (const std::size_t i : order) {
                      auto outcome = write_import(imports[i], actor, is_dry_run);
                      HOCKET_TRY(outcome);
                      outcomes[i] = std::move(*outcome);
                    }
                    return outcomes;
                  });
}

}  // namespace hocket::sql
