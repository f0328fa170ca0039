#include "store/schema/migrations.h"

#include <array>

namespace hocket::schema {
namespace {

// JSON columns hold objects, except `command`, an array of strings. Times are Unix time in
// nanoseconds.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE topologies (
  id          INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  document    TEXT NOT NULL
) STRICT;

CREATE TABLE workloads (
  id          INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  document    TEXT NOT NULL
) STRICT;

CREATE TABLE studies (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  command       TEXT NOT NULL,
  definition    TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted')),
  owner         TEXT NOT NULL,
  topology_id   INTEGER REFERENCES topologies (id),
  workload_id   INTEGER REFERENCES workloads (id),
  created_at_ns INTEGER NOT NULL,
  updated_at_ns INTEGER NOT NULL,
  result        TEXT
) STRICT;

-- AUTOINCREMENT: the id of a removed trial must not name a later one.
CREATE TABLE trials (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  study_id       INTEGER NOT NULL REFERENCES studies (id),
  number         INTEGER NOT NULL,
  phase          TEXT NOT NULL CHECK (phase IN ('search', 'confirm')),
  state          TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed', 'timeout')),
  params         TEXT NOT NULL,
  value          REAL,
  spread         REAL,
  message        TEXT NOT NULL,
  started_at_ns  INTEGER NOT NULL,
  finished_at_ns INTEGER,
  UNIQUE (study_id, number)
) STRICT;

CREATE TABLE measurements (
  trial_id INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
  metric   TEXT NOT NULL,
  position INTEGER NOT NULL,
  value    REAL NOT NULL,
  PRIMARY KEY (trial_id, metric, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE promotions (
  id             INTEGER PRIMARY KEY,
  topology_id    INTEGER NOT NULL REFERENCES topologies (id),
  workload_id    INTEGER NOT NULL REFERENCES workloads (id),
  study_id       INTEGER NOT NULL REFERENCES studies (id),
  config         TEXT NOT NULL,
  value          REAL NOT NULL,
  default_value  REAL NOT NULL,
  gain           REAL NOT NULL,
  promoted_at_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX promotions_by_key ON promotions (topology_id, workload_id, id);
)sql";

// SQLite cannot drop a NOT NULL, so `promotions` is rebuilt; no table refers to it. The defaults
// let a program that knows version 1, and had the file open before, continue to promote.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE new_promotions (
  id             INTEGER PRIMARY KEY,
  topology_id    INTEGER NOT NULL REFERENCES topologies (id),
  workload_id    INTEGER NOT NULL REFERENCES workloads (id),
  study_id       INTEGER REFERENCES studies (id),
  config         TEXT NOT NULL,
  value          REAL,
  default_value  REAL,
  gain           REAL,
  promoted_at_ns INTEGER NOT NULL,
  origin         TEXT NOT NULL DEFAULT 'study'
                 CHECK (origin IN ('study', 'live', 'push', 'rollback', 'pin')),
  stage          TEXT NOT NULL DEFAULT 'released'
                 CHECK (stage IN ('staged', 'released', 'withdrawn', 'held')),
  actor          TEXT NOT NULL DEFAULT '',
  note           TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO new_promotions (id, topology_id, workload_id, study_id, config, value, default_value,
                            gain, promoted_at_ns)
  SELECT id, topology_id, workload_id, study_id, config, value, default_value,
         gain, promoted_at_ns FROM promotions;
DROP TABLE promotions;
ALTER TABLE new_promotions RENAME TO promotions;
CREATE INDEX promotions_by_key ON promotions (topology_id, workload_id, id);

ALTER TABLE trials ADD COLUMN worker TEXT NOT NULL DEFAULT '';
ALTER TABLE trials ADD COLUMN lease_until_ns INTEGER;

CREATE TABLE key_states (
  topology_id INTEGER NOT NULL REFERENCES topologies (id),
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  pinned      INTEGER NOT NULL CHECK (pinned IN (0, 1)),
  frozen      INTEGER NOT NULL CHECK (frozen IN (0, 1)),
  PRIMARY KEY (topology_id, workload_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE quarantine (
  id                INTEGER PRIMARY KEY,
  topology_id       INTEGER NOT NULL REFERENCES topologies (id),
  workload_id       INTEGER NOT NULL REFERENCES workloads (id),
  config            TEXT NOT NULL,
  reason            TEXT NOT NULL,
  actor             TEXT NOT NULL,
  quarantined_at_ns INTEGER NOT NULL,
  UNIQUE (topology_id, workload_id, config)
) STRICT;

CREATE TABLE audit (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ns   INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_subject ON audit (subject, id);
)sql";

// AUTOINCREMENT keeps the id of a removed profile from naming a later one.
constexpr const char* kVersion3 = R"sql(
CREATE TABLE profiles (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT NOT NULL UNIQUE,
  source        TEXT NOT NULL,
  topology_id   INTEGER REFERENCES topologies (id),
  workload_id   INTEGER REFERENCES workloads (id),
  config        TEXT NOT NULL,
  structure     TEXT NOT NULL,
  detail        TEXT NOT NULL,
  created_at_ns INTEGER NOT NULL,
  kept          INTEGER NOT NULL DEFAULT 0 CHECK (kept IN (0, 1))
) STRICT;

CREATE TABLE profile_ranks (
  profile_id  INTEGER NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
  rank        INTEGER NOT NULL CHECK (rank >= 0),
  host        TEXT NOT NULL,
  trace_path  TEXT NOT NULL,
  records     INTEGER NOT NULL,
  dropped     INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  clock_fit   TEXT NOT NULL,
  PRIMARY KEY (profile_id, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE profile_iterations (
  profile_id       INTEGER NOT NULL,
  rank             INTEGER NOT NULL,
  step             INTEGER NOT NULL,
  begin_ns         INTEGER NOT NULL,
  wall_ns          INTEGER NOT NULL,
  compute_ns       INTEGER NOT NULL,
  communication_ns INTEGER NOT NULL,
  exposed_ns       INTEGER NOT NULL,
  PRIMARY KEY (profile_id, rank, step),
  FOREIGN KEY (profile_id, rank) REFERENCES profile_ranks (profile_id, rank) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A key cannot hold NULL, which is the rank of a figure of the whole job.
CREATE TABLE profile_metrics (
  profile_id INTEGER NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
  rank       INTEGER,
  name       TEXT NOT NULL,
  value      REAL NOT NULL,
  FOREIGN KEY (profile_id, rank) REFERENCES profile_ranks (profile_id, rank) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX profile_metrics_by_key
  ON profile_metrics (profile_id, coalesce(rank, -1), name);

CREATE TABLE profile_requests (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  job             TEXT NOT NULL,
  iterations      INTEGER NOT NULL CHECK (iterations > 0),
  actor           TEXT NOT NULL,
  requested_at_ns INTEGER NOT NULL,
  taken_by        TEXT
) STRICT;
CREATE INDEX profile_requests_open ON profile_requests (job, id) WHERE taken_by IS NULL;
)sql";

// Earlier versions tell the origins apart by the owner alone.
constexpr const char* kVersion4 = R"sql(
ALTER TABLE studies ADD COLUMN origin TEXT NOT NULL DEFAULT 'tune'
  CHECK (origin IN ('tune', 'http', 'live'));
UPDATE studies SET origin = 'http' WHERE owner = 'workers';
UPDATE studies SET origin = 'live' WHERE owner = 'hocket serve';
)sql";

// Apart from `trials`, so that reading those does not read output.
constexpr const char* kVersion5 = R"sql(
CREATE TABLE trial_outputs (
  trial_id INTEGER PRIMARY KEY REFERENCES trials (id) ON DELETE CASCADE,
  stdout   TEXT NOT NULL,
  stderr   TEXT NOT NULL
) STRICT;
)sql";

// Keeps the id of a removed study from naming a later one. Other tables refer to `studies`, so that
// it cannot be rebuilt with AUTOINCREMENT.
constexpr const char* kVersion6 = R"sql(
CREATE TABLE removed_studies (
  id INTEGER PRIMARY KEY
) STRICT;

ALTER TABLE promotions ADD COLUMN removed_study TEXT NOT NULL DEFAULT '';
)sql";

// Version 6 as PostgreSQL has it, which stores begin with there. Columns are in SQLite's order,
// since rows are read by position. Differences:
//
// - BYTEA where text may hold any bytes: TEXT holds UTF-8 alone.
// - COLLATE "C" where rows are ordered by a text, or found by the beginning of one.
// - No unique index on texts of any length, which PostgreSQL limits to 2.7 kB: whoever adds such a
//   row holds a lock and has looked for it.
// - Identity columns never give a number twice, so `removed_studies` matters for copies alone.
constexpr const char* kPostgresVersion6 = R"sql(
CREATE TABLE topologies (
  id          BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  fingerprint TEXT COLLATE "C" NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  document    TEXT NOT NULL
);

CREATE TABLE workloads (
  id          BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  fingerprint TEXT COLLATE "C" NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  document    TEXT NOT NULL
);

CREATE TABLE studies (
  id            BIGINT PRIMARY KEY,
  name          TEXT COLLATE "C" NOT NULL UNIQUE,
  command       TEXT NOT NULL,
  definition    TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted')),
  owner         TEXT NOT NULL,
  topology_id   BIGINT REFERENCES topologies (id),
  workload_id   BIGINT REFERENCES workloads (id),
  created_at_ns BIGINT NOT NULL,
  updated_at_ns BIGINT NOT NULL,
  result        TEXT,
  origin        TEXT NOT NULL DEFAULT 'tune' CHECK (origin IN ('tune', 'http', 'live'))
);

CREATE TABLE removed_studies (
  id BIGINT PRIMARY KEY
);

CREATE TABLE trials (
  id             BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  study_id       BIGINT NOT NULL REFERENCES studies (id),
  number         BIGINT NOT NULL,
  phase          TEXT NOT NULL CHECK (phase IN ('search', 'confirm')),
  state          TEXT NOT NULL CHECK (state IN ('running', 'complete', 'failed', 'timeout')),
  params         TEXT NOT NULL,
  value          DOUBLE PRECISION,
  spread         DOUBLE PRECISION,
  message        BYTEA NOT NULL,
  started_at_ns  BIGINT NOT NULL,
  finished_at_ns BIGINT,
  worker         TEXT NOT NULL DEFAULT '',
  lease_until_ns BIGINT,
  UNIQUE (study_id, number)
);

CREATE TABLE measurements (
  trial_id BIGINT NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
  metric   BYTEA NOT NULL,
  position BIGINT NOT NULL,
  value    DOUBLE PRECISION NOT NULL
);
CREATE INDEX measurements_by_trial ON measurements (trial_id);

CREATE TABLE trial_outputs (
  trial_id BIGINT PRIMARY KEY REFERENCES trials (id) ON DELETE CASCADE,
  stdout   BYTEA NOT NULL,
  stderr   BYTEA NOT NULL
);

CREATE TABLE promotions (
  id             BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  topology_id    BIGINT NOT NULL REFERENCES topologies (id),
  workload_id    BIGINT NOT NULL REFERENCES workloads (id),
  study_id       BIGINT REFERENCES studies (id),
  config         TEXT NOT NULL,
  value          DOUBLE PRECISION,
  default_value  DOUBLE PRECISION,
  gain           DOUBLE PRECISION,
  promoted_at_ns BIGINT NOT NULL,
  origin         TEXT NOT NULL DEFAULT 'study'
                 CHECK (origin IN ('study', 'live', 'push', 'rollback', 'pin')),
  stage          TEXT NOT NULL DEFAULT 'released'
                 CHECK (stage IN ('staged', 'released', 'withdrawn', 'held')),
  actor          TEXT NOT NULL DEFAULT '',
  note           TEXT NOT NULL DEFAULT '',
  removed_study  TEXT NOT NULL DEFAULT ''
);
CREATE INDEX promotions_by_key ON promotions (topology_id, workload_id, id);
CREATE INDEX promotions_by_study ON promotions (study_id);

CREATE TABLE key_states (
  topology_id BIGINT NOT NULL REFERENCES topologies (id),
  workload_id BIGINT NOT NULL REFERENCES workloads (id),
  pinned      BIGINT NOT NULL CHECK (pinned IN (0, 1)),
  frozen      BIGINT NOT NULL CHECK (frozen IN (0, 1)),
  PRIMARY KEY (topology_id, workload_id)
);

CREATE TABLE quarantine (
  id                BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  topology_id       BIGINT NOT NULL REFERENCES topologies (id),
  workload_id       BIGINT NOT NULL REFERENCES workloads (id),
  config            TEXT NOT NULL,
  reason            TEXT NOT NULL,
  actor             TEXT NOT NULL,
  quarantined_at_ns BIGINT NOT NULL
);
CREATE INDEX quarantine_by_key ON quarantine (topology_id, workload_id, id);

CREATE TABLE audit (
  id      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  at_ns   BIGINT NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL
);
CREATE INDEX audit_by_subject ON audit USING hash (subject);

CREATE TABLE profiles (
  id            BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  name          TEXT COLLATE "C" NOT NULL UNIQUE,
  source        TEXT NOT NULL,
  topology_id   BIGINT REFERENCES topologies (id),
  workload_id   BIGINT REFERENCES workloads (id),
  config        TEXT NOT NULL,
  structure     TEXT NOT NULL,
  detail        TEXT NOT NULL,
  created_at_ns BIGINT NOT NULL,
  kept          BIGINT NOT NULL DEFAULT 0 CHECK (kept IN (0, 1))
);

CREATE TABLE profile_ranks (
  profile_id  BIGINT NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
  rank        BIGINT NOT NULL CHECK (rank >= 0),
  host        TEXT NOT NULL,
  trace_path  BYTEA NOT NULL,
  records     BIGINT NOT NULL,
  dropped     BIGINT NOT NULL,
  quarantined BIGINT NOT NULL,
  clock_fit   TEXT NOT NULL,
  PRIMARY KEY (profile_id, rank)
);

CREATE TABLE profile_iterations (
  profile_id       BIGINT NOT NULL,
  rank             BIGINT NOT NULL,
  step             BIGINT NOT NULL,
  begin_ns         BIGINT NOT NULL,
  wall_ns          BIGINT NOT NULL,
  compute_ns       BIGINT NOT NULL,
  communication_ns BIGINT NOT NULL,
  exposed_ns       BIGINT NOT NULL,
  PRIMARY KEY (profile_id, rank, step),
  FOREIGN KEY (profile_id, rank) REFERENCES profile_ranks (profile_id, rank) ON DELETE CASCADE
);

CREATE TABLE profile_metrics (
  profile_id BIGINT NOT NULL REFERENCES profiles (id) ON DELETE CASCADE,
  rank       BIGINT,
  name       TEXT COLLATE "C" NOT NULL,
  value      DOUBLE PRECISION NOT NULL,
  FOREIGN KEY (profile_id, rank) REFERENCES profile_ranks (profile_id, rank) ON DELETE CASCADE
);
CREATE INDEX profile_metrics_by_profile ON profile_metrics (profile_id, rank);

CREATE TABLE profile_requests (
  id              BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  job             TEXT NOT NULL,
  iterations      BIGINT NOT NULL CHECK (iterations > 0),
  actor           TEXT NOT NULL,
  requested_at_ns BIGINT NOT NULL,
  taken_by        TEXT
);
CREATE INDEX profile_requests_open ON profile_requests USING hash (job) WHERE taken_by IS NULL;
)sql";

// The workers that share a study's trials, and the trials that wait for one. A program of version 6
// ends and removes offered trials as it does all running ones; it gives none away.
constexpr const char* kVersion7 = R"sql(
ALTER TABLE trials ADD COLUMN offered INTEGER NOT NULL DEFAULT 0 CHECK (offered IN (0, 1));
ALTER TABLE trials ADD COLUMN losses INTEGER NOT NULL DEFAULT 0 CHECK (losses >= 0);

CREATE TABLE workers (
  study_id       INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
  name           TEXT NOT NULL,
  host           TEXT NOT NULL,
  joined_at_ns   INTEGER NOT NULL,
  lease_until_ns INTEGER NOT NULL,
  PRIMARY KEY (study_id, name)
) STRICT, WITHOUT ROWID;
)sql";

// Names of workers are short, so that a unique index holds them.
constexpr const char* kPostgresVersion7 = R"sql(
ALTER TABLE trials ADD COLUMN offered BIGINT NOT NULL DEFAULT 0 CHECK (offered IN (0, 1));
ALTER TABLE trials ADD COLUMN losses BIGINT NOT NULL DEFAULT 0 CHECK (losses >= 0);

CREATE TABLE workers (
  study_id       BIGINT NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
  name           TEXT COLLATE "C" NOT NULL,
  host           TEXT NOT NULL,
  joined_at_ns   BIGINT NOT NULL,
  lease_until_ns BIGINT NOT NULL,
  PRIMARY KEY (study_id, name)
);
)sql";

// The parameters that a version's study declares, so that they are known when the study is removed;
// then those of versions that brought such a configuration back.
constexpr const char* kVersion8 = R"sql(
ALTER TABLE promotions ADD COLUMN declared TEXT NOT NULL DEFAULT '{}';
UPDATE promotions SET declared = coalesce(
  (SELECT json_extract(definition, '$.space') FROM studies WHERE studies.id = study_id
   AND json_valid(definition) AND json_type(definition, '$.space') = 'object'), '{}');
UPDATE promotions SET declared = coalesce(
  (SELECT earlier.declared FROM promotions AS earlier
   WHERE earlier.topology_id = promotions.topology_id
   AND earlier.workload_id = promotions.workload_id AND earlier.config = promotions.config
   AND earlier.id < promotions.id AND earlier.study_id IS NOT NULL
   ORDER BY earlier.id DESC LIMIT 1), '{}') WHERE study_id IS NULL;
)sql";

// PostgreSQL 15 cannot ask whether a text is JSON without an error, so each study has a try.
constexpr const char* kPostgresVersion8 = R"sql(
ALTER TABLE promotions ADD COLUMN declared TEXT NOT NULL DEFAULT '{}';
DO $$
DECLARE study RECORD;
BEGIN
  FOR study IN SELECT id, definition FROM studies LOOP
    BEGIN
      UPDATE promotions SET declared = (study.definition::json -> 'space')::text
      WHERE study_id = study.id AND json_typeof(study.definition::json -> 'space') = 'object';
    EXCEPTION WHEN data_exception THEN NULL;
    END;
  END LOOP;
END $$;
UPDATE promotions SET declared = coalesce(
  (SELECT earlier.declared FROM promotions AS earlier
   WHERE earlier.topology_id = promotions.topology_id
   AND earlier.workload_id = promotions.workload_id AND earlier.config = promotions.config
   AND earlier.id < promotions.id AND earlier.study_id IS NOT NULL
   ORDER BY earlier.id DESC LIMIT 1), '{}') WHERE study_id IS NULL;
)sql";

