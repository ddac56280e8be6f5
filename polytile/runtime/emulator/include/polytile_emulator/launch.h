// cudaLaunchKernelEx, and the limits that a launch is held to.
#ifndef POLYTILE_EMULATOR_LAUNCH_H
#define POLYTILE_EMULATOR_LAUNCH_H

#include <pthread.h>
#include <sys/types.h>

// Of <signal.h>, the macros of which would take names from the user's kernels.
#if defined(__GLIBC__)
extern "C" int sigfillset(sigset_t *set) noexcept;
extern "C" int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) noexcept;
#else
#include <signal.h>
#endif

#pragma GCC visibility push(hidden)

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8
};

union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
};

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int maxDynamicSharedSizeBytes;
};

namespace polytile_emulator {

// How much dynamic shared memory each kernel opted into.
class SharedLimits {
 public:
  int of(const void *kernel) {
    Lock lock(mutex);
    for (size_t i = 0; i < count_; ++i)
      if (entries_[i].kernel == kernel) return entries_[i].bytes;
    return kSharedDefault;
  }

  bool set(const void *kernel, int bytes) {
    Lock lock(mutex);
    for (size_t i = 0; i < count_; ++i)
      if (entries_[i].kernel == kernel) return entries_[i].bytes = bytes, true;
    Entry *more = static_cast<Entry *>(realloc(entries_, (count_ + 1) * sizeof(Entry)));
    if (!more) return false;
    entries_ = more;
    entries_[count_++] = {kernel, bytes};
    return true;
  }

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

 private:
  struct Entry {
    const void *kernel;
    int bytes;
  };
  Entry *entries_ = nullptr;
  size_t count_ = 0;
};

inline SharedLimits shared_limits;

// The launches of one kernel, and the blocks in their grids.
struct KernelLaunches {
  const void *kernel;
  unsigned long long launches, blocks;
};

// How often each kernel ran.
class Launched {
 public:
  void add(const void *kernel, const dim3 &grid) {
    size_t i = 0;
    while (i < count_ && entries_[i].kernel != kernel) ++i;
    if (i == count_) {
      KernelLaunches *more = static_cast<KernelLaunches *>(realloc(entries_, (count_ + 1) * sizeof(KernelLaunches)));
      if (!more) return;
      entries_ = more;
      entries_[count_++] = {kernel, 0, 0};
    }
    ++entries_[i].launches;
    entries_[i].blocks += 1ull * grid.x * grid.y * grid.z;
  }

  KernelLaunches of(const void *kernel) const {
    for (size_t i = 0; i < count_; ++i)
      if (entries_[i].kernel == kernel) return entries_[i];
    return {kernel, 0, 0};
  }

  void clear() { count_ = 0; }

 private:
  KernelLaunches *entries_ = nullptr;
  size_t count_ = 0;
};

inline Launched launched;

// How many blocks a multiprocessor takes, as threads and shared memory allow; registers are not known here.
inline size_t resident_blocks(size_t threads, size_t shared) {
  const size_t by_threads = 2048 / ((threads + 31) / 32 * 32);
  const size_t by_shared = static_cast<size_t>(kSharedPerMultiprocessor) / (shared + 1024);
  const size_t most = by_threads < by_shared ? by_threads : by_shared;
  return most < 32 ? most : 32;
}

// A launch that was checked.
struct Launch {
  dim3 grid, threads;
  size_t shared;
  bool cooperative;
};

POLYTILE_EMULATOR_CORE cudaError_t run_checked(const Launch &launch, const Body &body);
POLYTILE_EMULATOR_CORE cudaError_t launch(const cudaLaunchConfig_t *config, const Body &body);

#if !defined(POLYTILE_EMULATOR_APART)

// Kernels run one at a time; the threads of the program wait for one another.
inline pthread_mutex_t launch_mutex = PTHREAD_MUTEX_INITIALIZER;
inline thread_local bool inside_kernel = false;

// A process that is forked has no thread but one, which finds no kernel under way and nothing locked. Signals wait
// meanwhile: a handler may run a SCoP, which would wait for what its own thread has locked.
#if defined(__APPLE__)
constexpr int kBlockSignals = 1, kSetSignals = 3;
#else
constexpr int kBlockSignals = 0, kSetSignals = 2;
#endif
inline sigset_t signals_before;
inline void lock_all() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(kBlockSignals, &all, &before);
  pthread_mutex_lock(&launch_mutex);
  pthread_mutex_lock(&memory_mutex);
  pthread_mutex_lock(&shared_limits.mutex);
  signals_before = before;
}
inline void unlock_all() {
  const sigset_t before = signals_before;
  pthread_mutex_unlock(&shared_limits.mutex);
  pthread_mutex_unlock(&memory_mutex);
  pthread_mutex_unlock(&launch_mutex);
  pthread_sigmask(kSetSignals, &before, nullptr);
}
inline const int fork_handlers = pthread_atfork(lock_all, unlock_all, unlock_all);

