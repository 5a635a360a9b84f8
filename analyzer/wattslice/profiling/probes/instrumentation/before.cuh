// Written by wattslice: counts which way branches go. Everything below the next #line is the program itself.
namespace wattslice_probes {
constexpr unsigned kKernels = @KERNELS@, kCounters = @COUNTERS@;  // counters of each kernel
static __device__ unsigned long long counts[(kKernels + 1) * kCounters];  // the last ones: of an unknown kernel

// Which kernel runs, for functions that several kernels call: each of its threads says so before it calls them.
[[maybe_unused]] static inline __device__ unsigned& kernel() {
    __shared__ unsigned running;
    return running;
}
[[maybe_unused]] static inline __host__ __device__ unsigned at(unsigned counter) {
#if defined(__CUDA_ARCH__) || defined(CUDA_ON_CPU)
    return (kernel() < kKernels ? kernel() : kKernels) * kCounters + counter;
#else
    return counter;
#endif
}

// One atomic for all threads of a warp that are here together. On the host nothing is counted.
[[maybe_unused]] static inline __host__ __device__ void count(unsigned counter) {
#if defined(__CUDA_ARCH__)
    const unsigned here = __activemask();
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    if (lane == __ffs(here) - 1u) {
        atomicAdd(&counts[counter], static_cast<unsigned long long>(__popc(here)));
    }
#elif defined(CUDA_ON_CPU)
    counts[counter] += cuda_on_cpu::inKernel ? 1 : 0;
#else
    (void)counter;
#endif
}
[[maybe_unused]] static inline __host__ __device__ bool test(unsigned counter, bool holds) {
    count(counter);
    if (holds) {
        count(counter + 1);
    }
    return holds;
}

// Adds up what the device has counted: before the device is reset, and when main returns or the program exits.
struct Reporter {
    Reporter();
    ~Reporter();
};
static void collect();
[[maybe_unused]] static inline cudaError_t deviceReset() {
    collect();
    return cudaDeviceReset();
}
}  // namespace wattslice_probes
#define cudaDeviceReset() wattslice_probes::deviceReset()
