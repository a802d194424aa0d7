// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Before a function that runs on CPUs and, where a .cu file calls it, on GPUs.
#ifdef __CUDACC__
#define VOXCYCLE_BOTH __host__ __device__
#else
#define VOXCYCLE_BOTH
#endif
