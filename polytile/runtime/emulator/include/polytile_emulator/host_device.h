// The device, streams and events. Everything is done when a call returns, so streams order nothing and events keep the
// time at which they were recorded.
#ifndef POLYTILE_EMULATOR_HOST_DEVICE_H
#define POLYTILE_EMULATOR_HOST_DEVICE_H

#include <time.h>

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

constexpr int kSharedDefault = 48 * 1024;
constexpr int kSharedOptIn = 227 * 1024;
constexpr int kSharedPerMultiprocessor = 228 * 1024;
constexpr int kMultiprocessors = 132;
constexpr size_t kGlobalMemory = size_t(80) << 30;

inline long long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

}  // namespace polytile_emulator

struct __attribute__((visibility("default"))) CUevent_st {
  long long nanoseconds;  // -1 until recorded
};
typedef struct CUevent_st *cudaEvent_t;

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };

inline cudaError_t cudaDeviceSynchronize() { return polytile_emulator::finish(cudaSuccess); }
inline cudaError_t cudaDeviceReset() {
  polytile_emulator::sticky_error = polytile_emulator::last_error = cudaSuccess;
  ++polytile_emulator::contexts;
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  if (!stream) return polytile_emulator::finish(cudaErrorInvalidValue);
  *stream = static_cast<cudaStream_t>(malloc(sizeof **stream));
  if (!*stream) return polytile_emulator::finish(cudaErrorMemoryAllocation);
  **stream = {flags, nullptr};
  return polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!stream) return polytile_emulator::finish(cudaErrorInvalidResourceHandle);
  free(stream);
  return polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return polytile_emulator::refused(stream) ? cudaErrorStreamCaptureUnsupported : polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  if (!event) return polytile_emulator::finish(cudaErrorInvalidValue);
  *event = static_cast<cudaEvent_t>(malloc(sizeof **event));
  if (!*event) return polytile_emulator::finish(cudaErrorMemoryAllocation);
  (*event)->nanoseconds = -1;
  return polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return polytile_emulator::finish(cudaErrorInvalidResourceHandle);
  free(event);
  return polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  if (!event) return polytile_emulator::finish(cudaErrorInvalidResourceHandle);
  event->nanoseconds = polytile_emulator::now();
  return polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return polytile_emulator::finish(event ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned = 0) {
  return cudaEventSynchronize(event);
}
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!milliseconds) return polytile_emulator::finish(cudaErrorInvalidValue);
  if (!start || !end || start->nanoseconds < 0 || end->nanoseconds < 0)
    return polytile_emulator::finish(cudaErrorInvalidResourceHandle);
  *milliseconds = static_cast<float>(static_cast<double>(end->nanoseconds - start->nanoseconds) * 1e-6);
  return polytile_emulator::finish(cudaSuccess);
}

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int maxBlocksPerMultiProcessor;
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106
};

namespace polytile_emulator {

struct Attribute {
  int id;
  int value;
};

inline const Attribute kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 2147483647},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, kSharedDefault},
    {cudaDevAttrTotalConstantMemory, 65536},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrMultiProcessorCount, kMultiprocessors},
    {cudaDevAttrL2CacheSize, 50 << 20},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrComputeCapabilityMajor, 9},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, kSharedPerMultiprocessor},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, kSharedOptIn},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
};

}  // namespace polytile_emulator

inline cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, polytile_emulator::finish(cudaSuccess); }
inline cudaError_t cudaGetDevice(int *device) { return *device = 0, polytile_emulator::finish(cudaSuccess); }
inline cudaError_t cudaSetDevice(int device) {
  return polytile_emulator::finish(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return polytile_emulator::finish(cudaErrorInvalidDevice);
  for (const polytile_emulator::Attribute &known : polytile_emulator::kAttributes)
    if (known.id == attribute) return *value = known.value, polytile_emulator::finish(cudaSuccess);
  return polytile_emulator::finish(cudaErrorInvalidValue);
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  if (device != 0) return polytile_emulator::finish(cudaErrorInvalidDevice);
  cudaDeviceProp p = {};
  strcpy(p.name, "polytile emulator");
  p.totalGlobalMem = polytile_emulator::kGlobalMemory;
  p.sharedMemPerBlock = polytile_emulator::kSharedDefault;
  p.sharedMemPerBlockOptin = polytile_emulator::kSharedOptIn;
  p.sharedMemPerMultiprocessor = polytile_emulator::kSharedPerMultiprocessor;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 65536;
  p.major = 9;
  p.multiProcessorCount = polytile_emulator::kMultiprocessors;
  p.l2CacheSize = 50 << 20;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 32;
  p.cooperativeLaunch = 1;
  *properties = p;
  return polytile_emulator::finish(cudaSuccess);
}
POLYTILE_EMULATOR_CORE cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
#if !defined(POLYTILE_EMULATOR_APART)
POLYTILE_EMULATOR_CORE cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  const size_t limit = polytile_emulator::memory_limit();
  *total = limit < polytile_emulator::kGlobalMemory ? limit : polytile_emulator::kGlobalMemory;
  polytile_emulator::Lock lock(polytile_emulator::memory_mutex);
  const size_t used = polytile_emulator::ranges.bytes();
  *available = used < *total ? *total - used : 0;
  return polytile_emulator::finish(cudaSuccess);
}
#endif
inline cudaError_t cudaDriverGetVersion(int *version) { return *version = 13000, cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int *version) { return *version = 13000, cudaSuccess; }

#pragma GCC visibility pop

#endif
