// Least-significant-digit radix sort of 32-bit keys, four bits a pass: each block counts the digits of its
// tile, one block scans all counts, and each block scatters its tile to the places found. Ranks within a
// tile come from warp ballots, so the passes are integer work, shared memory and 16-way scattered stores.
// Usage: radix_sort [n]
#include <cstdint>

#include "../common.cuh"

constexpr int kDigitBits = 4;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kTile = 4 * kThreads;
constexpr int kScanThreads = 256;

// counts: digit-major, so that its exclusive scan gives every block the first place of each digit.
__global__ void countDigits(const uint32_t* keys, int* counts, int n, int shift) {
    __shared__ int tileCounts[kDigits];
    const int tid = threadIdx.x;
    if (tid < kDigits) {
        tileCounts[tid] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * kTile + tid; i < min(n, (blockIdx.x + 1) * kTile); i += kThreads) {
        atomicAdd(&tileCounts[(keys[i] >> shift) & (kDigits - 1)], 1);
    }
    __syncthreads();
    if (tid < kDigits) {
        counts[tid * gridDim.x + blockIdx.x] = tileCounts[tid];
    }
}

// One block; a piece of kScanThreads counts at a time.
__global__ void scanCounts(const int* counts, int* places, int length) {
    __shared__ int sums[kScanThreads];
    const int tid = threadIdx.x;
    int carry = 0;
    for (int base = 0; base < length; base += kScanThreads) {
        const int count = base + tid < length ? counts[base + tid] : 0;
        sums[tid] = count;
        __syncthreads();
        for (int offset = 1; offset < kScanThreads; offset *= 2) {
            const int left = tid >= offset ? sums[tid - offset] : 0;
            __syncthreads();
            sums[tid] += left;
            __syncthreads();
        }
        if (base + tid < length) {
            places[base + tid] = carry + sums[tid] - count;
        }
        carry += sums[kScanThreads - 1];
        __syncthreads();
    }
}

__global__ void scatterKeys(const uint32_t* in, uint32_t* out, const int* places, int n, int shift) {
    __shared__ int next[kDigits];
    __shared__ int warpCounts[kWarps][kDigits];
    const int tid = threadIdx.x;
    const int warp = tid / 32;
    const unsigned before = (1u << (tid % 32)) - 1;
    if (tid < kDigits) {
        next[tid] = places[tid * gridDim.x + blockIdx.x];
    }
    for (int round = 0; round < kTile / kThreads; ++round) {
        const int i = blockIdx.x * kTile + round * kThreads + tid;
        const uint32_t key = i < n ? in[i] : 0;
        const int digit = (key >> shift) & (kDigits - 1);

        unsigned peers = __ballot_sync(0xffffffffu, i < n);  // lanes that hold the same digit
        for (int bit = 0; bit < kDigitBits; ++bit) {
            const bool set = (digit >> bit) & 1;
            const unsigned lanes = __ballot_sync(0xffffffffu, set);
            peers &= set ? lanes : ~lanes;
        }
        const int rank = __popc(peers & before);

        if (tid < kWarps * kDigits) {
            warpCounts[tid / kDigits][tid % kDigits] = 0;
        }
        __syncthreads();
        if (i < n && rank == 0) {
            warpCounts[warp][digit] = __popc(peers);
        }
        __syncthreads();
        if (tid < kDigits) {  // places of each warp's first key, and of the next round's
            int place = next[tid];
            for (int w = 0; w < kWarps; ++w) {
                const int count = warpCounts[w][tid];
                warpCounts[w][tid] = place;
                place += count;
            }
            next[tid] = place;
        }
        __syncthreads();
        if (i < n) {
            out[warpCounts[warp][digit] + rank] = key;
        }
        __syncthreads();
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int blocks = (n + kTile - 1) / kTile;

    std::vector<uint32_t> keys(n);
    for (int i = 0; i < n; ++i) {
        keys[i] = i * 2654435761u;
    }
    uint32_t* dKeys = toDevice(keys);
    uint32_t* dOther = deviceZeros<uint32_t>(n);
    int* dCounts = deviceZeros<int>(kDigits * blocks);
    int* dPlaces = deviceZeros<int>(kDigits * blocks);

    for (int shift = 0; shift < 32; shift += kDigitBits) {
        countDigits<<<blocks, kThreads>>>(dKeys, dCounts, n, shift);
        scanCounts<<<1, kScanThreads>>>(dCounts, dPlaces, kDigits * blocks);
        scatterKeys<<<blocks, kThreads>>>(dKeys, dOther, dPlaces, n, shift);
        std::swap(dKeys, dOther);
    }

    std::sort(keys.begin(), keys.end());
    return report(toHost(dKeys, n) == keys, "sorted keys");
}
