#pragma once

// hocket's client for programs in C, or in any language that can call C: provides the tuned
// configuration at start-up, reports iteration times while the job runs, and tries other
// configurations while it trains. Link libhocket_client.so. docs/guides/client.md is the guide and
// examples/c_client a complete program.
//
// Only rank 0 communicates with the daemon. It passes the configuration to the other ranks by the
// job's own means, for example by broadcasting the text of hocket_client_config, which
// hocket_config_get reads on any rank. The other ranks open a client only if they change
// configurations together with rank 0 while the job trains.
//
// Threads: a client belongs to one thread at a time. Different clients, and the functions that take
// no client, are independent. Nothing throws. Only hocket_client_open and hocket_client_close
// block: for at most two seconds and half a second, respectively.
//
// Errors: a function that fails returns NULL or -1, and hocket_error() returns the message.

#include <stddef.h>
#include <stdint.h>

// ABI version. The declarations here do not change while this number stays the same; it is part of
// the library's SONAME.
#define HOCKET_CLIENT_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

// Returns HOCKET_CLIENT_ABI of the loaded library.
int hocket_client_abi(void);

// Returns the version of the loaded library: "0.1.0", or between releases "0.1.0.dev12+g0123abcd".
const char* hocket_client_library_version(void);

// Returns the error message of the last failed call on this thread; "" if none has failed. Valid
// until the next call on this thread.
const char* hocket_error(void);

// Returns what this host is made of, as the JSON object of those members of a topology that
// describe it, with the values that `hocket topology` prints here:
//   {"cores": 16, "cpu_model": "…", "hardware_threads": 32, "memory_gib": 128, "numa_nodes": 2,
//    "sockets": 2}
// Counts the processors that this process's control group may use, and says "unknown CPU" where the
// kernel does not name their model. Reads a few files in /proc and /sys, and waits for nothing
// else. Returns NULL only without memory. Valid until the next call of it on this thread.
const char* hocket_client_host(void);

typedef struct hocket_tensor {
  const char* name;
  int64_t bytes;
} hocket_tensor;

// A knob of the program's own, such as the size of its framework's buckets: searched, stored,
// pushed and shown like those of the scheduler. In configurations, and wherever a knob is named,
// its name is "job.NAME". Zero-initialize, set `size`, then the known members.
typedef struct hocket_knob {
  size_t size;       // sizeof(hocket_knob)
  const char* name;  // 1 to 64 of a-z, 0-9 and "_"
  const char* unit;  // for people: "B", "ms"; NULL: none
  // Range of an integer, both ends included; within 2^53.
  int64_t low, high;
  // Not 0: only the powers of two times `low`, which must be positive, are searched, and the
  // default.
  int log;
  // Words of a choice, at most 64; NULL and 0 for an integer.
  const char* const* choices;
  size_t choice_count;
  // The default: the integer, or the index of the choice.
  int64_t default_value;
  // Not 0: the program can change it while it trains; otherwise only when it starts.
  int running;
} hocket_knob;

