// Device memory: blocks of the heap whose ranges are known, so that copies and pointers are checked as CUDA does.
#ifndef POLYTILE_EMULATOR_HOST_MEMORY_H
#define POLYTILE_EMULATOR_HOST_MEMORY_H

#include <pthread.h>

#if defined(POLYTILE_EMULATOR_CHECK)
#include "polytile_emulator/guarded_memory.h"
#endif

#pragma GCC visibility push(hidden)

struct CUgraph_st;
// Programs have structs of their own that hold one, so that it is as visible as those.
struct __attribute__((visibility("default"))) CUstream_st {
  unsigned flags;
  CUgraph_st *capture;  // what is launched here goes there
};
typedef struct CUstream_st *cudaStream_t;

namespace polytile_emulator {

inline bool is_capturing(cudaStream_t stream) { return stream && stream->capture; }

// Only launches are captured.
inline bool refused(cudaStream_t stream) {
  return is_capturing(stream) && finish(cudaErrorStreamCaptureUnsupported) != cudaSuccess;
}

}  // namespace polytile_emulator

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer;
  void *hostPointer;
};

typedef struct CUmemPoolHandle_st {
} *cudaMemPool_t;
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };

struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  struct {
    cudaMemLocationType type;
    int id;
  } location;
};

#define cudaMemAttachGlobal 1u
#define cudaHostAllocDefault 0u
#define cudaEnableDefault 0u

namespace polytile_emulator {

struct Lock {
  explicit Lock(pthread_mutex_t &mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
  pthread_mutex_t &mutex_;
};

POLYTILE_EMULATOR_CORE cudaError_t allocate(void **pointer, size_t size, cudaMemoryType type);
POLYTILE_EMULATOR_CORE cudaError_t release_memory(void *pointer);
POLYTILE_EMULATOR_CORE cudaError_t copy(void *to, const void *from, size_t size, int kind);
POLYTILE_EMULATOR_CORE cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                           size_t height, int kind);
POLYTILE_EMULATOR_CORE cudaError_t fill(void *to, int value, size_t size);
POLYTILE_EMULATOR_CORE cudaError_t add_variable(char *base, size_t size);
POLYTILE_EMULATOR_CORE cudaError_t describe_pointer(cudaPointerAttributes *attributes, const void *pointer);
POLYTILE_EMULATOR_CORE int context_number(void *context, unsigned long long *number);
POLYTILE_EMULATOR_CORE int address_range(unsigned long long *base, size_t *bytes, unsigned long long pointer);

#if !defined(POLYTILE_EMULATOR_APART)

inline pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;

#if !defined(POLYTILE_EMULATOR_CHECK)  // else in guarded_memory.h
inline void *new_memory(size_t size) {
  void *memory = nullptr;
  return posix_memalign(&memory, 256, size) == 0 ? memory : nullptr;
}
inline void free_memory(void *memory, size_t) { free(memory); }
#endif

struct Range {
  char *base;
  size_t size;
  cudaMemoryType type;
  bool heap;  // else a variable whose address was asked for
};

class Ranges {
 public:
  const Range *find(const void *pointer) const {
    const char *p = static_cast<const char *>(pointer);
    for (size_t i = 0; i < count_; ++i)
      if (p >= ranges_[i].base && p < ranges_[i].base + ranges_[i].size) return &ranges_[i];
    return nullptr;
  }

  bool add(const Range &range) {
    if (count_ == room_) {
      const size_t room = room_ ? 2 * room_ : 64;
      Range *more = static_cast<Range *>(realloc(ranges_, room * sizeof(Range)));
      if (!more) return false;
      ranges_ = more;
      room_ = room;
    }
    ranges_[count_++] = range;
    if (range.heap) bytes_ += range.size;
    return true;
  }

  // Frees a heap range that begins at the pointer.
  bool remove(const void *pointer) {
    for (size_t i = 0; i < count_; ++i) {
      if (ranges_[i].base != pointer || !ranges_[i].heap) continue;
      bytes_ -= ranges_[i].size;
      observer::freed(ranges_[i].base, ranges_[i].size);
      free_memory(ranges_[i].base, ranges_[i].size);
      ranges_[i] = ranges_[--count_];
      return true;
    }
    return false;
  }

  size_t bytes() const { return bytes_; }

