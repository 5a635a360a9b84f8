// Microbenchmarks of a GPU, one kernel a call: probes NAME AMOUNT BLOCKS. AMOUNT is what the kernel does in one launch of
// BLOCKS blocks; probes.py says of what and how many. Times and watts are for whoever repeats the launch to find.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

enum class Where { L1, L2, Dram, Shared };

__device__ unsigned sink;

// next(i) = 1664525 i + 1013904223 modulo a power of two goes through all i once before any comes again.
template <int kStride>
__global__ void link(unsigned* ring, unsigned count) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        ring[static_cast<size_t>(i) * kStride] = (1664525u * i + 1013904223u) & (count - 1);
    }
}

// Where a launch ended, the next one goes on: launched anew from the same place, it would find its few lines in L2.
__device__ unsigned arrived;

// One thread follows the ring: every load waits for the one before. 32 words apart is one cache line.
template <Where kWhere>
__global__ void chase(const unsigned* ring, int steps) {
    __shared__ unsigned near[1024];
    constexpr int kStride = 32;
    unsigned at = arrived;
    if (kWhere == Where::Shared) {
        for (int i = 0; i < 1024; ++i) {
            near[i] = (1664525u * i + 1013904223u) & 1023u;
        }
    }
#pragma unroll 8
    for (int i = 0; i < steps; ++i) {
        if (kWhere == Where::Shared) {
            at = near[at];
        } else if (kWhere == Where::L1) {
            at = __ldca(ring + static_cast<size_t>(at) * kStride);
        } else {
            at = __ldcg(ring + static_cast<size_t>(at) * kStride);
        }
    }
    arrived = at;
}

// 16 bytes a thread and load. DRAM: every byte of `words` once; L2: all blocks the same 16 MiB; L1: a block its own 32 KiB.
template <Where kWhere>
__global__ void __launch_bounds__(1024) readAll(const uint4* data, long long loads) {
    const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    unsigned found = 0;
    for (long long i = 0; i < loads; i += 4) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            uint4 value;
            if (kWhere == Where::Dram) {
                value = __ldcs(data + (i + j) * threads + thread);
            } else if (kWhere == Where::L2) {
                value = __ldcg(data + ((i + j) * threads + thread) % (1 << 20));
            } else {
                value = __ldca(data + blockIdx.x * 2048 + ((i + j) * 1024 + threadIdx.x) % 2048);
            }
            found ^= value.x ^ value.y ^ value.z ^ value.w;
        }
    }
    if (found == 0xdeadbeefu) {
        sink = found;
    }
}

__global__ void __launch_bounds__(1024) writeDram(uint4* data, long long stores) {
    const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const unsigned value = static_cast<unsigned>(thread) * 2654435761u;
    for (long long i = 0; i < stores; ++i) {
        __stcs(data + i * threads + thread, make_uint4(value, value ^ 0x5a5a5a5au, ~value, value + i));
    }
}

__global__ void __launch_bounds__(1024) readShared(long long loads) {
    __shared__ unsigned near[8192];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) {
        near[i] = i * 2654435761u;
    }
    __syncthreads();
    unsigned found = 0;
    const volatile unsigned* mine = near + threadIdx.x;
    for (long long i = 0; i < loads; i += 8) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            found ^= mine[j * 1024 % 7168];
        }
    }
    if (found == 0xdeadbeefu) {
        sink = found;
    }
}

__global__ void barriers(long long count) {
    for (long long i = 0; i < count; ++i) {
        __syncthreads();
    }
}

// `sharing` threads use the same word. Were that known to the compiler, a warp's atomics would be added up to one first.
__global__ void atomics(unsigned* counters, long long count, unsigned sharing) {
    const unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) / sharing;
    for (long long i = 0; i < count; ++i) {
        atomicAdd(counters + at, static_cast<unsigned>(i));
    }
}

__global__ void empty() {}

// One thread of every block waits: what is above the cycles is the launch.
__global__ void spin(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

int main(int count, char** words) {
    if (count != 4) {
        fprintf(stderr, "usage: NAME AMOUNT BLOCKS\n");
        return 2;
    }
    const char* name = words[1];
    const long long amount = atoll(words[2]);
    const int blocks = atoi(words[3]);
    const size_t bytes = size_t(1) << 30;
    unsigned* memory = nullptr;
    const auto is = [name](const char* other) { return strcmp(name, other) == 0; };
    if (strncmp(name, "empty", 5) != 0 && !is("spin") && !is("barriers")) {
        if (cudaMalloc(&memory, bytes) != cudaSuccess || cudaMemset(memory, 0x5a, bytes) != cudaSuccess) {
            fprintf(stderr, "no room for 1 GiB\n");
            return 1;
        }
    }
    uint4* data = reinterpret_cast<uint4*>(memory);
    if (is("latency_l1")) {
        link<32><<<1, 128>>>(memory, 128);  // 16 KiB
        chase<Where::L1><<<1, 1>>>(memory, amount);
    } else if (is("latency_l2")) {
        link<32><<<256, 256>>>(memory, 1 << 16);  // 8 MiB
        chase<Where::L2><<<1, 1>>>(memory, amount);
    } else if (is("latency_dram")) {
        link<32><<<1024, 256>>>(memory, 1 << 23);  // 1 GiB
        chase<Where::Dram><<<1, 1>>>(memory, amount);
    } else if (is("latency_shared")) {
        chase<Where::Shared><<<1, 1>>>(memory, amount);
    } else if (is("read_l1")) {
        readAll<Where::L1><<<blocks, 1024>>>(data, amount);
    } else if (is("read_l2")) {
        readAll<Where::L2><<<blocks, 1024>>>(data, amount);
    } else if (is("read_dram")) {
        readAll<Where::Dram><<<blocks, 1024>>>(data, amount);
    } else if (is("write_dram")) {
        writeDram<<<blocks, 1024>>>(data, amount);
    } else if (is("read_shared")) {
        readShared<<<blocks, 1024>>>(amount);
    } else if (is("barriers")) {
        barriers<<<blocks, 1024>>>(amount);
    } else if (is("atomics_apart")) {
        atomics<<<blocks, 1024>>>(memory, amount, 1);
    } else if (is("atomics_same")) {
        atomics<<<blocks, 1024>>>(memory, amount, 1024);
    } else if (strncmp(name, "empty", 5) == 0) {
        empty<<<blocks, amount>>>();
    } else if (is("spin")) {
        spin<<<blocks, 32>>>(amount);
    } else {
        fprintf(stderr, "no probe %s\n", name);
        return 2;
    }
    const cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(status));
    }
    return status != cudaSuccess;
}