// Zero-initialize, set `size`, then the known members. Strings are copied.
typedef struct hocket_client_options {
  size_t size;  // sizeof(hocket_client_options)

  // Topology: the object "topology" that `hocket topology --json` prints, or NULL. `world_size` and
  // `link` override its values unless they are 0 and NULL. hocket_client_host has its members that
  // describe the host.
  const char* topology_json;
  int64_t world_size;  // number of ranks
  const char* link;    // "local", "tcp", …

  // Workload: its name and its tensors in the order of the forward pass.
  const char* workload_name;
  const hocket_tensor* tensors;
  size_t tensor_count;

  // Called with each warning for the user: during hocket_client_open, and later on a thread of the
  // library. NULL: warnings are dropped.
  void (*warn)(const char* message, void* context);

  // Names of the knobs that the program can change while it trains, as for hocket_config_get. None:
  // the program takes a configuration only when it starts, and must not call the functions declared
  // below hocket_client_report. Must be equal on all ranks, as must the topology and the world
  // size.
  const char* const* knobs;
  size_t knob_count;
  // Exploration budget: share of the training time that trying the tuner's candidates may cost, 0
  // to 0.5. With 0 the job accepts only pushed configurations.
  double explore;
  // Called on rank 0 with the outcome of each change, from within hocket_step_ended and
  // hocket_client_close. NULL: outcomes are dropped.
  void (*say)(const char* line, void* context);

  void* context;  // passed to the callbacks

  // Ranks above 0 receive rank 0's configuration here: the text that hocket_client_config returns
  // on rank 0.
  int64_t rank;
  const char* config_json;

  // Called on all ranks of a program with `knobs`, from within hocket_step_ended, to request a
  // profile of the `steps` steps from `first_step` on. Steps count from 0 in calls of
  // hocket_step_ended; `first_step` has not begun yet. NULL: the program cannot be profiled. A
  // program compiled before this member existed passes the smaller `size`.
  void (*on_profile)(int64_t first_step, int64_t steps, void* context);

  // The values that the program can give its knobs, as JSON, for example
  //   {"start": {"partition_bytes": {}, "streams": {"low": 1, "high": 4}, "order": ["fifo"]},
  //    "running": {"streams": [1, 2]}}
  // "start": when it starts; it is given no other configuration, and a knob that is not named keeps
  // its default. "running": while it trains, if that is less for a knob in `knobs`. NULL: the
  // program can start with everything (docs/guides/client.md). Must be equal on all ranks. A
  // program compiled before this member existed passes a smaller `size`.
  const char* can_run;

  // The program's own knobs, at most 64, with different names. Equal on all ranks. They are a part
  // of the workload, so programs with different ones do not share configurations. Members from here
  // on are missing in a program compiled before they existed, which passes a smaller `size`.
  const hocket_knob* const* own_knobs;
  size_t own_knob_count;
  // Refuses configurations that the program cannot run for another reason than `can_run` and the
  // ranges of `own_knobs`, such as memory. Returns 0 to accept; otherwise writes the reason to
  // `reason`, which has room for `reason_bytes` bytes with the final NUL. Called on rank 0 from
  // within hocket_client_open, and on all ranks from within hocket_ballot_read and
  // hocket_step_ended. One rank's refusal is enough. NULL: accepts all.
  int (*accept)(const char* config_json, char* reason, size_t reason_bytes, void* context);

  // Not 0: the program brings changes to its ranks by its own means, as one that has no all-reduce
  // of its own to spare. Only rank 0 opens a client. There are no ballots: a step is
  // hocket_iteration and hocket_step_ended, whose change takes effect with the next step. After a
  // change, do not call hocket_step_ended again before all ranks run with it. on_profile is called
  // as soon as a profile is wanted. Members from here on are missing in a program compiled before
  // they existed, which passes a smaller `size`.
  int decides_alone;
  // Asked on rank 0 before a configuration is compared with the present one: not 0 to begin now, 0
  // to be asked again. Called from within hocket_step_ended. NULL: always now.
  int (*may_try)(void* context);
  // The program's beliefs about configurations before anything was measured, for the search to
  // begin with: a JSON array of at most 200, for example
  //   [{"config": {"format": "hocket-schedule", "version": 1, "job": {"arm": "ring"}},
  //     "iteration_ns": 1200000}]
  // NULL: nothing.
  const char* predictions;

  // Traits: a JSON object of at most 32 texts that say what else changes which configuration is
  // best, for example
  //   {"optimizer": "AdamW", "gradients": "bfloat16"}
  // It is a part of the workload, so programs with different ones do not share configurations. It
  // must be known when the client is opened and be the same in every run. NULL: nothing. A program
  // compiled before this member existed passes a smaller `size`.
  const char* traits;
} hocket_client_options;

typedef struct hocket_client hocket_client;

// Fetches the configuration from the first source that has one: HOCKET_CONFIG, the daemon that
// HOCKET_DAEMON names, that daemon's last answer, without a daemon the store (the file that
// HOCKET_STORE names, else the user's default one), the default. With a daemon, also registers the
// job there in the background. On a rank above 0 it asks nobody and uses `config_json`. Returns
// NULL only for invalid options or an invalid HOCKET_CONFIG.
hocket_client* hocket_client_open(const hocket_client_options* options);

// Returns the configuration of the next step, as JSON (docs/formats/schedule_config.md). Valid
// until the client is closed or hocket_step_ended reports a change.
const char* hocket_client_config(const hocket_client* client);

