// CUDA's calls that the driver of an export makes, on the host: device memory is host memory.
#pragma once

#include <cstdlib>
#include <cstring>

using cudaError_t = int;
using cudaEvent_t = int;
struct cudaLaunchConfig_t {};
struct cudaDeviceProp {
    char name[8] = "host";
};
enum { cudaSuccess, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

template <typename T> int cudaMalloc(T **pointer, std::size_t bytes)
{
    *pointer = static_cast<T *>(std::malloc(bytes));
    return cudaSuccess;
}

inline int cudaFree(void *pointer)
{
    std::free(pointer);
    return cudaSuccess;
}

inline int cudaMemcpy(void *to, const void *from, std::size_t bytes, int)
{
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}

inline int cudaRuntimeGetVersion(int *version)
{
    *version = 0;
    return cudaSuccess;
}

inline int cudaGetDeviceProperties(cudaDeviceProp *, int) { return cudaSuccess; }
inline int cudaDeviceSynchronize() { return cudaSuccess; }
inline const char *cudaGetErrorString(int) { return "an error"; }
inline int cudaEventElapsedTime(float *, int, int) { return cudaSuccess; }
template <typename... Arguments> int cudaLaunchKernelEx(Arguments...) { return cudaSuccess; }
