// CUDA graphs: what is launched on a stream that captures is kept, with its arguments, and runs when the graph does.
#ifndef POLYTILE_EMULATOR_GRAPH_H
#define POLYTILE_EMULATOR_GRAPH_H

#pragma GCC visibility push(hidden)

namespace polytile_emulator {

struct GraphNode {
  GraphNode *next;
  Launch launch;
  Body body;  // with arguments of its own
};

inline void *copied(const void *from, size_t size) {
  void *const to = malloc(size ? size : 1);
  return to ? memcpy(to, from, size) : nullptr;
}

}  // namespace polytile_emulator

struct __attribute__((visibility("default"))) CUgraph_st {
  polytile_emulator::GraphNode *first, *last;
  size_t nodes;
  unsigned owners;  // the graph, and what it was instantiated to
};
struct __attribute__((visibility("default"))) CUgraphExec_st {
  CUgraph_st *graph;
};
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2
};

namespace polytile_emulator {

inline void give_up(CUgraph_st *graph) {
  if (--graph->owners > 0) return;
  for (GraphNode *node = graph->first, *next; node; node = next) {
    next = node->next;
    free(const_cast<void *>(node->body.self));
    free(const_cast<void **>(node->body.pointers));
    free(node);
  }
  free(graph);
}

#if !defined(POLYTILE_EMULATOR_APART)
inline cudaError_t record(CUgraph_st *graph, const Launch &launch, const Body &body) {
  GraphNode *const node = static_cast<GraphNode *>(malloc(sizeof(GraphNode)));
  if (!node) return cudaErrorMemoryAllocation;
  *node = {nullptr, launch, body};
  node->body.self = copied(body.self, body.size);
  node->body.pointers =
      static_cast<const void *const *>(copied(body.pointers, (body.parameters + 1) * sizeof *body.pointers));
  (graph->last ? graph->last->next : graph->first) = node;
  graph->last = node;
  ++graph->nodes;
  return node->body.self && node->body.pointers ? cudaSuccess : cudaErrorMemoryAllocation;
}
#endif

}  // namespace polytile_emulator

inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  using namespace polytile_emulator;
  if (!stream) return finish(cudaErrorStreamCaptureUnsupported);  // the stream that all others wait for
  if (stream->capture) return finish(cudaErrorIllegalState);
  stream->capture = static_cast<CUgraph_st *>(calloc(1, sizeof(CUgraph_st)));
  if (!stream->capture) return finish(cudaErrorMemoryAllocation);
  stream->capture->owners = 1;
  return finish(cudaSuccess);
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  using namespace polytile_emulator;
  if (!graph) return finish(cudaErrorInvalidValue);
  *graph = nullptr;
  if (!is_capturing(stream)) return finish(cudaErrorIllegalState);
  *graph = stream->capture;
  stream->capture = nullptr;
  return finish(cudaSuccess);
}

inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
  using namespace polytile_emulator;
  if (!executable || !graph) return finish(cudaErrorInvalidValue);
  *executable = static_cast<cudaGraphExec_t>(malloc(sizeof **executable));
  if (!*executable) return finish(cudaErrorMemoryAllocation);
  (*executable)->graph = graph;
  ++graph->owners;
  return finish(cudaSuccess);
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags = 0) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  using namespace polytile_emulator;
  if (!executable) return finish(cudaErrorInvalidValue);
  if (is_capturing(stream)) return finish(cudaErrorNotSupported);  // graphs within graphs
  cudaError_t error = cudaSuccess;
  for (const GraphNode *node = executable->graph->first; node && error == cudaSuccess; node = node->next)
    error = run_checked(node->launch, node->body);
  return error;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (!graph) return polytile_emulator::finish(cudaErrorInvalidValue);
  polytile_emulator::give_up(graph);
  return polytile_emulator::finish(cudaSuccess);
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  if (!executable) return polytile_emulator::finish(cudaErrorInvalidValue);
  polytile_emulator::give_up(executable->graph);
  free(executable);
  return polytile_emulator::finish(cudaSuccess);
}

#pragma GCC visibility pop

#endif