// Describe the initial configuration; the strings are valid until the client is closed. source:
// "trial", "daemon", "last good", "store", "site" or "default". detail: an explanation for the
// user. key: the key by which the daemon knows the job. On a rank above 0 they are "rank 0", "" and
// "".
const char* hocket_client_source(const hocket_client* client);
const char* hocket_client_detail(const hocket_client* client);
const char* hocket_client_key(const hocket_client* client);

// Returns what the ended search of the job's key came to, as the daemon said it when the client was
// opened: "the search for its key has ended (tried 5, kept 2, on 2026-11-20)", and why it is opened
// again if it is. "" while it goes on, if there was none, without a daemon that says so, and on a
// rank above 0. Valid until the client is closed.
const char* hocket_client_search(const hocket_client* client);

// Returns the daemon's version of the initial configuration; 0 if it is not from the daemon.
int64_t hocket_client_version(const hocket_client* client);

// Returns whether the daemon takes part in the job on rank 0, one of the values below, and sets
// *why, unless NULL, to a line for the user: why it does not, or "". The line is valid until the
// next call of this function with this client. NONE holds to the end: HOCKET_DAEMON is not set or
// cannot be used, the program is a study's trial, or the rank is above 0. After AWAY the daemon is
// asked again and again.
#define HOCKET_DAEMON_NONE 0
#define HOCKET_DAEMON_ASKED 1  // it has not answered yet
#define HOCKET_DAEMON_AWAY 2   // it cannot be reached, or refuses the job
#define HOCKET_DAEMON_KNOWS 3  // it knows the job, which can be tuned
int hocket_client_daemon(hocket_client* client, const char** why);

// Reads one knob of a configuration's JSON, which may leave knobs out: "partition_bytes",
// "credit_bytes", "streams", "comm_channels" or another integer; "order", which is one of the
// values below, or another choice, as the place of its word among those in
// docs/formats/schedule_config.md. Returns 0, or -1 and leaves *value as it is.
#define HOCKET_ORDER_FIFO 0
#define HOCKET_ORDER_STATIC 1
#define HOCKET_ORDER_NEGOTIATED 2
int hocket_config_get(const char* config_json, const char* knob, int64_t* value);

// Reads one knob of the configuration of the next step: of the scheduler, as hocket_config_get
// does, or one of the program's own by the name "job.NAME"; of a choice its index. Returns 0, or -1
// and leaves *value as it is.
int hocket_client_get(const hocket_client* client, const char* knob, int64_t* value);

// Says what the iterations since the last report took, in order and without those of the warm-up.
// They go to the daemon, and to a study that runs this program as a trial. Never waits; what cannot
// be sent is dropped in the end. 0, or -1 when a time is not positive: nothing is taken then. For a
// program without `knobs`; one with them calls hocket_iteration.
int hocket_client_report(hocket_client* client, const int64_t* iteration_ns, size_t count);

// Live tuning, for a program with `knobs` (docs/guides/live-tuning.md). On every rank, in every
// step: fill the ballot, sum it over the ranks together with the step's other all-reduces, read the
// sum, and end the step:
//
//   hocket_ballot_fill(client, ballot);
//   … all-reduce (sum) of the step, with `ballot` …
//   hocket_ballot_read(client, ballot);
//   hocket_iteration(client, step, iteration_ns);    (rank 0)
//   if (hocket_step_ended(client) == 1) … hocket_config_get(hocket_client_config(client), …) …
//
// All ranks change before the same step. A loop that overlaps the sum with its next step may read
// it as late as just before it fills the next ballot, with one hocket_step_ended in between. A call
// in any other order is an error and does nothing.

// Returns the number of floats in a ballot: about 140, plus one for each rank and four for each of
// the first 64. The values are whole
// numbers below 2^24 and their sum must be exact: 32 bits, without compression. Returns 0 without
// `knobs`.
size_t hocket_ballot_size(const hocket_client* client);
// Fills a ballot; reads the sum of all ranks' ballots. Return 0, or -1.
int hocket_ballot_fill(hocket_client* client, float* ballot);
int hocket_ballot_read(hocket_client* client, const float* sum);
// Ends a step. Returns 1 if the configuration changes with the next step, 0 if not, or -1.
int hocket_step_ended(hocket_client* client);