 private:
  Range *ranges_ = nullptr;
  size_t count_ = 0, room_ = 0, bytes_ = 0;
};

inline Ranges ranges;

inline size_t memory_limit() {
  const char *text = getenv("POLYTILE_EMULATOR_MEMORY_BYTES");
  return text && *text ? strtoull(text, nullptr, 10) : ~size_t(0) / 2;
}

POLYTILE_EMULATOR_CORE cudaError_t allocate(void **pointer, size_t size, cudaMemoryType type) {
  if (!pointer) return finish(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (sticky_error != cudaSuccess || size == 0) return finish(cudaSuccess);
  Lock lock(memory_mutex);
  const size_t limit = memory_limit();
  void *memory = nullptr;
  if (size > limit || ranges.bytes() > limit - size) return finish(cudaErrorMemoryAllocation);
  if (!(memory = new_memory(size))) return finish(cudaErrorMemoryAllocation);
  if (!ranges.add({static_cast<char *>(memory), size, type, true})) {
    free_memory(memory, size);
    return finish(cudaErrorMemoryAllocation);
  }
  observer::allocated(memory, size);
  *pointer = memory;
  return finish(cudaSuccess);
}

POLYTILE_EMULATOR_CORE cudaError_t release_memory(void *pointer) {
  if (!pointer) return finish(cudaSuccess);
  Lock lock(memory_mutex);
  return finish(ranges.remove(pointer) ? cudaSuccess : cudaErrorInvalidValue);
}

// Whether `size` bytes at the pointer are inside one device allocation, where that is what is asked.
inline bool is_device_range(const void *pointer, size_t size) {
  Lock lock(memory_mutex);
  const Range *range = ranges.find(pointer);
  if (!range) return false;
  return size <= range->size - static_cast<size_t>(static_cast<const char *>(pointer) - range->base);
}

// Memory that a pointer may name: none that is partly inside a device allocation.
inline bool is_sound_range(const void *pointer, size_t size, bool device) {
  if (is_device_range(pointer, size)) return true;
  if (device) return false;
  Lock lock(memory_mutex);
  return !ranges.find(pointer);
}

inline cudaError_t check_copy(const void *to, const void *from, size_t size, int kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (size == 0) return cudaSuccess;
  if (!to || !from) return cudaErrorInvalidValue;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool sound = is_sound_range(to, size, to_device) && is_sound_range(from, size, from_device);
  return sound ? cudaSuccess : cudaErrorInvalidValue;
}

POLYTILE_EMULATOR_CORE cudaError_t copy(void *to, const void *from, size_t size, int kind) {
  const cudaError_t error = finish(check_copy(to, from, size, kind));
  if (error != cudaSuccess || !size) return error;
  memmove(to, from, size);
  observer::copied(to, from, size);
  return error;
}

POLYTILE_EMULATOR_CORE cudaError_t fill(void *to, int value, size_t size) {
  const cudaError_t error = finish(size == 0 || is_device_range(to, size) ? cudaSuccess : cudaErrorInvalidValue);
  if (error != cudaSuccess || !size) return error;
  memset(to, value, size);
  observer::filled(to, size);
  return error;
}

// The bytes from the first of a 2-D range to its last; false when that number does not exist.
inline bool extent_2d(size_t pitch, size_t width, size_t height, size_t *bytes) {
  size_t rows = 0;
  return !__builtin_mul_overflow(pitch, height - 1, &rows) && !__builtin_add_overflow(rows, width, bytes);
}

POLYTILE_EMULATOR_CORE cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                           size_t height, int kind) {
  if (width > to_pitch || width > from_pitch) return finish(cudaErrorInvalidPitchValue);
  if (width == 0 || height == 0) return finish(cudaSuccess);
  size_t to_bytes = 0, from_bytes = 0;
  if (!extent_2d(to_pitch, width, height, &to_bytes) || !extent_2d(from_pitch, width, height, &from_bytes))
    return finish(cudaErrorInvalidValue);
  cudaError_t error = check_copy(to, from, 1, kind);
  if (error == cudaSuccess && !is_sound_range(to, to_bytes, false)) error = cudaErrorInvalidValue;
  if (error == cudaSuccess && !is_sound_range(from, from_bytes, false)) error = cudaErrorInvalidValue;
  if ((error = finish(error)) != cudaSuccess) return error;
  for (size_t row = 0; row < height; ++row) {
    char *const line = static_cast<char *>(to) + row * to_pitch;
    memmove(line, static_cast<const char *>(from) + row * from_pitch, width);
    observer::copied(line, static_cast<const char *>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}

// A variable whose address was asked for.
POLYTILE_EMULATOR_CORE cudaError_t add_variable(char *base, size_t size) {
  Lock lock(memory_mutex);
  if (!ranges.find(base)) ranges.add({base, size, cudaMemoryTypeDevice, false});
  return finish(cudaSuccess);
}

POLYTILE_EMULATOR_CORE cudaError_t describe_pointer(cudaPointerAttributes *attributes, const void *pointer) {
  if (!attributes) return finish(cudaErrorInvalidValue);
  Lock lock(memory_mutex);
  const Range *range = ranges.find(pointer);
  void *address = const_cast<void *>(pointer);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  if (range) *attributes = {range->type, 0, address, range->type == cudaMemoryTypeDevice ? nullptr : address};
  return finish(cudaSuccess);
}

// The driver's cuCtxGetId.
POLYTILE_EMULATOR_CORE int context_number(void *context, unsigned long long *number) {
  if (context || !number) return 1;
  *number = contexts;
  return 0;
}

// The driver's cuMemGetAddressRange: CUDA_SUCCESS, or CUDA_ERROR_NOT_FOUND.
POLYTILE_EMULATOR_CORE int address_range(unsigned long long *base, size_t *bytes, unsigned long long pointer) {
  Lock lock(memory_mutex);
  const Range *range = ranges.find(reinterpret_cast<const void *>(pointer));
  if (!range) return 500;
  *base = reinterpret_cast<unsigned long long>(range->base);
  *bytes = range->size;
  return 0;
}

#endif

}  // namespace polytile_emulator

// Of the driver there are two functions.
inline cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **found, unsigned long long) {
  *found = nullptr;
  if (!strcmp(symbol, "cuMemGetAddressRange")) *found = reinterpret_cast<void *>(&polytile_emulator::address_range);
  if (!strcmp(symbol, "cuCtxGetId")) *found = reinterpret_cast<void *>(&polytile_emulator::context_number);
  return polytile_emulator::finish(*found ? cudaSuccess : cudaErrorInvalidSymbol);
}

template <class T>
inline cudaError_t cudaMalloc(T **pointer, size_t size) {
  return polytile_emulator::allocate(reinterpret_cast<void **>(pointer), size, cudaMemoryTypeDevice);
}
template <class T>
inline cudaError_t cudaMallocAsync(T **pointer, size_t size, cudaStream_t stream) {
  if (polytile_emulator::refused(stream)) return cudaErrorStreamCaptureUnsupported;
  return polytile_emulator::allocate(reinterpret_cast<void **>(pointer), size, cudaMemoryTypeDevice);
}
template <class T>
inline cudaError_t cudaMallocManaged(T **pointer, size_t size, unsigned = cudaMemAttachGlobal) {
  return polytile_emulator::allocate(reinterpret_cast<void **>(pointer), size, cudaMemoryTypeManaged);
}
template <class T>
inline cudaError_t cudaMallocHost(T **pointer, size_t size, unsigned = cudaHostAllocDefault) {
  return polytile_emulator::allocate(reinterpret_cast<void **>(pointer), size, cudaMemoryTypeHost);
}
// A pool keeps nothing here: what is freed must not be touched, and what leaks is found.
inline cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties) {
  if (!pool || !properties || properties->location.id != 0) return polytile_emulator::finish(cudaErrorInvalidValue);
  static CUmemPoolHandle_st only;
  *pool = &only;
  return polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void *value) {
  return polytile_emulator::finish(pool && value ? cudaSuccess : cudaErrorInvalidValue);
}
inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return polytile_emulator::finish(pool ? cudaSuccess : cudaErrorInvalidValue);
}
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return pool ? cudaMallocAsync(pointer, size, stream) : polytile_emulator::finish(cudaErrorInvalidValue);
}
inline cudaError_t cudaFree(void *pointer) { return polytile_emulator::release_memory(pointer); }
inline cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
  if (polytile_emulator::refused(stream)) return cudaErrorStreamCaptureUnsupported;
  return polytile_emulator::release_memory(pointer);
}
inline cudaError_t cudaFreeHost(void *pointer) { return polytile_emulator::release_memory(pointer); }

inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind) {
  return polytile_emulator::copy(to, from, size, kind);
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr) {
  if (polytile_emulator::refused(stream)) return cudaErrorStreamCaptureUnsupported;
  return polytile_emulator::copy(to, from, size, kind);
}
inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return polytile_emulator::copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
}
inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  if (polytile_emulator::refused(stream)) return cudaErrorStreamCaptureUnsupported;
  return polytile_emulator::copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
}
inline cudaError_t cudaMemset(void *to, int value, size_t size) { return polytile_emulator::fill(to, value, size); }
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream = nullptr) {
  if (polytile_emulator::refused(stream)) return cudaErrorStreamCaptureUnsupported;
  return polytile_emulator::fill(to, value, size);
}

template <class T>
inline cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t size, size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyHostToDevice) {
  if (offset > sizeof symbol || size > sizeof symbol - offset) return polytile_emulator::finish(cudaErrorInvalidValue);
  memcpy(const_cast<char *>(reinterpret_cast<const char *>(&symbol)) + offset, from, size);
  return polytile_emulator::finish(cudaSuccess);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t size, size_t offset = 0,
                                        cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  if (offset > sizeof symbol || size > sizeof symbol - offset) return polytile_emulator::finish(cudaErrorInvalidValue);
  memcpy(to, reinterpret_cast<const char *>(&symbol) + offset, size);
  return polytile_emulator::finish(cudaSuccess);
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol) {
  char *base = const_cast<char *>(reinterpret_cast<const char *>(&symbol));
  *pointer = base;
  return polytile_emulator::add_variable(base, sizeof symbol);
}

inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer) {
  return polytile_emulator::describe_pointer(attributes, pointer);
}

#pragma GCC visibility pop

#endif
