// Runs one compiled SCoP on the GPU: checks it against the sequential C, then times it with the data on the device.
//
// The generated code measures its own kernels with CUDA events when POLYTILE_TIMING is set; the macros at the end let
// this file read that time and count the launches. Included before the generated .cu.
#pragma once

#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

// ---- What the generated code reports ------------------------------------------------------------------------------

inline long long launches = 0;
inline float kernel_ms = -1;

template <typename Kernel, typename... Arguments>
cudaError_t launch(const cudaLaunchConfig_t *config, Kernel kernel, Arguments... arguments)
{
    ++launches;
    return cudaLaunchKernelEx(config, kernel, arguments...);
}

inline cudaError_t elapsed(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    const cudaError_t status = cudaEventElapsedTime(ms, begin, end);
    kernel_ms = *ms;
    return status;
}

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

template <typename T> using Wide = std::conditional_t<std::is_floating_point_v<T>, long double, T>;

// ---- Arrays -------------------------------------------------------------------------------------------------------

struct Use {
    bool live_in, live_out, written, value;
};

struct Difference {
    double error = 0, scale = 0, tolerance = 0;
    long long bad = 0, first = -1, elements = 0;
};

class AnyArray {
public:
    AnyArray(std::string array, Use how) : name(std::move(array)), use(how) {}
    virtual ~AnyArray() = default;
    virtual void fill(std::uint64_t seed, Style style) = 0;
    virtual void start_wide() = 0;
    virtual bool tame() const = 0;
    virtual double largest_input() const = 0;
    virtual double own_error() const = 0;  // of the sequential result, seen from the wide one
    virtual double largest_result() const = 0;
    virtual long long elements() const = 0;
    virtual void upload() = 0;
    virtual void download() = 0;
    virtual void restore() = 0;
    virtual Difference compare(double tolerance) const = 0;

    const std::string name;
    const Use use;
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
        if (use.live_in && std::is_floating_point_v<T> && rank >= 2 && shape[rank - 1] == shape[rank - 2]) dominate();
        after = before;
    }

    void start_wide() override { exact.assign(before.begin(), before.end()); }

    bool tame() const override
    {
        if constexpr (std::is_floating_point_v<T>)
            for (const T &x : after)
                if (!std::isfinite(x) && !(untouched(x) && !use.live_in)) return false;
        return true;
    }

    double largest_input() const override { return largest(before); }
    double largest_result() const override { return largest(after); }
    long long elements() const override { return count / width; }

    double own_error() const override
    {
        double worst = 0;
        if constexpr (std::is_floating_point_v<T>)
            for (long long i = 0; i < count; ++i) {
                const double error = (double)std::fabs((long double)after[i] - exact[i]);
                if (std::isfinite(error)) worst = std::max(worst, error);
            }
        return worst;
    }

    void upload() override
    {
        if (use.value) return;
        check(cudaMalloc(&original, bytes() + 1), "cudaMalloc");
        check(cudaMalloc(&on_device, bytes() + 1), "cudaMalloc");
        check(cudaMemcpy(original, before.data(), bytes(), cudaMemcpyHostToDevice), "copy to the device");
    }

    void restore() override
    {
        if (!use.value) check(cudaMemcpy(on_device, original, bytes(), cudaMemcpyDeviceToDevice), "copy on the device");
    }

    void download() override
    {
        result.resize(count);
        if (!use.value) check(cudaMemcpy(result.data(), on_device, bytes(), cudaMemcpyDeviceToHost), "copy to the host");
    }

    Difference compare(double tolerance) const override
    {
        Difference found;
        found.tolerance = tolerance;
        found.elements = count;
        for (long long i = 0; i < count; ++i) {
            if (!use.live_in && untouched(after[i])) continue;
            if (std::memcmp(&after[i], &result[i], sizeof(T)) == 0) continue;
            const double error = distance(after[i], result[i]);
            if (error > tolerance || (error > 0 && !std::is_floating_point_v<T>)) {
                if (found.bad++ == 0) found.first = i;
            }
            found.error = std::max(found.error, error);
        }
        found.scale = largest(after);
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
        if (style == Style::signed_values && (bits & 1)) x = -x;
        if (style == Style::small) x /= 1024;
        if (shape.size() == 1) x /= (double)std::max(1ll, shape[0]);
        return (T)x;
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
    T *on_device = nullptr, *original = nullptr;
};

// ---- One SCoP -----------------------------------------------------------------------------------------------------

struct Times {
    double kernels = 0, spread = 0, sequential = 0, in = 0, out = 0, first = 0;
    long long launches = 0;
    std::string arrays;
};

struct Scop {
    const char *name;
    double chain;  // steps that follow one another in computing one element
    double unit;   // of rounding
    std::vector<AnyArray *> arrays;
    std::function<void()> sequential, wide;
    std::function<int()> device;
};

constexpr int warm_ups = 2;
constexpr double wide_seconds = 300;  // a reference slower than this is not run again in long double

inline double run_sequential(const Scop &scop, std::uint64_t seed, Style style)
{
    for (std::size_t i = 0; i < scop.arrays.size(); ++i) scop.arrays[i]->fill(seed + 1000003 * i, style);
    const double start = now();
    scop.sequential();
    return now() - start;
}

inline bool tame(const Scop &scop)
{
    double before = 1, after = 0;
    long long elements = 1;
    for (const AnyArray *a : scop.arrays) {
        if (!a->tame()) return false;
        before = std::max(before, a->largest_input());
        after = std::max(after, a->largest_result());
        elements = std::max(elements, a->elements());
    }
    return after <= 1000.0 * (double)elements * before;
}

