// Functions that the lanes of a warp call together.
#pragma once

#include "launch.h"

inline void __syncwarp(unsigned mask = 0xffffffffu) { cuda_on_cpu::exchange<char>("__syncwarp", mask, 0); }
inline unsigned __activemask() { return cuda_on_cpu::lanesHere(); }

namespace cuda_on_cpu {
// `result` has the bit of every lane whose value fulfils the test.
template <class T, class Test>
unsigned lanesWhere(const Exchanged<T>& seen, Test test) {
    unsigned result = 0;
    for (int lane = 0; lane < warpSize; ++lane) {
        result |= seen.has(lane) && test(seen.values[lane]) ? 1u << lane : 0u;
    }
    return result;
}
}  // namespace cuda_on_cpu

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const auto seen = cuda_on_cpu::exchange("__ballot_sync", mask, predicate);
    return cuda_on_cpu::lanesWhere(seen, [](int other) { return other != 0; });
}
inline int __any_sync(unsigned mask, int predicate) {
    const auto seen = cuda_on_cpu::exchange("__any_sync", mask, predicate);
    return cuda_on_cpu::lanesWhere(seen, [](int other) { return other != 0; }) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
    const auto seen = cuda_on_cpu::exchange("__all_sync", mask, predicate);
    return cuda_on_cpu::lanesWhere(seen, [](int other) { return other == 0; }) == 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
    const auto seen = cuda_on_cpu::exchange("__match_any_sync", mask, value);
    return cuda_on_cpu::lanesWhere(seen, [value](T other) { return other == value; });
}

// A lane outside its segment of `width` lanes is not read: the caller keeps its own value.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
    const auto seen = cuda_on_cpu::exchange("__shfl_sync", mask, value);
    return seen.values[(cuda_on_cpu::lane() & ~(width - 1)) + (source & (width - 1))];
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const auto seen = cuda_on_cpu::exchange("__shfl_up_sync", mask, value);
    const int lane = cuda_on_cpu::lane();
    return lane % width >= static_cast<int>(delta) ? seen.values[lane - delta] : value;
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const auto seen = cuda_on_cpu::exchange("__shfl_down_sync", mask, value);
    const int lane = cuda_on_cpu::lane();
    return lane % width + static_cast<int>(delta) < width ? seen.values[lane + delta] : value;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int laneMask, int width = warpSize) {
    const auto seen = cuda_on_cpu::exchange("__shfl_xor_sync", mask, value);
    const int lane = cuda_on_cpu::lane();
    const int source = lane ^ laneMask;
    return source / width <= lane / width ? seen.values[source] : value;
}

namespace cuda_on_cpu {
template <class T, class Combine>
T reduce(const char* function, unsigned mask, T value, Combine combine) {
    const auto seen = exchange(function, mask, value);
    T result = value;
    for (int lane = 0; lane < warpSize; ++lane) {
        if (seen.has(lane) && lane != cuda_on_cpu::lane()) {
            result = combine(result, seen.values[lane]);
        }
    }
    return result;
}
}  // namespace cuda_on_cpu
#define CUDA_ON_CPU_REDUCE(NAME, COMBINED)                                                         \
    template <class T>                                                                             \
    T NAME(unsigned mask, T value) {                                                               \
        return cuda_on_cpu::reduce(#NAME, mask, value, [](T a, T b) -> T { return COMBINED; });    \
    }
CUDA_ON_CPU_REDUCE(__reduce_add_sync, a + b)
CUDA_ON_CPU_REDUCE(__reduce_min_sync, a < b ? a : b)
CUDA_ON_CPU_REDUCE(__reduce_max_sync, a < b ? b : a)
CUDA_ON_CPU_REDUCE(__reduce_and_sync, a & b)
CUDA_ON_CPU_REDUCE(__reduce_or_sync, a | b)
CUDA_ON_CPU_REDUCE(__reduce_xor_sync, a ^ b)

// Of compute capabilities below 7: the lanes that are here.
inline unsigned __ballot(int predicate) { return __ballot_sync(cuda_on_cpu::lanesHere(), predicate); }
inline int __any(int predicate) { return __any_sync(cuda_on_cpu::lanesHere(), predicate); }
inline int __all(int predicate) { return __all_sync(cuda_on_cpu::lanesHere(), predicate); }
#define CUDA_ON_CPU_SHUFFLE(NAME, OTHER)                                        \
    template <class T>                                                          \
    T NAME(T value, OTHER other, int width = warpSize) {                        \
        return NAME##_sync(cuda_on_cpu::lanesHere(), value, other, width);      \
    }
CUDA_ON_CPU_SHUFFLE(__shfl, int)
CUDA_ON_CPU_SHUFFLE(__shfl_up, unsigned)
CUDA_ON_CPU_SHUFFLE(__shfl_down, unsigned)
CUDA_ON_CPU_SHUFFLE(__shfl_xor, int)
