#pragma once

// Test functions from the literature as recorded sweeps: on a lattice, measured three times each
// with 2 % normal noise, and scaled so that the lattice's lowest value is 1 and its median 2. Pure.
//
// Branin and Hartmann-6 are those of Dixon and Szegö (1978). The others follow the noiseless
// functions of the BBOB test bed (Hansen, Finck, Ros, Auger, INRIA RR-6829): sphere (f1),
// Rosenbrock (f8), the rotated ellipsoid (f10) and rotated Rastrigin (f15), without the oscillation
// and asymmetry that BBOB applies to the last two. The optimum and the rotation are drawn from a
// seed.

#include <vector>

#include "benchmarks/tuner/problem.h"
#include "core/base/result.h"

namespace hocket {

Result<std::vector<Problem>> function_problems();

}  // namespace hocket
