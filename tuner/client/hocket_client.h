#pragma once

// hocket's client for programs in C, or in any language that can call C: the tuned configuration at
// start-up, iteration times while the job runs, and other configurations while it trains. Link
// libhocket_client.so. docs/CLIENT.md is the guide, examples/c_client a whole program.
//
// Rank 0 alone talks to the daemon. It hands the configuration to the other ranks by the job's own
// means, for example by broadcasting the text of hocket_client_config, which hocket_config_get
// reads anywhere. The other ranks open a client only to change with rank 0 while the job trains.
//
// Threads: a client belongs to one thread at a time; different clients, and the functions without
// one, are independent. Nothing throws, and nothing but hocket_client_open and hocket_client_close
// waits: at most two seconds, and half a second.
//
// Errors: a function that fails gives NULL or -1, and hocket_error() says why.

#include <stddef.h>
#include <stdint.h>

// What is declared here is not changed while this number stays; the library's SONAME holds it.
#define HOCKET_CLIENT_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

// HOCKET_CLIENT_ABI of the library that is loaded.
int hocket_client_abi(void);

// Why the last call on this thread failed; "" at first. Valid until the next call on this thread.
const char* hocket_error(void);

typedef struct hocket_tensor {
  const char* name;
  int64_t bytes;
} hocket_tensor;

// Set it to zero, then `size`, then what is known. Strings are copied.
typedef struct hocket_client_options {
  size_t size;  // sizeof(hocket_client_options)

  // What the job runs on: the object "topology" that `hocket topology --json` prints, or NULL.
  // `world_size` and `link` replace what it says unless they are 0 and NULL.
  const char* topology_json;
  int64_t world_size;  // number of ranks
  const char* link;    // "local", "tcp", …

  // What the job communicates: its name and its tensors in the order of the forward pass.
  const char* workload_name;
  const hocket_tensor* tensors;
  size_t tensor_count;

  // Told what is worth a line to the user: while opening, and later on a thread of the library.
  // NULL: nobody is told.
  void (*warn)(const char* message, void* context);

  // What the program can change while it trains: names of knobs, as for hocket_config_get. None: it
  // takes a configuration when it starts, and the functions below hocket_client_report are not for
  // it. Equal on all ranks, as are the topology and the world size.
  const char* const* knobs;
  size_t knob_count;
  // Of the training time, the share that trying configurations which the tuner proposes may cost:
  // 0 to 0.5. With 0 it takes only what is pushed.
  double explore;
  // On rank 0: told what becomes of each change, within hocket_step_ended and hocket_client_close.
  // NULL: nobody is told.
  void (*say)(const char* line, void* context);

  void* context;  // what `warn` and `say` get

  // A rank above 0 is given rank 0's configuration: the text of hocket_client_config there.
  int64_t rank;
  const char* config_json;

  // On every rank, for a program with `knobs`: told within hocket_step_ended, on all ranks, that
  // the `steps` steps from `first_step` on are to be profiled, which counts from 0 as
  // hocket_step_ended is called and has not begun. NULL: the program cannot be profiled. A program
  // that was compiled without this member gives the size without it.
  void (*on_profile)(int64_t first_step, int64_t steps, void* context);
} hocket_client_options;

typedef struct hocket_client hocket_client;

// Asks for the configuration (HOCKET_CONFIG, the daemon that HOCKET_DAEMON names, what that said
// last, the default: the first that there is) and, with a daemon, registers the job there in the
// background. On a rank above 0 it asks nobody, and takes `config_json`. NULL only for options or a
// HOCKET_CONFIG that are wrong.
hocket_client* hocket_client_open(const hocket_client_options* options);

// What the next step runs with, as JSON (docs/formats/schedule_config.md). Valid until the client
// is closed or hocket_step_ended says that it has changed.
const char* hocket_client_config(const hocket_client* client);

// Of the configuration at the start, valid until the client is closed: "trial", "daemon", "last
// good" or "default"; more about that, for people; and the key by which the daemon knows the job.
// On a rank above 0: "rank 0", "" and "".
const char* hocket_client_source(const hocket_client* client);
const char* hocket_client_detail(const hocket_client* client);
const char* hocket_client_key(const hocket_client* client);

// The daemon's version of the configuration at the start; 0 when it is not one of the daemon's.
int64_t hocket_client_version(const hocket_client* client);

// Reads one knob of a configuration's JSON, which may leave knobs out: "partition_bytes",
// "credit_bytes", "streams", "comm_channels" or another integer; "order", which is one of the
// values below, or another choice, as the place of its word among those in
// docs/formats/schedule_config.md. Returns 0, or -1 and leaves *value as it is.
#define HOCKET_ORDER_FIFO 0
#define HOCKET_ORDER_STATIC 1
#define HOCKET_ORDER_NEGOTIATED 2
int hocket_config_get(const char* config_json, const char* knob, int64_t* value);

// Says what the iterations since the last report took, in order and without those of the warm-up.
// They go to the daemon, and to a study that runs this program as a trial. Never waits; what cannot
// be sent is dropped in the end. 0, or -1 when a time is not positive: nothing is taken then. For a
// program without `knobs`; one with them calls hocket_iteration.
int hocket_client_report(hocket_client* client, const int64_t* iteration_ns, size_t count);

// Tuning while the job trains, for a program with `knobs` (docs/LIVE_TUNING.md). On every rank, in
// every step: fill the ballot, sum it over the ranks with the step's other all-reduces, read the
// sum, and say that the step has ended:
//
//   hocket_ballot_fill(client, ballot);
//   … all-reduce (sum) of the step, with `ballot` …
//   hocket_ballot_read(client, ballot);
//   hocket_iteration(client, step, iteration_ns);    (rank 0)
//   if (hocket_step_ended(client) == 1) … hocket_config_get(hocket_client_config(client), …) …
//
// All ranks change before the same step. A loop that lets the sum run while it goes on may read it
// as late as just before the next ballot is filled, one step ended in between. Calls in another
// order are errors, and do nothing.

// Floats of a ballot: some 140, and one for each rank. They are whole numbers below 2^24, and their
// sum must be exact: 32 bits, not compressed. 0 without `knobs`.
size_t hocket_ballot_size(const hocket_client* client);
// 0, or -1.
int hocket_ballot_fill(hocket_client* client, float* ballot);
int hocket_ballot_read(hocket_client* client, const float* sum);
// 1 when the configuration changes with the next step, 0 when not, or -1.
int hocket_step_ended(hocket_client* client);

// On rank 0: what step `step` took, which counts from 0 as hocket_step_ended is called; of steps in
// turn, from where the job is warm; as late as it is known. The times go where those of
// hocket_client_report go. 0, or -1; nothing is done on other ranks.
int hocket_iteration(hocket_client* client, int64_t step, int64_t iteration_ns);

// Ends the tuning, writes the report that a study waits for, and frees the client. NULL is allowed.
// 0, or -1 when the report could not be written.
int hocket_client_close(hocket_client* client);

#ifdef __cplusplus
}
#endif
