// cudaError_t, and the last error of the thread.
#ifndef POLYTILE_EMULATOR_ERRORS_H
#define POLYTILE_EMULATOR_ERRORS_H

#pragma GCC visibility push(hidden)

#define POLYTILE_EMULATOR_ERRORS(X)                                                       \
  X(cudaSuccess, 0, "no error")                                                           \
  X(cudaErrorInvalidValue, 1, "invalid argument")                                         \
  X(cudaErrorMemoryAllocation, 2, "out of memory")                                        \
  X(cudaErrorInitializationError, 3, "initialization error")                              \
  X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                   \
  X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                             \
  X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                  \
  X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")             \
  X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                        \
  X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                         \
  X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                \
  X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                       \
  X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state") \
  X(cudaErrorNotReady, 600, "device not ready")                                           \
  X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")             \
  X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")        \
  X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")               \
  X(cudaErrorAssert, 710, "device-side assert triggered")                                 \
  X(cudaErrorMisalignedAddress, 716, "misaligned address")                                \
  X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                            \
  X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")     \
  X(cudaErrorNotSupported, 801, "operation not supported")                                \
  X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
  X(cudaErrorUnknown, 999, "unknown error")

#define POLYTILE_EMULATOR_ERROR_VALUE(name, value, text) name = value,
typedef enum cudaError { POLYTILE_EMULATOR_ERRORS(POLYTILE_EMULATOR_ERROR_VALUE) } cudaError_t;
#undef POLYTILE_EMULATOR_ERROR_VALUE

inline const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define POLYTILE_EMULATOR_ERROR_NAME(name, value, text) \
  case name:                                            \
    return #name;
    POLYTILE_EMULATOR_ERRORS(POLYTILE_EMULATOR_ERROR_NAME)
#undef POLYTILE_EMULATOR_ERROR_NAME
  }
  return "unrecognized error code";
}

inline const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define POLYTILE_EMULATOR_ERROR_TEXT(name, value, text) \
  case name:                                            \
    return text;
    POLYTILE_EMULATOR_ERRORS(POLYTILE_EMULATOR_ERROR_TEXT)
#undef POLYTILE_EMULATOR_ERROR_TEXT
  }
  return "unrecognized error code";
}

namespace polytile_emulator {

// As any host thread has its own, and no initial value that is computed.
inline __thread cudaError_t last_error = cudaSuccess;

// Set by a kernel that failed; every call of every thread reports it until cudaDeviceReset().
class StickyError {
 public:
  operator cudaError_t() const { return __atomic_load_n(&error_, __ATOMIC_ACQUIRE); }
  StickyError &operator=(cudaError_t error) {
    __atomic_store_n(&error_, error, __ATOMIC_RELEASE);
    return *this;
  }

 private:
  cudaError_t error_ = cudaSuccess;
};
inline StickyError sticky_error;

// cudaDeviceReset() ends a CUDA context, and the next call begins another one.
inline unsigned long long contexts = 1;

// The result of an API call, remembered for cudaGetLastError.
inline cudaError_t finish(cudaError_t error) {
  if (sticky_error != cudaSuccess) error = sticky_error;
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace polytile_emulator

inline cudaError_t cudaPeekAtLastError() { return polytile_emulator::last_error; }
inline cudaError_t cudaGetLastError() {
  const cudaError_t error = polytile_emulator::last_error;
  polytile_emulator::last_error = polytile_emulator::sticky_error;
  return error;
}

#pragma GCC visibility pop

#endif