inline bool within(const dim3 &d, unsigned x, unsigned y, unsigned z) {
  return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= x && d.y <= y && d.z <= z;
}

inline bool is_cooperative(const cudaLaunchConfig_t &config) {
  bool cooperative = false;
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeCooperative) cooperative = config.attrs[i].val.cooperative != 0;
  return cooperative;
}

inline cudaError_t check_attributes(const cudaLaunchConfig_t &config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute &attribute = config.attrs[i];
    if (attribute.id != cudaLaunchAttributeClusterDimension) continue;
    const auto &cluster = attribute.val.clusterDim;
    if (cluster.x != 1 || cluster.y != 1 || cluster.z != 1) return cudaErrorNotSupported;
  }
  return cudaSuccess;
}

// Whether all blocks of a cooperative launch run at once: on a GPU, and here.
inline bool fits_together(const dim3 &grid, const dim3 &threads, size_t shared) {
  const unsigned long long blocks = 1ull * grid.x * grid.y * grid.z, each = 1ull * threads.x * threads.y * threads.z;
  return blocks <= kMultiprocessors * resident_blocks(each, shared) && blocks * each < FiberPool::kMax;
}

// cudaLaunchKernelEx says cudaErrorInvalidValue of every limit (<<< >>> would say cudaErrorInvalidConfiguration).
inline cudaError_t check_launch(const cudaLaunchConfig_t &config, const void *kernel) {
  const dim3 &threads = config.blockDim;
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  if (!within(config.gridDim, 2147483647u, 65535, 65535)) return cudaErrorInvalidValue;
  if (!within(threads, 1024, 1024, 64)) return cudaErrorInvalidValue;
  if (1ull * threads.x * threads.y * threads.z > kMaxThreads) return cudaErrorInvalidValue;
  if (config.dynamicSmemBytes > static_cast<size_t>(shared_limits.of(kernel))) return cudaErrorInvalidValue;
  if (is_cooperative(config) && !fits_together(config.gridDim, threads, config.dynamicSmemBytes))
    return cudaErrorCooperativeLaunchTooLarge;
  return check_attributes(config);
}

inline cudaError_t record(CUgraph_st *graph, const Launch &launch, const Body &body);

POLYTILE_EMULATOR_CORE cudaError_t run_checked(const Launch &launch, const Body &body) {
  Lock lock(launch_mutex);
  if (finish(cudaSuccess) != cudaSuccess) return sticky_error;
  inside_kernel = true;
  ++counts.launches;
  launched.add(body.kernel, launch.grid);
  block.dynamic_shared = launch.shared;
  block.cooperative = launch.cooperative;
  if (!run_grid(body, launch.grid, launch.threads) && sticky_error == cudaSuccess)
    sticky_error = cudaErrorLaunchFailure;
  inside_kernel = false;
  return finish(cudaSuccess);
}

inline cudaError_t locked_check(const cudaLaunchConfig_t &config, const void *kernel) {
  Lock lock(launch_mutex);
  return finish(check_launch(config, kernel));
}