// How slow the sequential C may be for its rounding error to be measured: POLYTILE_WIDE_SECONDS, or the default.
inline double most_seconds()
{
    const char *text = std::getenv("POLYTILE_WIDE_SECONDS");
    if (text == nullptr || *text == '\0') return wide_seconds;
    char *end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end != '\0' || !(value >= 0)) fail(std::string("POLYTILE_WIDE_SECONDS is no number of seconds: ") + text);
    return value;
}

// From the rounding error of the sequential C itself, measured by running it in long double too.
inline std::vector<double> tolerances(const Scop &scop, double seconds)
{
    const bool measured = seconds < most_seconds() && scop.wide != nullptr;
    if (measured) {
        for (AnyArray *a : scop.arrays) a->start_wide();
        scop.wide();
    }
    std::vector<double> found;
    for (const AnyArray *a : scop.arrays) {
        const double floor = scop.unit * a->largest_result() * std::sqrt(scop.chain);
        found.push_back(!a->use.written ? 0 : measured ? 8 * a->own_error() + 4 * floor : 64 * floor);
    }
    return found;
}

inline void run_once(const Scop &scop)
{
    kernel_ms = -1;
    if (scop.device() != 0) fail(std::string(scop.name) + " failed on the GPU");
    if (kernel_ms < 0) fail(std::string(scop.name) + " reported no time");
}

inline void compare(const Scop &scop, const std::vector<double> &allowed, Times &times)
{
    const double start = now();
    for (AnyArray *a : scop.arrays)
        if (a->use.live_out && !a->use.value) a->download();
    times.out += 1e3 * (now() - start);
    for (std::size_t i = 0; i < scop.arrays.size(); ++i) {
        const AnyArray &a = *scop.arrays[i];
        if (!a.use.live_out || a.use.value) continue;
        const Difference d = a.compare(allowed[i]);
        if (d.bad > 0)
            fail(std::string(scop.name) + ": " + std::to_string(d.bad) + " of " + std::to_string(d.elements) +
                 " elements of " + a.name + " differ from the sequential C, the first is number " +
                 std::to_string(d.first) + "; largest error " + std::to_string(d.error));
        if (!a.use.written) continue;
        char text[400];
        std::snprintf(text, sizeof text, "%s{\"array\": \"%s\", \"max_error\": %.3g, \"tolerance\": %.3g, \"scale\": %.3g}",
                      times.arrays.empty() ? "" : ", ", a.name.c_str(), d.error, d.tolerance, d.scale);
        times.arrays += text;
    }
}

// The GPU for one program at a time, when programs run side by side: the lock of the file that POLYTILE_GPU_LOCK names.
class GpuTurn {
public:
    GpuTurn()
    {
        const char *path = std::getenv("POLYTILE_GPU_LOCK");
        if (path == nullptr) return;
        file = open(path, O_CREAT | O_RDWR, 0666);
        if (file < 0 || flock(file, LOCK_EX) != 0) fail(std::string("cannot lock ") + path);
    }

    GpuTurn(const GpuTurn &) = delete;
    GpuTurn &operator=(const GpuTurn &) = delete;

    ~GpuTurn()
    {
        if (file >= 0) close(file);
    }

private:
    int file = -1;
};

inline void run(const Scop &scop, std::uint64_t seed, int runs, Times &times)
{
    double seconds = run_sequential(scop, seed, Style::signed_values);
    for (Style style : {Style::positive, Style::small}) {
        if (tame(scop)) break;
        seconds = run_sequential(scop, seed, style);
    }
    const std::vector<double> allowed = tolerances(scop, seconds);
    times.sequential += 1e3 * seconds;

    const GpuTurn turn;
    double start = now();
    for (AnyArray *a : scop.arrays) a->upload();
    times.in += 1e3 * (now() - start);
    std::vector<double> found;
    for (int i = 0; i < warm_ups + runs; ++i) {
        for (AnyArray *a : scop.arrays) a->restore();
        check(cudaDeviceSynchronize(), "copy on the device");
        launches = 0;
        start = now();
        run_once(scop);
        if (i == 0) {
            times.first += now() - start;
            times.launches += launches;
            compare(scop, allowed, times);
        }
        if (i >= warm_ups) found.push_back(kernel_ms);
    }
    std::sort(found.begin(), found.end());
    const std::size_t half = found.size() / 2;
    const double median = found.size() % 2 ? found[half] : (found[half - 1] + found[half]) / 2;
    times.kernels += median;
    if (median > 0) times.spread = std::max(times.spread, (found.back() - found.front()) / median);
}

inline void print(const Times &t, int runs)
{
    cudaDeviceProp properties = {};
    int version = 0;
    check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's name");
    check(cudaRuntimeGetVersion(&version), "asking for the version");
    std::printf("\"median_ms\": %.6f, \"spread\": %.4f, \"runs\": %d, \"launches\": %lld, \"transfer_in_ms\": %.4f, "
                "\"transfer_out_ms\": %.4f, \"first_s\": %.4f, \"sequential_ms\": %.4f, \"gpu\": \"%s\", \"cuda\": %d, "
                "\"way\": \"nvcc\", \"validated\": [%s]\n",
                t.kernels, t.spread, runs, t.launches, t.in, t.out, t.first, t.sequential, properties.name, version,
                t.arrays.c_str());
}

inline void start()
{
    setenv("POLYTILE_TIMING", "1", 1);
    check(cudaFree(nullptr), "starting CUDA");
}

}  // namespace bench

#define cudaLaunchKernelEx bench::launch
#define cudaEventElapsedTime bench::elapsed
