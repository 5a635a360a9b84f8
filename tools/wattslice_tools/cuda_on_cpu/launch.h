// Kernel launches on a CPU: the blocks of a grid run one after another, the threads of a block as fibers
// that take turns where they wait for each other (barriers and warp-wide functions). See runtime.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "errors.h"
#include "snapshot.h"
#include "streams.h"
#include "vector_types.h"

constexpr int warpSize = 32;

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace cuda_on_cpu {

struct Configuration {
    dim3 grid, block;
    size_t sharedBytes;
    Configuration(dim3 g, dim3 b, size_t bytes = 0, const void* = nullptr) : grid(g), block(b), sharedBytes(bytes) {}
};

// Whether a kernel runs: functions for host and device are called by both.
inline bool inKernel = false;

void run(const Configuration& configuration, const char* name, const std::function<void()>& thread);

// `kernel` is the kernel's name wrapped in a lambda, so that templates deduce and arguments convert as in
// a launch; the arguments are evaluated once, and every thread gets its own copy of them.
template <class Kernel, class... Arguments>
void launch(const Configuration& configuration, const char* name, Kernel kernel, Arguments... arguments) {
    const bool recorded = beforeLaunch(configuration, name, {argument(arguments)...});
    run(configuration, name, [&] { kernel(arguments...); });
    if (recorded) {
        afterLaunch();
    }
}

// As the launch through a pointer: `arguments` points to one pointer for each parameter.
template <class... Parameters, size_t... At>
void launchIndirectly(const Configuration& configuration, void (*kernel)(Parameters...), void** arguments,
                      std::index_sequence<At...>) {
    launch(configuration, "cudaLaunchKernel", kernel,
           *static_cast<std::remove_cv_t<std::remove_reference_t<Parameters>>*>(arguments[At])...);
}

// Dynamic shared memory of the running block; `extern __shared__ T name[]` becomes a pointer to it.
extern unsigned char* const dynamicShared;

// All ones into a shared variable, the first time that a block declares it: its value is undefined in CUDA.
void undefine(void* variable, size_t bytes);

// Waits until all threads of the block that have not returned are here; counts the true predicates of
// all of them. Ends the program when that never happens.
struct Votes {
    int yes;
    int threads;
};
Votes blockBarrier(bool predicate);

// Waits for the lanes of `mask` that have not returned, copies their values into `seen`, by lane, and
// says which these lanes are.
unsigned meet(const char* function, unsigned mask, const void* value, void* seen, size_t bytes);

// Lets other threads of the block run: for code that waits for what another thread writes.
void yield();

int lane();

// The lanes of the warp that come to this call together: all that neither end nor wait elsewhere before.
unsigned lanesHere();

// Ends the program: blocks run one after another. A grid of one block has a barrier.
void gridBarrier();

template <class T>
struct Exchanged {
    std::array<T, warpSize> values;  // undefined in CUDA for a lane that is not here: all ones
    unsigned here;                   // the lanes of the mask that have not returned
    bool has(int lane) const { return (here >> lane & 1u) != 0; }
};

template <class T>
Exchanged<T> exchange(const char* function, unsigned mask, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Exchanged<T> seen;
    seen.here = meet(function, mask, &value, seen.values.data(), sizeof(T));
    return seen;
}

}  // namespace cuda_on_cpu

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t sharedBytes = 0, cudaStream_t = nullptr) {
    cuda_on_cpu::launchIndirectly(cuda_on_cpu::Configuration(grid, block, sharedBytes), kernel, arguments,
                                  std::index_sequence_for<Parameters...>());
    return cuda_on_cpu::lastError;
}
template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        size_t sharedBytes = 0, cudaStream_t stream = nullptr) {
    return cudaLaunchKernel(kernel, grid, block, arguments, sharedBytes, stream);
}
