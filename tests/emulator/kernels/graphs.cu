// Captured launches: what runs when, and what cannot be captured. Each run_ function returns 0, or what went wrong.
#include <cuda_runtime.h>

extern "C" __global__ void add(int *total, int value, double scale)
{
    if (threadIdx.x == 0) atomicAdd(total, (int)(value * scale));
}

extern "C" __global__ void twice(int *total)
{
    __shared__ int seen;
    if (threadIdx.x == 0) seen = *total;
    __syncthreads();
    if (threadIdx.x == 31) *total = 2 * seen;
}

static cudaLaunchConfig_t on(cudaStream_t stream, unsigned blocks = 1)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(32);
    config.stream = stream;
    return config;
}

struct Memory {
    int *total = nullptr;
    cudaStream_t stream = nullptr;
    Memory()
    {
        cudaMalloc(&total, sizeof *total);
        cudaMemset(total, 0, sizeof *total);
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    }
    ~Memory()
    {
        cudaFree(total);
        cudaStreamDestroy(stream);
    }
    int value() const
    {
        int found = -1;
        cudaMemcpy(&found, total, sizeof found, cudaMemcpyDeviceToHost);
        return found;
    }
};

#define EXPECT(condition) \
    if (!(condition)) return __LINE__

extern "C" int run_replay()
{
    Memory memory;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    EXPECT(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    int value = 3;
    cudaLaunchConfig_t config = on(memory.stream, 2);
    EXPECT(cudaLaunchKernelEx(&config, add, memory.total, value, 1.5) == cudaSuccess);
    value = 100;  // arguments are those of the call
    config = on(memory.stream);
    EXPECT(cudaLaunchKernelEx(&config, twice, memory.total) == cudaSuccess);
    EXPECT(memory.value() == 0);  // nothing has run
    EXPECT(cudaStreamEndCapture(memory.stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiateWithFlags(&executable, graph, 0) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);  // what was made of it stays
    EXPECT(memory.value() == 0);
    EXPECT(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
    EXPECT(memory.value() == 2 * (4 + 4));
    EXPECT(cudaGraphLaunch(executable, memory.stream) == cudaSuccess);
    EXPECT(memory.value() == 2 * (16 + 4 + 4));
    config = on(memory.stream);
    EXPECT(cudaLaunchKernelEx(&config, add, memory.total, 1, 1.0) == cudaSuccess);  // the stream captures no more
    EXPECT(memory.value() == 49);
    EXPECT(cudaGraphExecDestroy(executable) == cudaSuccess);
    return 0;
}

extern "C" int run_empty()
{
    Memory memory;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    EXPECT(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    EXPECT(cudaStreamEndCapture(memory.stream, &graph) == cudaSuccess && graph);
    EXPECT(cudaGraphInstantiate(&executable, graph) == cudaSuccess);
    EXPECT(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
    EXPECT(cudaGraphExecDestroy(executable) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    return 0;
}

extern "C" int run_misuse()
{
    Memory memory;
    cudaGraph_t graph = nullptr;
    EXPECT(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(memory.stream, &graph) == cudaErrorIllegalState && !graph);
    EXPECT(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    EXPECT(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeGlobal) == cudaErrorIllegalState);
    EXPECT(cudaStreamSynchronize(memory.stream) == cudaErrorStreamCaptureUnsupported);
    int value = 0;
    EXPECT(cudaMemcpyAsync(&value, memory.total, sizeof value, cudaMemcpyDeviceToHost, memory.stream) ==
           cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaMemsetAsync(memory.total, 0, sizeof value, memory.stream) == cudaErrorStreamCaptureUnsupported);
    cudaLaunchConfig_t config = on(memory.stream, 0);
    EXPECT(cudaLaunchKernelEx(&config, twice, memory.total) == cudaErrorInvalidValue);  // said when it is recorded
    EXPECT(cudaStreamEndCapture(memory.stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(cudaGraphLaunch(nullptr, nullptr) == cudaErrorInvalidValue);
    EXPECT(cudaGraphDestroy(nullptr) == cudaErrorInvalidValue && cudaGraphExecDestroy(nullptr) == cudaErrorInvalidValue);
    cudaGetLastError();
    return 0;
}

// A recorded kernel reads memory that was freed meanwhile.
extern "C" int run_freed()
{
    Memory memory;
    int *gone = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    EXPECT(cudaMalloc(&gone, sizeof *gone) == cudaSuccess);
    EXPECT(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    const cudaLaunchConfig_t config = on(memory.stream);
    EXPECT(cudaLaunchKernelEx(&config, twice, gone) == cudaSuccess);
    EXPECT(cudaStreamEndCapture(memory.stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&executable, graph) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(cudaFree(gone) == cudaSuccess);
    const cudaError_t error = cudaGraphLaunch(executable, nullptr);
    cudaGraphExecDestroy(executable);
    return error;
}
