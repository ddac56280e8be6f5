// Heap memory that host and GPU share: what a program gets from here is used in place by its kernels.
//
// C files of the program are compiled with -Dmalloc=polytile_managed_malloc and so on; the declarations of <stdlib.h>
// then declare these functions. Small blocks, and those for which there is no managed memory, are plain ones.
#include <cuda_runtime.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace {

constexpr size_t SMALLEST = 65536;  // bytes: copies of less take no longer than a launch
constexpr size_t ALIGNMENT = 256;   // of managed memory, at least

struct Block {
    void *base;
    size_t bytes;
};

struct Heap {
    std::mutex mutex;
    std::unordered_map<void *, Block> blocks;

    Heap();
};

// Never destroyed: what runs at the end of the program may still free memory.
Heap &heap()
{
    static Heap &only = *new Heap;
    return only;
}

// A process that is forked finds the table whole, and nothing locked by a thread that it does not have.
Heap::Heap()
{
    pthread_atfork([] { heap().mutex.lock(); }, [] { heap().mutex.unlock(); }, [] { heap().mutex.unlock(); });
}

// A managed block, or a null pointer where it is small or there is none.
void *managed(size_t bytes, size_t alignment)
{
    const size_t more = alignment > ALIGNMENT ? alignment : 0;
    if (bytes < SMALLEST || bytes > SIZE_MAX - more) return nullptr;
    void *base = nullptr;
    if (cudaMallocManaged(&base, bytes + more) != cudaSuccess) {
        cudaGetLastError();  // it is not the program's
        return nullptr;
    }
    void *memory = base;
    if (more != 0) memory = (void *)(((uintptr_t)base + more - 1) / more * more);
    const std::lock_guard<std::mutex> lock(heap().mutex);
    heap().blocks[memory] = {base, bytes};
    return memory;
}

// Whether it is a managed block; then it is no longer in the table.
bool taken(void *memory, Block &block)
{
    const std::lock_guard<std::mutex> lock(heap().mutex);
    const auto found = heap().blocks.find(memory);
    if (found == heap().blocks.end()) return false;
    block = found->second;
    heap().blocks.erase(found);
    return true;
}

size_t size_of(void *memory)
{
    const std::lock_guard<std::mutex> lock(heap().mutex);
    const auto found = heap().blocks.find(memory);
    return found == heap().blocks.end() ? 0 : found->second.bytes;
}

}  // namespace

extern "C" void *polytile_managed_malloc(size_t bytes)
{
    void *memory = managed(bytes, 1);
    return memory != nullptr ? memory : std::malloc(bytes);
}

extern "C" void polytile_managed_free(void *memory)
{
    Block block;
    if (memory == nullptr) return;
    if (taken(memory, block)) cudaFree(block.base);
    else std::free(memory);
}

extern "C" void *polytile_managed_calloc(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return nullptr;
    }
    void *memory = managed(count * size, 1);
    return memory != nullptr ? std::memset(memory, 0, count * size) : std::calloc(count, size);
}

extern "C" void *polytile_managed_realloc(void *memory, size_t bytes)
{
    if (memory == nullptr) return polytile_managed_malloc(bytes);
    const size_t before = size_of(memory);
    if (before == 0) {  // a plain block, whose size nobody knows: it grows as such, and then moves
        void *grown = std::realloc(memory, bytes);
        void *moved = grown != nullptr ? managed(bytes, 1) : nullptr;
        if (moved == nullptr) return grown;
        std::memcpy(moved, grown, bytes);
        std::free(grown);
        return moved;
    }
    if (bytes == 0) {
        polytile_managed_free(memory);
        return nullptr;
    }
    void *moved = polytile_managed_malloc(bytes);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, memory, before < bytes ? before : bytes);
    polytile_managed_free(memory);
    return moved;
}

extern "C" void *polytile_managed_reallocarray(void *memory, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return nullptr;
    }
    return polytile_managed_realloc(memory, count * size);
}

extern "C" int polytile_managed_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (alignment % sizeof(void *) == 0 && alignment != 0 && (alignment & (alignment - 1)) == 0) {
        if (void *found = managed(bytes, alignment)) {
            *memory = found;
            return 0;
        }
    }
    return ::posix_memalign(memory, alignment, bytes);
}

extern "C" void *polytile_managed_aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = nullptr;
    if (alignment != 0 && (alignment & (alignment - 1)) == 0) memory = managed(bytes, alignment);
    return memory != nullptr ? memory : ::aligned_alloc(alignment, bytes);
}
