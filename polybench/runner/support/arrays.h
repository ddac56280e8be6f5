// The arrays of a program: how they are filled, moved and compared.
#pragma once

#include "tolerance.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

// ---- Failures, time, random numbers -------------------------------------------------------------------------------

[[noreturn]] inline void fail(const std::string &reason)
{
    std::string text = reason;
    for (char &c : text)
        if (c == '"' || c == '\\' || (unsigned char)c < ' ') c = '\'';
    std::printf("\"error\": \"%s\"\n", text.c_str());
    std::exit(3);
}

inline void check(cudaError_t status, const char *action)
{
    if (status != cudaSuccess) fail(std::string(action) + ": " + cudaGetErrorString(status));
}

inline double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// SplitMix64: the same numbers on every machine, whatever the order they are asked for.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position)
{
    std::uint64_t x = seed * 0xd1342543de82ef95u + (position + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

enum class Style { signed_values, positive, small };

// The value of an element from a random number of [0.5, 1.5) and its indices.
using Draw = double (*)(double x, const long long *at);

template <typename T> using Wide = std::conditional_t<std::is_floating_point_v<T>, long double, T>;

// Copies leave the device's cache full of what it has yet to write to memory, and the kernels behind them would wait for
// that; it is written once as many other bytes have been read.
constexpr std::size_t cache_bytes = 64 << 20;
#ifdef __CUDACC__
__global__ void read_words(const unsigned *words, std::size_t count, unsigned *sink)
{
    unsigned sum = 0;
    for (std::size_t i = blockIdx.x * 1024 + threadIdx.x; i < count; i += gridDim.x * 1024) sum ^= words[i];
    if (sum == 0x9e3779b9u) *sink = sum;  // so that the loads are not left out
}

inline void read_all(const void *memory, std::size_t bytes)
{
    static unsigned *sink = nullptr;
    if (sink == nullptr) check(cudaMalloc(&sink, sizeof *sink), "cudaMalloc");
    read_words<<<1024, 1024>>>((const unsigned *)memory, bytes / sizeof *sink, sink);
    check(cudaGetLastError(), "reading the device's memory");
}
#else
inline void read_all(const void *, std::size_t) {}
#endif

// ---- Arrays -------------------------------------------------------------------------------------------------------

struct Use {
    bool live_in, live_out, written, value;
};

struct Difference {
    double error = 0, scale = 0, tolerance = 0;  // the tolerance of what the data determine
    long long bad = 0, first = -1, elements = 0, undetermined = 0;
};

constexpr double noise = 0.01;  // an element that may be further off, as a part of the largest one, is undetermined

class AnyArray {
public:
    AnyArray(std::string array, Use how) : name(std::move(array)), use(how) {}
    virtual ~AnyArray() = default;
    virtual void fill(std::uint64_t seed, Style style) = 0;
    virtual void start_wide() = 0;
    virtual void allow(double everywhere) = 0;
    virtual void allow_own_error(double everywhere) = 0;  // of the sequential result, seen from the wide one
    virtual bool finite() const = 0;
    virtual double largest_input() const = 0;
    virtual double largest_result() const = 0;
    virtual long long elements() const = 0;
    virtual long long undetermined() const = 0;
    virtual void upload() = 0;
    virtual void download() = 0;
    virtual void restore() = 0;
    virtual Difference compare() const = 0;

    const std::string name;
    const Use use;
    Draw draw = nullptr;  // what the program's table says of the data; else they are of a style
};

template <typename T> class Array : public AnyArray {
public:
    // `members` scalars make an element (a struct has several); element 0 comes after `lead` others.
    Array(std::string array, std::vector<long long> extents, long long lead, int members, Use how)
        : AnyArray(std::move(array), how), shape(std::move(extents)), skipped(lead * members), width(members)
    {
        count = members;
        for (long long extent : shape) count *= extent;
    }

    ~Array() override
    {
        cudaFree(on_device);
        cudaFree(original);
    }

    T *host() { return after.data() + skipped; }
    T *device() { return on_device + skipped; }
    T value() const { return before[0]; }
    Wide<T> *wide() { return exact.data() + skipped; }
    Wide<T> wide_value() const { return exact[0]; }

    void fill(std::uint64_t seed, Style style) override
    {
        before.resize(count);
        for (long long i = 0; i < count; ++i) before[i] = use.live_in ? random_value(seed, i, style) : poison();
        const std::size_t rank = shape.size();
        const bool square = rank >= 2 && shape[rank - 1] == shape[rank - 2];
        if (use.live_in && std::is_floating_point_v<T> && square && draw == nullptr) dominate();
        after = before;
    }

    void start_wide() override { exact.assign(before.begin(), before.end()); }

    bool finite() const override
    {
        if constexpr (std::is_floating_point_v<T>)
            for (const T &x : after)
                if (!std::isfinite(x) && !(untouched(x) && !use.live_in)) return false;
        return true;
    }

    double largest_input() const override { return largest(before); }
    double largest_result() const override { return largest(after); }
    long long elements() const override { return count / width; }

    void allow(double everywhere) override { allowed = Tolerance(everywhere); }

    void allow_own_error(double everywhere) override
    {
        std::vector<long long> extents = shape;
        extents.push_back(width);
        allowed = Tolerance(everywhere, std::move(extents));
        if constexpr (std::is_floating_point_v<T>)
            for (long long i = 0; i < count; ++i) {
                const double error = (double)std::fabs((long double)after[i] - exact[i]);
                if (std::isfinite(error) && error > 0) allowed.note(i, error);
            }
    }

    long long undetermined() const override
    {
        const double limit = noise * largest_result();
        long long found = 0;
        if (std::is_floating_point_v<T> && allowed.most() > limit)
            for (long long i = 0; i < count; ++i) found += allowed.at(i) > limit;
        return found;
    }

    void upload() override
    {
        if (use.value) return;
        check(cudaMalloc(&original, bytes() + 1), "cudaMalloc");
        check(cudaMalloc(&on_device, bytes() + 1), "cudaMalloc");
        check(cudaMemcpy(original, before.data(), bytes(), cudaMemcpyHostToDevice), "copy to the device");
        check(cudaMemcpy(on_device, original, bytes(), cudaMemcpyDeviceToDevice), "copy on the device");
    }

    void restore() override
    {
        if (use.value || !use.written) return;
        check(cudaMemcpy(on_device, original, bytes(), cudaMemcpyDeviceToDevice), "copy on the device");
        if (bytes() >= cache_bytes) read_all(original, bytes());
    }

    void download() override
    {
        result.resize(count);
        if (!use.value) check(cudaMemcpy(result.data(), on_device, bytes(), cudaMemcpyDeviceToHost), "copy to the host");
    }

    Difference compare() const override
    {
        Difference found;
        found.elements = count;
        found.scale = largest_result();
        found.undetermined = undetermined();
        found.tolerance = found.undetermined > 0 ? 0 : allowed.most();
        for (long long i = 0; i < count; ++i) {
            if (!use.live_in && untouched(after[i])) continue;
            if (std::memcmp(&after[i], &result[i], sizeof(T)) == 0) continue;
            const double error = distance(after[i], result[i]), most = allowed.at(i);
            if (error > most || (error > 0 && !std::is_floating_point_v<T>)) {
                if (found.bad++ == 0) found.first = i;
            }
            if (found.undetermined > 0 && most > noise * found.scale) continue;
            found.error = std::max(found.error, error);
            found.tolerance = std::max(found.tolerance, most);
        }
        return found;
    }

private:
    std::size_t bytes() const { return (std::size_t)count * sizeof(T); }

    static T poison()
    {
        T x;
        std::memset(&x, std::is_floating_point_v<T> ? 0xff : 0xa5, sizeof x);
        return x;
    }

    static bool untouched(const T &x)
    {
        const T p = poison();
        return std::memcmp(&x, &p, sizeof p) == 0;
    }

    T random_value(std::uint64_t seed, long long position, Style style) const
    {
        const std::uint64_t bits = random_bits(seed, (std::uint64_t)position);
        if constexpr (std::is_same_v<T, bool>) return bits & 1;
        if constexpr (!std::is_floating_point_v<T>) return (T)(1 + bits % 9);
        double x = 0.5 + (double)(bits >> 11) / 9007199254740992.0;
        if (draw != nullptr) return (T)draw(x, indices(position).data());
        if (style == Style::signed_values && (bits & 1)) x = -x;
        if (style == Style::small) x /= 1024;
        if (shape.size() == 1) x /= (double)std::max(1ll, shape[0]);
        return (T)x;
    }

    std::vector<long long> indices(long long position) const
    {
        std::vector<long long> at(shape.size());
        position /= width;
        for (std::size_t d = shape.size(); d-- > 0; position /= shape[d]) at[d] = position % shape[d];
        return at;
    }

    // A dominant diagonal in each square matrix: factorisations and solvers stay finite.
    void dominate()
    {
        const long long n = shape.back(), matrix = n * n * width;
        for (long long start = 0; n > 0 && start < count; start += matrix)
            for (long long i = 0; i < n; ++i)
                for (int m = 0; m < width; ++m) {
                    T &x = before[start + (i * n + i) * width + m];
                    x = (T)(std::fabs((double)x) + 2.0 * (double)n);
                }
    }

    static double distance(T expected, T actual)
    {
        if constexpr (std::is_floating_point_v<T>)
            if (std::isnan(expected) && std::isnan(actual)) return 0;
        if (expected == actual) return 0;
        const double error = (double)std::fabs((long double)expected - (long double)actual);
        return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    }

    static double largest(const std::vector<T> &data)
    {
        double found = 0;
        if constexpr (std::is_floating_point_v<T>)
            for (const T &x : data)
                if (std::isfinite(x)) found = std::max(found, std::fabs((double)x));
        return found;
    }

    const std::vector<long long> shape;
    const long long skipped;
    const int width;
    long long count = 0;
    std::vector<T> before, after, result;
    std::vector<Wide<T>> exact;
    Tolerance allowed;
    T *on_device = nullptr, *original = nullptr;
};

}  // namespace bench