// Reports on rank 0 the time of step `step`. Steps count from 0 in calls of hocket_step_ended and
// are reported in order, starting once the job is warm; a time may be reported as late as it
// becomes known. The times are sent to the same places as those of hocket_client_report. Returns 0,
// or -1; does nothing on other ranks.
int hocket_iteration(hocket_client* client, int64_t step, int64_t iteration_ns);

// Says on every rank what the rank counted in step `step`, in order and at most two steps late: the
// time in which it waited in communication and computed nothing, and the time in which it computed,
// each at least 0, or -1 if it is not known. The library adds the process's processor time and how
// long its TCP connections were sending, and brings all ranks' counters to rank 0 in the ballots,
// for `hocket stragglers --job`. Does nothing in a client that decides alone. Returns 0, or -1.
int hocket_step_counted(hocket_client* client, int64_t step, int64_t waited_ns,
                        int64_t computed_ns);

// Says in a client that decides alone what all ranks counted in step `step`, in order: by rank the
// time in which it waited in communication for the others, at least 0. `ranks` is the world size;
// jobs of more than 1024 ranks are not counted. For `hocket stragglers --job`. Returns 0, or -1.
int hocket_ranks_counted(hocket_client* client, int64_t step, const int64_t* waited_ns,
                         size_t ranks);

// Says on rank 0 how many steps the program has ended, where several of them share a ballot and are
// one step of this library. Lines, hocket_client_progress and `hocket jobs` then count the
// program's. Does nothing on other ranks. Returns 0, or -1.
int hocket_program_step(hocket_client* client, int64_t step);

// Returns 1 while a configuration is compared with the one before it, which alternate then; else 0.
int hocket_client_is_trying(const hocket_client* client);

// Says how the job does, for its own output, on rank 0 of a program with `knobs`: a JSON object
// with "step", "iteration_ns" (median of the latest ones with the present configuration), "tried"
// and "kept" (configurations), "explored_share" (of the time, what trying has cost); where the
// ranks count (hocket_step_counted) also "exposed_share", of an iteration, in which communication
// is under way and nothing is computed on the rank that waits least; and "late_rank" and "late_ns"
// where most iterations wait for one rank, and how long. "{}" before an iteration time is known.
// Returns NULL for a client without `knobs`. Valid until the next call with this client. Not for
// every step: it takes some microseconds.
const char* hocket_client_progress(hocket_client* client);

// Says what the program has measured itself, for `hocket top`, `hocket jobs` and the daemon's
// metrics: a value with a name of 1 to 64 of a-z, 0-9 and "_", which ends in its unit
// ("transfer_us"); or with the name "note" and the value 0 a line of text. The last value of a name
// counts; at most 32 names. `text` is for a note, else NULL. For rank 0 of a program with knobs.
// Under the name "own_cost_percent", from 0 to 100, it is the share of the program's time that
// being tuned has cost so far, in decisions and in waiting for changes: a column of `hocket jobs`.
// Returns 0, or -1.
int hocket_client_measured(hocket_client* client, const char* name, double value, const char* text);

// Saves what the ranks recorded after on_profile as a profile of this job in the store
// (HOCKET_STORE, else the user's), where `hocket profile --wait` finds it. For rank 0. `files` has
// a path for each of the `count` ranks, in their order, of a trace that `hocket profiles import`
// reads, such as one of PyTorch's profiler; NULL for a rank without a trace. The files are copied.
// `config_json` is the configuration in these steps; NULL: the default. Takes up to seconds; may be
// called on another thread while this one uses the client, but not after hocket_client_close.
// Returns 0, or -1.
int hocket_client_save_traces(const hocket_client* client, const char* const* files, size_t count,
                              const char* config_json);

// Where the processes of a job find each other, if they share nothing but the daemon that
// HOCKET_DAEMON names: one publishes a text of at most 2048 bytes under a name of at most 100
// letters, digits, "-", "_" and ".", the others find it if their tokens have the same name, for 90
// seconds; whoever may be late is found by publishing again. Take up to two seconds. Return 0, or
// -1, also where nothing was published yet. `text` has room for `text_bytes` bytes with the final
// NUL.
int hocket_meeting_publish(const char* name, const char* text);
int hocket_meeting_find(const char* name, char* text, size_t text_bytes);

// Ends the tuning, writes the report that a study waits for, and frees the client. NULL is allowed.
// 0, or -1 when the report could not be written.
int hocket_client_close(hocket_client* client);

#ifdef __cplusplus
}
#endif
