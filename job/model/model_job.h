#pragma once

// A whole job that trains a language model of pure maths (models/), data-parallel over its ranks,
// on hocket's scheduler: on the host, on a CUDA device, or on a device of limited memory beside its
// host; with servers or a sharded optimiser; profiled, tuned and placed by its configuration. No
// line here knows what is in the model.
//
// Prints, on rank 0:
//
//   configuration from default: partition 4194304 B, credit 16777216 B, 1 stream, fifo
//   step 0: loss 5.548
//   …
//   iteration 411.20 ms ± 1.31 (11 measured), exposed communication 206.10 ms, emulated link
//   500mbit

#include "core/base/result.h"
#include "job/model/model_options.h"
#include "job/model/platform.h"

namespace hocket {

/// Trains as the options say; every rank calls it. `cuda` is null in a program without CUDA. The
/// error says what to do.
Result<void> train_model(ModelJobOptions options, const CudaPlatforms* cuda);

/// Does the same for main(): returns the status with which the program ends, and prints the error.
int model_job_status(ModelJobOptions options, const CudaPlatforms* cuda);

}  // namespace hocket
