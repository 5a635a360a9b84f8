// Stream compaction that keeps the order: each block counts what its tile keeps, one block scans the counts,
// and each block writes its survivors to their places. Warp ballots rank the survivors; about half of the
// lanes store, so the stores of a warp stay dense while its predicate diverges.
// Usage: stream_compaction [n]
#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kRounds = 8;
constexpr int kTile = kRounds * kThreads;
constexpr int kScanThreads = 1024;

__host__ __device__ bool kept(float value) {
    return value > 0.5f;
}

// Survivors among the threads before this one; `total`: in the whole block.
__device__ int rankInBlock(bool keep, int& total) {
    __shared__ int warpCounts[kWarps];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const unsigned lanes = __ballot_sync(0xffffffffu, keep);
    if (lane == 0) {
        warpCounts[warp] = __popc(lanes);
    }
    __syncthreads();
    int before = 0;
    total = 0;
    for (int w = 0; w < kWarps; ++w) {
        before += w < warp ? warpCounts[w] : 0;
        total += warpCounts[w];
    }
    __syncthreads();
    return before + __popc(lanes & ((1u << lane) - 1));
}

__global__ void countKept(const float* in, int* counts, int n) {
    __shared__ int count;
    if (threadIdx.x == 0) {
        count = 0;
    }
    __syncthreads();
    for (int round = 0; round < kRounds; ++round) {
        const int i = blockIdx.x * kTile + round * kThreads + threadIdx.x;
        const unsigned lanes = __ballot_sync(0xffffffffu, i < n && kept(in[i]));
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&count, __popc(lanes));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = count;
    }
}

// One block; places[tiles] is the total.
__global__ void scanCounts(const int* counts, int* places, int tiles) {
    __shared__ int sums[kScanThreads];
    const int tid = threadIdx.x;
    int carry = 0;
    for (int base = 0; base < tiles; base += kScanThreads) {
        const int count = base + tid < tiles ? counts[base + tid] : 0;
        sums[tid] = count;
        __syncthreads();
        for (int offset = 1; offset < kScanThreads; offset *= 2) {
            const int left = tid >= offset ? sums[tid - offset] : 0;
            __syncthreads();
            sums[tid] += left;
            __syncthreads();
        }
        if (base + tid < tiles) {
            places[base + tid] = carry + sums[tid] - count;
        }
        carry += sums[kScanThreads - 1];
        __syncthreads();
    }
    if (tid == 0) {
        places[tiles] = carry;
    }
}

__global__ void scatterKept(const float* in, float* out, const int* places, int n) {
    int place = places[blockIdx.x];
    for (int round = 0; round < kRounds; ++round) {
        const int i = blockIdx.x * kTile + round * kThreads + threadIdx.x;
        const float value = i < n ? in[i] : 0.0f;
        const bool keep = i < n && kept(value);
        int total;
        const int rank = rankInBlock(keep, total);
        if (keep) {
            out[place + rank] = value;
        }
        place += total;
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int tiles = (n + kTile - 1) / kTile;

    std::vector<float> in(n), expected;
    for (int i = 0; i < n; ++i) {
        in[i] = (i * 2654435761u >> 16) / 65536.0f;
        if (kept(in[i])) {
            expected.push_back(in[i]);
        }
    }
    const float* dIn = toDevice(in);
    float* dOut = deviceZeros<float>(n);
    int* dCounts = deviceZeros<int>(tiles);
    int* dPlaces = deviceZeros<int>(tiles + 1);

    countKept<<<tiles, kThreads>>>(dIn, dCounts, n);
    scanCounts<<<1, kScanThreads>>>(dCounts, dPlaces, tiles);
    scatterKept<<<tiles, kThreads>>>(dIn, dOut, dPlaces, n);

    const size_t count = toHost(dPlaces + tiles, 1)[0];
    return report(count == expected.size() && toHost(dOut, count) == expected, "kept values");
}
