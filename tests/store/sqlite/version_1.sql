-- A store of version 1, written by `hocket tune`, as output by sqlite3's .dump.
PRAGMA application_id = 1751346036;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE topologies (
  id          INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  document    TEXT NOT NULL
) STRICT;
INSERT INTO topologies VALUES(1,'35ace7bf-1e4f-5a8a-aab8-aaa05dfe235a','1 rank, local, 2 cores Test CPU, 24 GiB','{"cores":2,"cpu_model":"Test CPU","hardware_threads":2,"library_versions":{"gloo":"0.5.0"},"link":"local","memory_gib":24,"numa_nodes":1,"sockets":1,"world_size":1}');
CREATE TABLE workloads (
  id          INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  document    TEXT NOT NULL
) STRICT;
INSERT INTO workloads VALUES(1,'8162e6ed-2f01-5194-800e-4efb0557ea53','parabola','{"name":"parabola","tensors":[]}');
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
INSERT INTO studies VALUES(1,'parabola-1','["sh","-c","echo t=$(( ({X}-2)*({X}-2) + 100 ))"]','{"confirm_pairs":5,"end_trials_early":true,"format":"hocket-study","objective":"regex:t=([0-9.]+)","seed":1,"skip":0,"space":{"format":"hocket-space","parameters":[{"default":7,"high":8,"log":false,"low":1,"name":"X","type":"int"}],"version":1},"stop_early":true,"time_limit_ns":600000000000,"transfer":"","trials":4,"version":1,"working_directory":"/job"}','finished','7@host boot/1',1,1,1795274312009542128,1795274312112745710,'{"best":{"params":{"X":4},"spread":0.0,"value":104.0},"default":{"params":{"X":7},"spread":0.0,"value":125.0},"gain":0.16800000000000048,"noise":0.0,"promoted":true,"reason":"16.8 % better than the default in 2 pairs of runs, where more than 0.0 % was needed","stopped":""}');
INSERT INTO studies VALUES(2,'parabola-2','["sh","-c","echo t=$(( ({X}-4)*({X}-4) + 100 ))"]','{"confirm_pairs":5,"donor":{"distance":0.0,"evaluations":[{"params":{"X":4},"standard_error":0.0,"value":104.0},{"params":{"X":6},"standard_error":0.0,"value":116.0},{"params":{"X":7},"standard_error":0.0,"value":125.0},{"params":{"X":8},"standard_error":0.0,"value":136.0}],"study":"parabola-1"},"end_trials_early":true,"format":"hocket-study","objective":"regex:t=([0-9.]+)","seed":1,"skip":0,"space":{"format":"hocket-space","parameters":[{"default":7,"high":8,"log":false,"low":1,"name":"X","type":"int"}],"version":1},"stop_early":true,"time_limit_ns":600000000000,"transfer":"","trials":3,"version":1,"working_directory":"/job"}','finished','7@host boot/1',1,1,1795274312146883556,1795274312245923574,'{"best":{"params":{"X":4},"spread":0.0,"value":100.0},"default":{"params":{"X":7},"spread":0.0,"value":109.0},"gain":0.08256880733944891,"noise":0.0,"promoted":true,"reason":"8.3 % better than the default in 2 pairs of runs, where more than 0.0 % was needed","stopped":""}');
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
INSERT INTO trials VALUES(1,1,1,'search','complete','{"X":7}',125.0,0.0,'',1795274312014253906,1795274312024059330);
INSERT INTO trials VALUES(2,1,2,'search','complete','{"X":6}',116.0,0.0,'',1795274312026219712,1795274312040701211);
INSERT INTO trials VALUES(3,1,3,'search','complete','{"X":8}',136.0,0.0,'',1795274312050399446,1795274312060153164);
INSERT INTO trials VALUES(9,2,1,'search','complete','{"X":7}',109.0,0.0,'',1795274312150743072,1795274312163949680);
INSERT INTO trials VALUES(10,2,2,'search','complete','{"X":4}',100.0,0.0,'',1795274312170021486,1795274312179467175);
INSERT INTO trials VALUES(11,2,3,'search','complete','{"X":6}',104.0,0.0,'',1795274312180487697,1795274312191973528);
INSERT INTO trials VALUES(12,2,4,'confirm','running','{"X":7}',NULL,NULL,'',1795274312194093319,NULL);
CREATE TABLE measurements (
  trial_id INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
  metric   TEXT NOT NULL,
  position INTEGER NOT NULL,
  value    REAL NOT NULL,
  PRIMARY KEY (trial_id, metric, position)
) STRICT, WITHOUT ROWID;
INSERT INTO measurements VALUES(1,'objective',0,125.0);
INSERT INTO measurements VALUES(1,'wall_ns',0,5639211.0);
INSERT INTO measurements VALUES(2,'objective',0,116.0);
INSERT INTO measurements VALUES(2,'wall_ns',0,6295329.0);
INSERT INTO measurements VALUES(3,'objective',0,136.0);
INSERT INTO measurements VALUES(3,'wall_ns',0,5801012.0);
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
INSERT INTO promotions VALUES(1,1,1,1,'{"X":4}',104.0,125.0,0.16800000000000048228,1795274312109390245);
INSERT INTO promotions VALUES(2,1,1,2,'{"X":4}',100.0,109.0,0.082568807339448907489,1795274312242020172);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('trials',40);
CREATE INDEX promotions_by_key ON promotions (topology_id, workload_id, id);
COMMIT;
