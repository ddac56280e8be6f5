// The CUDA runtime as the emulator understands it: a .cu file that includes <cuda_runtime.h> and launches with
// cudaLaunchKernelEx compiles with this header as plain C++17 and runs on the CPU.
//
// Each header below owns one thing:
//   dialect.h       the keywords (__global__, __shared__, ...)
//   dynamic_shared.h the names of dynamic shared memory
//   vector_types.h  dim3, int2, float4, ...
//   access.h        what an observer of the kernels' memory accesses is told
//   switch.h        the context switch; nothing else knows an instruction set
//   fiber.h         stacks and their pool
//   scheduler.h     which thread of a block runs next, the block barrier
//   report.h        what is printed when a block cannot go on
//   warp.h          shuffles and votes
//   misuse.h        what is said of copies, split barriers and matrix products that are used wrongly
//   matrix.h        tensor cores
//   reserve.h       objects that are used again
//   memory_ops.h    atomics, cached loads and stores
//   intrinsics.h    bit and integer intrinsics, casts between representations
//   device_math.h   math functions as CUDA C++ overloads them
//   errors.h        cudaError_t
//   host_memory.h   cudaMalloc, cudaMemcpy, ...
//   copies.h        asynchronous copies
//   split_barrier.h barriers where threads arrive first and wait later
//   grid.h          cooperative launches: blocks that take turns, the barrier of the grid
//   host_device.h   devices, streams, events
//   launch.h        cudaLaunchKernelEx and its limits
//   graph.h         graphs of launches
//   hooks.h         the C functions that polytile calls
//   instrument.h    the functions that the compiler calls in a checked or counting build
//   shadow.h        the observer of a checked build; count.h that of a counting one
#ifndef POLYTILE_EMULATOR_CUDA_RUNTIME_H
#define POLYTILE_EMULATOR_CUDA_RUNTIME_H

#define POLYTILE_EMULATOR 1

// libstdc++'s <math.h> brings the special functions of C++17 along (std::riemann_zeta and its kin), which CUDA has not:
// a hundred templates that every build instantiates, in spite of a precompiled header.
#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "polytile_emulator/access.h"
#include "polytile_emulator/dialect.h"
#include "polytile_emulator/vector_types.h"
#include "polytile_emulator/switch.h"
#include "polytile_emulator/fiber.h"
#include "polytile_emulator/scheduler.h"
#include "polytile_emulator/report.h"
#include "polytile_emulator/misuse.h"
#include "polytile_emulator/warp.h"
#include "polytile_emulator/matrix.h"
#include "polytile_emulator/reserve.h"
#include "polytile_emulator/memory_ops.h"
#include "polytile_emulator/intrinsics.h"
#include "polytile_emulator/device_math.h"
#include "polytile_emulator/errors.h"
#include "polytile_emulator/host_memory.h"
#include "polytile_emulator/host_device.h"
#include "polytile_emulator/copies.h"
#include "polytile_emulator/split_barrier.h"
#include "polytile_emulator/grid.h"
#include "polytile_emulator/launch.h"
#include "polytile_emulator/graph.h"
#if !defined(POLYTILE_EMULATOR_APART)
#include "polytile_emulator/hooks.h"
#if defined(POLYTILE_EMULATOR_CHECK)
#include "polytile_emulator/shadow.h"
#elif defined(POLYTILE_EMULATOR_COUNT)
#include "polytile_emulator/count.h"
#endif
#if defined(POLYTILE_EMULATOR_OBSERVED)
#include "polytile_emulator/instrument.h"
#endif
#endif

#endif
