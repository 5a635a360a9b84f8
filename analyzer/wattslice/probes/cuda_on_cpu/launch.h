// Kernel launches on a CPU: the blocks of a grid run one after another, the threads of a block as fibers
// that take turns where they wait for each other (barriers and warp-wide functions). See runtime.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <type_traits>

#include "snapshot.h"
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
unsigned unfinishedLanes();

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
