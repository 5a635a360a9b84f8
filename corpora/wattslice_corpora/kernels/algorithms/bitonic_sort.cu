// Bitonic sort of 2^k integers: tiles are sorted in shared memory, then every doubling of the sorted length
// takes compare-exchange steps in global memory for the long strides and one pass in shared memory for the
// rest. The long strides stream all keys through DRAM at one comparison each; the tiles live on barriers.
// Usage: bitonic_sort [log2_n]    (at least 10)
#include "../common.cuh"

constexpr int kTile = 1024;  // keys, two per thread
constexpr int kThreads = kTile / 2;

// Position of the lower key of the pair that this thread compares: a zero bit put in at `stride`.
__device__ int lowerOfPair(int thread, int stride) {
    return 2 * thread - (thread & (stride - 1));
}

__device__ void compareExchange(int& lower, int& upper, bool ascending) {
    const int smaller = min(lower, upper);
    const int larger = max(lower, upper);
    lower = ascending ? smaller : larger;
    upper = ascending ? larger : smaller;
}

__global__ void sortTiles(const int* in, int* out) {
    __shared__ int keys[kTile];
    const int tid = threadIdx.x;
    const int base = blockIdx.x * kTile;
    keys[tid] = in[base + tid];
    keys[tid + kThreads] = in[base + tid + kThreads];
    for (int size = 2; size <= kTile; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const int i = lowerOfPair(tid, stride);
            compareExchange(keys[i], keys[i + stride], ((base + i) & size) == 0);
        }
    }
    __syncthreads();
    out[base + tid] = keys[tid];
    out[base + tid + kThreads] = keys[tid + kThreads];
}

__global__ void mergeStep(int* keys, int size, int stride) {
    const int i = lowerOfPair(blockIdx.x * blockDim.x + threadIdx.x, stride);
    compareExchange(keys[i], keys[i + stride], (i & size) == 0);
}

__global__ void mergeTiles(int* keys, int size) {
    __shared__ int tile[kTile];
    const int tid = threadIdx.x;
    const int base = blockIdx.x * kTile;
    tile[tid] = keys[base + tid];
    tile[tid + kThreads] = keys[base + tid + kThreads];
    for (int stride = kTile / 2; stride > 0; stride /= 2) {
        __syncthreads();
        const int i = lowerOfPair(tid, stride);
        compareExchange(tile[i], tile[i + stride], ((base + i) & size) == 0);
    }
    __syncthreads();
    keys[base + tid] = tile[tid];
    keys[base + tid + kThreads] = tile[tid + kThreads];
}

int main(int argc, char** argv) {
    const int log2N = argc > 1 ? atoi(argv[1]) : 20;
    const int n = 1 << log2N;
    const int tiles = n / kTile;
    if (tiles < 1) {
        fprintf(stderr, "log2_n must be at least 10\n");
        return 1;
    }

    std::vector<int> keys(n);
    for (int i = 0; i < n; ++i) {
        keys[i] = static_cast<int>(i * 2654435761u);
    }
    const int* dIn = toDevice(keys);
    int* dKeys = deviceZeros<int>(n);

    sortTiles<<<tiles, kThreads>>>(dIn, dKeys);
    for (int size = 2 * kTile; size <= n; size *= 2) {
        for (int stride = size / 2; stride >= kTile; stride /= 2) {
            mergeStep<<<tiles, kThreads>>>(dKeys, size, stride);
        }
        mergeTiles<<<tiles, kThreads>>>(dKeys, size);
    }

    std::sort(keys.begin(), keys.end());
    return report(toHost(dKeys, n) == keys, "sorted keys");
}
