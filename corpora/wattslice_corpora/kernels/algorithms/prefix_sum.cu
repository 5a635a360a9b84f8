// Exclusive prefix sum in two levels: sums of tiles, a scan of those sums by one block, and a scan of each
// tile from its offset, all with warp shuffles. It reads the input twice and writes once: DRAM bandwidth
// with a little integer work, hardly any shared memory.
// Usage: prefix_sum [n]
#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kItems = 8;  // per thread
constexpr int kTile = kThreads * kItems;

// Sum of the values of the threads before this one; `total` is the sum over the block.
__device__ int blockExclusiveSum(int value, int& total) {
    __shared__ int warpSums[kWarps];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    int sum = value;
    for (int offset = 1; offset < 32; offset *= 2) {
        const int left = __shfl_up_sync(0xffffffffu, sum, offset);
        sum += lane >= offset ? left : 0;
    }
    if (lane == 31) {
        warpSums[warp] = sum;
    }
    __syncthreads();
    int before = 0;
    total = 0;
    for (int w = 0; w < kWarps; ++w) {
        before += w < warp ? warpSums[w] : 0;
        total += warpSums[w];
    }
    __syncthreads();
    return before + sum - value;
}

__global__ void sumTiles(const int* in, int* sums, int n) {
    int sum = 0;
    for (int item = 0; item < kItems; ++item) {
        const int i = blockIdx.x * kTile + item * kThreads + threadIdx.x;
        sum += i < n ? in[i] : 0;
    }
    int total;
    blockExclusiveSum(sum, total);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = total;
    }
}

// One block.
__global__ void scanSums(const int* sums, int* offsets, int tiles) {
    int carry = 0;
    for (int base = 0; base < tiles; base += kThreads) {
        const int i = base + threadIdx.x;
        int total;
        const int before = blockExclusiveSum(i < tiles ? sums[i] : 0, total);
        if (i < tiles) {
            offsets[i] = carry + before;
        }
        carry += total;
    }
}

__global__ void scanTiles(const int* in, int* out, const int* offsets, int n) {
    int carry = offsets[blockIdx.x];
    for (int item = 0; item < kItems; ++item) {
        const int i = blockIdx.x * kTile + item * kThreads + threadIdx.x;
        int total;
        const int before = blockExclusiveSum(i < n ? in[i] : 0, total);
        if (i < n) {
            out[i] = carry + before;
        }
        carry += total;
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int tiles = (n + kTile - 1) / kTile;

    std::vector<int> in(n);
    for (int i = 0; i < n; ++i) {
        in[i] = i * 7 % 10;
    }
    const int* dIn = toDevice(in);
    int* dOut = deviceZeros<int>(n);
    int* dSums = deviceZeros<int>(tiles);
    int* dOffsets = deviceZeros<int>(tiles);

    sumTiles<<<tiles, kThreads>>>(dIn, dSums, n);
    scanSums<<<1, kThreads>>>(dSums, dOffsets, tiles);
    scanTiles<<<tiles, kThreads>>>(dIn, dOut, dOffsets, n);

    const std::vector<int> out = toHost(dOut, n);
    bool ok = true;
    int running = 0;
    for (int i = 0; i < n; ++i) {
        ok = ok && out[i] == running;
        running += in[i];
    }
    return report(ok, "prefix sums");
}
