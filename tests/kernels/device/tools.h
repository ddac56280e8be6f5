// What all measurements share: memory, random values, comparisons, times.
#pragma once

#include "measure.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int WARM_UPS = 2, TRAINS = 7, LAUNCHES = 6;

inline void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

template <class T> class Memory {
public:
    explicit Memory(size_t count) : count_(count) { check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc"); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() { cudaFree(data_); }

    operator T *() const { return data_; }
    size_t count() const { return count_; }
    void set(int byte) { check(cudaMemset(data_, byte, count_ * sizeof(T)), "cudaMemset"); }
    void from(const T *host) { check(cudaMemcpy(data_, host, count_ * sizeof(T), cudaMemcpyHostToDevice), "copy in"); }
    void from(const Memory &other)
    {
        check(cudaMemcpy(data_, other.data_, count_ * sizeof(T), cudaMemcpyDeviceToDevice), "copy");
    }
    std::vector<T> values() const
    {
        std::vector<T> host(count_);
        check(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "copy out");
        return host;
    }

private:
    T *data_ = nullptr;
    size_t count_;
};

__host__ __device__ inline uint64_t split_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// From [-1, 1), never zero: an odd number of 2^-23 (float) or 2^-52 (double).
__host__ __device__ inline double random_value(uint64_t seed, uint64_t index, bool wide)
{
    const int bits = wide ? 52 : 23;
    const uint64_t odd = (split_mix(seed + index) >> (64 - bits - 1)) | 1;
    return ((double)odd - (double)(1ull << bits)) / (double)(1ull << bits);
}

template <class T> __global__ void fill_cells(T *to, size_t count, uint64_t seed)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        to[i] = (T)random_value(seed, i, sizeof(T) == 8);
}

template <class T> void fill(const Memory<T> &to, uint64_t seed)
{
    fill_cells<<<2048, 256>>>((T *)to, to.count(), seed);
    check(cudaGetLastError(), "random values");
}

// Milliseconds of one launch, by trains, in ascending order.
struct Times {
    std::vector<double> ms;

    double median() const { return ms[ms.size() / 2]; }
};

inline double train(const std::function<void()> &launch, useconds_t gap)
{
    cudaEvent_t begin, end;
    float ms = 0;
    check(cudaDeviceSynchronize(), "before a train");
    usleep(gap);
    check(cudaEventCreate(&begin), "an event");
    check(cudaEventCreate(&end), "an event");
    check(cudaEventRecord(begin), "an event");
    for (int i = 0; i < LAUNCHES; ++i) launch();
    check(cudaEventRecord(end), "an event");
    check(cudaEventSynchronize(end), "a train");
    check(cudaEventElapsedTime(&ms, begin, end), "the time");
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return ms / LAUNCHES;
}

// Trains of all ways take turns, so that the clock is the same for all; the device idles for `gap` us before each.
inline std::vector<Times> time_all(const std::vector<std::function<void()>> &ways, useconds_t gap)
{
    std::vector<Times> times(ways.size());
    for (const auto &way : ways)
        for (int i = 0; i < WARM_UPS; ++i) way();
    for (int i = 0; i < TRAINS; ++i)
        for (size_t k = 0; k < ways.size(); ++k) times[k].ms.push_back(train(ways[k], gap));
    for (Times &t : times) std::sort(t.ms.begin(), t.ms.end());
    return times;
}

inline uint64_t fresh_seed()
{
    std::random_device device;
    return (uint64_t)device() << 32 | device();
}

inline void prepare(const Launched &launched)
{
    if (launched.shared > 0)
        check(cudaFuncSetAttribute(launched.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launched.shared),
              "shared memory");
}

inline void print_times(const Launched &launched, const Times &times)
{
    cudaFuncAttributes of = {};
    int blocks = 0;
    check(cudaFuncGetAttributes(&of, launched.kernel), "attributes");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launched.kernel, launched.threads, launched.shared),
          "occupancy");
    std::printf("%s, \"ms_median\": %.5f, \"ms_min\": %.5f, \"ms_max\": %.5f, \"runs\": %d, \"launches\": %d", launched.head,
                times.median(), times.ms.front(), times.ms.back(), TRAINS, LAUNCHES);
    std::printf(", \"blocks\": %d, \"threads\": %d, \"blocks_per_sm\": %d, \"registers\": %d", launched.blocks,
                launched.threads, blocks, of.numRegs);
    std::printf(", \"spills_bytes\": %zu, \"shared_bytes\": %zu", of.localSizeBytes, of.sharedSizeBytes + launched.shared);
}

// Runs a measurement; what it throws is the line.
inline void report(const Launched &launched, const std::function<void()> &measurement)
{
    try {
        measurement();
    } catch (const std::exception &error) {
        std::printf("%s, \"error\": \"%s\"}\n", launched.head, error.what());
    }
    std::fflush(stdout);
}