POLYTILE_EMULATOR_CORE cudaError_t launch(const cudaLaunchConfig_t *config, const Body &body) {
  if (!config) return finish(cudaErrorInvalidValue);
  if (inside_kernel) return cudaErrorNotSupported;
  if (const cudaError_t error = locked_check(*config, body.kernel)) return error;
  const Launch checked = {config->gridDim, config->blockDim, config->dynamicSmemBytes, is_cooperative(*config)};
  if (is_capturing(config->stream)) return finish(record(config->stream->capture, checked, body));
  return run_checked(checked, body);
}

#endif

template <class T>
inline const void *pointer_in(T *argument) {
  return const_cast<const void *>(reinterpret_cast<const volatile void *>(argument));
}
template <class T>
inline const void *pointer_in(const T &) {
  return nullptr;
}

// The arguments are converted once, as CUDA does, and every thread gets its own copy of them.
template <class... Parameters>
struct Launcher {
  static cudaError_t go(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...), Parameters... parameters) {
    const auto call = [=] { kernel(parameters...); };
    using Call = decltype(call);
    const void *const pointers[] = {pointer_in(parameters)..., nullptr};
    Body body;
    body.run = [](const void *self) { (*static_cast<Call *>(self))(); };
    body.self = &call;
    body.size = sizeof call;
    body.pointers = pointers;
    body.parameters = sizeof...(Parameters);
    body.kernel = reinterpret_cast<const void *>(kernel);
    return launch(config, body);
  }
};

template <size_t... I>
struct IndexList {};
template <size_t N, size_t... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <size_t... I>
struct MakeIndices<0, I...> {
  using type = IndexList<I...>;
};
template <size_t N>
using Indices = typename MakeIndices<N>::type;

// With the addresses of the arguments in a table.
template <class... Parameters, size_t... I>
inline cudaError_t launch_from(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...), void **arguments,
                               IndexList<I...>) {
  (void)arguments;
  return Launcher<Parameters...>::go(config, kernel, *static_cast<Parameters *>(arguments[I])...);
}

}  // namespace polytile_emulator

template <typename... ExpTypes, typename... ActTypes>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(ExpTypes...),
                                      ActTypes &&...args) {
  return polytile_emulator::Launcher<ExpTypes...>::go(config, kernel, static_cast<ActTypes &&>(args)...);
}

template <class... Parameters>
inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 threads, void **arguments,
                                               size_t shared = 0, cudaStream_t stream = nullptr) {
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  const cudaLaunchConfig_t config = {grid, threads, shared, stream, &cooperative, 1};
  using Each = polytile_emulator::Indices<sizeof...(Parameters)>;
  return polytile_emulator::launch_from(&config, kernel, arguments, Each());
}

template <class T>
inline cudaError_t cudaFuncSetAttribute(T *function, cudaFuncAttribute attribute, int value) {
  using namespace polytile_emulator;
  if (!function) return finish(cudaErrorInvalidDeviceFunction);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return finish(cudaSuccess);
  if (value < 0 || value > kSharedOptIn) return finish(cudaErrorInvalidValue);
  return finish(shared_limits.set(reinterpret_cast<const void *>(function), value) ? cudaSuccess
                                                                                   : cudaErrorMemoryAllocation);
}

// Registers and static shared memory are not known here: they are given as 0.
template <class T>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *function) {
  using namespace polytile_emulator;
  if (!attributes || !function) return finish(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = kMaxThreads;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = shared_limits.of(reinterpret_cast<const void *>(function));
  return finish(cudaSuccess);
}

template <class T>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T *, int threads, size_t shared) {
  using namespace polytile_emulator;
  if (!blocks || threads < 1 || threads > static_cast<int>(kMaxThreads)) return finish(cudaErrorInvalidValue);
  *blocks = static_cast<int>(resident_blocks(static_cast<size_t>(threads), shared));
  return finish(cudaSuccess);
}

#pragma GCC visibility pop

#endif
