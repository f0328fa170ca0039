#include "store/schema/tables.h"

#include <array>

namespace hocket::schema {
namespace {

using enum sql::Value::Type;

constexpr std::array<Column, 4> kTopologies = {
    {{"id", integer}, {"fingerprint", text}, {"name", text}, {"document", text}}};
constexpr std::array<Column, 4> kWorkloads = {
    {{"id", integer}, {"fingerprint", text}, {"name", text}, {"document", text}}};
constexpr std::array<Column, 12> kStudies = {{{"id", integer},
                                              {"name", text},
                                              {"command", text},
                                              {"definition", text},
                                              {"state", text},
                                              {"owner", text},
                                              {"topology_id", integer},
                                              {"workload_id", integer},
                                              {"created_at_ns", integer},
                                              {"updated_at_ns", integer},
                                              {"result", text},
                                              {"origin", text}}};
constexpr std::array<Column, 1> kRemovedStudies = {{{"id", integer}}};
constexpr std::array<Column, 15> kTrials = {{{"id", integer},
                                             {"study_id", integer},
                                             {"number", integer},
                                             {"phase", text},
                                             {"state", text},
                                             {"params", text},
                                             {"value", real},
                                             {"spread", real},
                                             {"message", any_text},
                                             {"started_at_ns", integer},
                                             {"finished_at_ns", integer},
                                             {"worker", text},
                                             {"lease_until_ns", integer},
                                             {"offered", integer},
                                             {"losses", integer}}};
constexpr std::array<Column, 5> kWorkers = {{{"study_id", integer},
                                             {"name", text},
                                             {"host", text},
                                             {"joined_at_ns", integer},
                                             {"lease_until_ns", integer}}};
constexpr std::array<Column, 4> kMeasurements = {
    {{"trial_id", integer}, {"metric", any_text}, {"position", integer}, {"value", real}}};
constexpr std::array<Column, 3> kTrialOutputs = {
    {{"trial_id", integer}, {"stdout", any_text}, {"stderr", any_text}}};
constexpr std::array<Column, 17> kPromotions = {{{"id", integer},
                                                 {"topology_id", integer},
                                                 {"workload_id", integer},
                                                 {"study_id", integer},
                                                 {"config", text},
                                                 {"value", real},
                                                 {"default_value", real},
                                                 {"gain", real},
                                                 {"promoted_at_ns", integer},
                                                 {"origin", text},
                                                 {"stage", text},
                                                 {"actor", text},
                                                 {"note", text},
                                                 {"removed_study", text},
                                                 {"declared", text},
                                                 {"kept_by", text},
                                                 {"provenance", text}}};
constexpr std::array<Column, 4> kKeyStates = {
    {{"topology_id", integer}, {"workload_id", integer}, {"pinned", integer}, {"frozen", integer}}};
constexpr std::array<Column, 7> kQuarantine = {{{"id", integer},
                                                {"topology_id", integer},
                                                {"workload_id", integer},
                                                {"config", text},
                                                {"reason", text},
                                                {"actor", text},
                                                {"quarantined_at_ns", integer}}};
constexpr std::array<Column, 6> kAudit = {{{"id", integer},
                                           {"at_ns", integer},
                                           {"actor", text},
                                           {"action", text},
                                           {"subject", text},
                                           {"detail", text}}};
constexpr std::array<Column, 10> kProfiles = {{{"id", integer},
                                               {"name", text},
                                               {"source", text},
                                               {"topology_id", integer},
                                               {"workload_id", integer},
                                               {"config", text},
                                               {"structure", text},
                                               {"detail", text},
                                               {"created_at_ns", integer},
                                               {"kept", integer}}};
constexpr std::array<Column, 8> kProfileRanks = {{{"profile_id", integer},
                                                  {"rank", integer},
                                                  {"host", text},
                                                  {"trace_path", any_text},
                                                  {"records", integer},
                                                  {"dropped", integer},
                                                  {"quarantined", integer},
                                                  {"clock_fit", text}}};
constexpr std::array<Column, 8> kProfileIterations = {{{"profile_id", integer},
                                                       {"rank", integer},
                                                       {"step", integer},
                                                       {"begin_ns", integer},
                                                       {"wall_ns", integer},
                                                       {"compute_ns", integer},
                                                       {"communication_ns", integer},
                                                       {"exposed_ns", integer}}};
constexpr std::array<Column, 4> kProfileMetrics = {
    {{"profile_id", integer}, {"rank", integer}, {"name", text}, {"value", real}}};
constexpr std::array<Column, 6> kProfileRequests = {{{"id", integer},
                                                     {"job", text},
                                                     {"iterations", integer},
                                                     {"actor", text},
                                                     {"requested_at_ns", integer},
                                                     {"taken_by", text}}};

constexpr std::array<Table, 17> kTables = {
    {{"topologies", kTopologies, "id"},
     {"workloads", kWorkloads, "id"},
     {"studies", kStudies, "id"},
     {"removed_studies", kRemovedStudies, "id"},
     {"trials", kTrials, "id", true},
     {"workers", kWorkers, "study_id, name"},
     {"measurements", kMeasurements, "trial_id, metric, position"},
     {"trial_outputs", kTrialOutputs, "trial_id"},
     {"promotions", kPromotions, "id"},
     {"key_states", kKeyStates, "topology_id, workload_id"},
     {"quarantine", kQuarantine, "id"},
     {"audit", kAudit, "id", true},
     {"profiles", kProfiles, "id", true},
     {"profile_ranks", kProfileRanks, "profile_id, rank"},
     {"profile_iterations", kProfileIterations, "profile_id, rank, step"},
     {"profile_metrics", kProfileMetrics, "profile_id, coalesce(rank, -1), name"},
     {"profile_requests", kProfileRequests, "id", true}}};

}  // namespace

std::span<const Table> tables() {
  return kTables;
}

}  // namespace hocket::schema
