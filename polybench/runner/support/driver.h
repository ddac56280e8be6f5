// Runs one compiled SCoP on the GPU: checks it against the sequential C, then times it with the data on the device.
//
// The generated code measures its own kernels with CUDA events when POLYTILE_TIMING is set; the macros at the end let
// this file read that time and count the launches. Included before the generated .cu.
#pragma once

#include "arrays.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <functional>

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

constexpr int warm_ups = 2, most_warm_ups = 200;
constexpr double warm_up_seconds = 0.1;  // an idle GPU takes that long to reach its clocks
constexpr double wide_seconds = 300;  // a reference slower than this is not run again in long double

inline double run_sequential(const Scop &scop, std::uint64_t seed, Style style)
{
    for (std::size_t i = 0; i < scop.arrays.size(); ++i) scop.arrays[i]->fill(seed + 1000003 * i, style);
    const double start = now();
    scop.sequential();
    return now() - start;
}

inline bool finite(const Scop &scop)
{
    return std::all_of(scop.arrays.begin(), scop.arrays.end(), [](const AnyArray *a) { return a->finite(); });
}

inline bool grows(const Scop &scop)
{
    double before = 1, after = 0;
    long long elements = 1;
    for (const AnyArray *a : scop.arrays) {
        before = std::max(before, a->largest_input());
        after = std::max(after, a->largest_result());
        elements = std::max(elements, a->elements());
    }
    return after > 1000.0 * (double)elements * before;
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
inline void set_tolerances(const Scop &scop, double seconds)
{
    const bool measured = seconds < most_seconds() && scop.wide != nullptr;
    if (measured) {
        for (AnyArray *a : scop.arrays) a->start_wide();
        scop.wide();
    }
    for (AnyArray *a : scop.arrays) {
        const double floor = scop.unit * a->largest_result() * std::sqrt(scop.chain);
        if (!a->use.written)
            a->allow(0);
        else if (measured)
            a->allow_own_error(4 * floor);
        else
            a->allow(64 * floor);
    }
}

inline bool determined(const Scop &scop)
{
    for (const AnyArray *a : scop.arrays)
        if (a->use.live_out && a->use.written && 2 * a->undetermined() > a->elements()) return false;
    return true;
}

// Choose data, run the sequential C on them and set the tolerances; returns the seconds that the sequential C takes.
inline double prepare(const Scop &scop, std::uint64_t seed)
{
    for (Style style : {Style::signed_values, Style::positive, Style::small}) {
        const double seconds = run_sequential(scop, seed, style);
        if (!finite(scop) || (grows(scop) && style != Style::small)) continue;
        set_tolerances(scop, seconds);
        if (determined(scop)) return seconds;
    }
    fail(std::string(scop.name) + ": no random data were found on which the sequential C stays finite and is more than "
                                  "rounding noise; the program's table can say how data are drawn");
}

inline void run_once(const Scop &scop)
{
    kernel_ms = -1;
    if (scop.device() != 0) fail(std::string(scop.name) + " failed on the GPU");
    if (kernel_ms < 0) fail(std::string(scop.name) + " reported no time");
}

inline void compare(const Scop &scop, Times &times)
{
    const double start = now();
    for (AnyArray *a : scop.arrays)
        if (a->use.live_out && !a->use.value) a->download();
    times.out += 1e3 * (now() - start);
    for (const AnyArray *array : scop.arrays) {
        const AnyArray &a = *array;
        if (!a.use.live_out || a.use.value) continue;
        const Difference d = a.compare();
        if (d.bad > 0)
            fail(std::string(scop.name) + ": " + std::to_string(d.bad) + " of " + std::to_string(d.elements) +
                 " elements of " + a.name + " differ from the sequential C, the first is number " +
                 std::to_string(d.first) + "; largest error " + std::to_string(d.error));
        if (!a.use.written) continue;
        char text[400];
        std::snprintf(text, sizeof text, "%s{\"array\": \"%s\", \"max_error\": %.3g, \"tolerance\": %.3g, \"scale\": %.3g",
                      times.arrays.empty() ? "" : ", ", a.name.c_str(), d.error, d.tolerance, d.scale);
        times.arrays += text;
        if (d.undetermined > 0) times.arrays += ", \"undetermined\": " + std::to_string(d.undetermined);
        times.arrays += "}";
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
    const double seconds = prepare(scop, seed);
    times.sequential += 1e3 * seconds;

    const GpuTurn turn;
    double start = now();
    for (AnyArray *a : scop.arrays) a->upload();
    times.in += 1e3 * (now() - start);
    std::vector<double> found;
    double warm_since = now();
    for (int i = 0; (int)found.size() < runs; ++i) {
        for (AnyArray *a : scop.arrays) a->restore();
        check(cudaDeviceSynchronize(), "copy on the device");
        launches = 0;
        start = now();
        run_once(scop);
        const bool cold = i < warm_ups || (i < most_warm_ups && now() - warm_since < warm_up_seconds);
        if (i == 0) {
            times.first += now() - start;
            times.launches += launches;
            compare(scop, times);
            warm_since = now();
        } else if (!cold || !found.empty()) {
            found.push_back(kernel_ms);
        }
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