// The owners whose jobs have kept a staged version: a JSON array of names. A program of version 8
// knows a version of live tuning that one of several owners has kept as a staged one, and gives it
// to one canary.
constexpr const char* kVersion9 = R"sql(
ALTER TABLE promotions ADD COLUMN kept_by TEXT NOT NULL DEFAULT '[]';
)sql";

// Facts of where an imported version was found. Its origin is `push` in the table, which programs
// of version 9 that have the store open understand.
constexpr const char* kVersion10 = R"sql(
ALTER TABLE promotions ADD COLUMN provenance TEXT NOT NULL DEFAULT '{}';
)sql";

constexpr std::array<Step, 10> kSteps = {{{kVersion1, nullptr},
                                          {kVersion2, nullptr},
                                          {kVersion3, nullptr},
                                          {kVersion4, nullptr},
                                          {kVersion5, nullptr},
                                          {kVersion6, kPostgresVersion6},
                                          {kVersion7, kPostgresVersion7},
                                          {kVersion8, kPostgresVersion8},
                                          {kVersion9, kVersion9},
                                          {kVersion10, kVersion10}}};

}  // namespace

std::span<const Step> steps() {
  return kSteps;
}

std::int64_t newest_version() {
  return static_cast<std::int64_t>(kSteps.size());
}

}  // namespace hocket::schema
