// Merge of two sorted arrays along the merge path: one thread per tile finds by binary search where the path
// enters the tile; each block then merges its tile in shared memory, every thread eight outputs. The work
// is the same in all threads whatever the data; streaming loads, irregular reads of shared memory.
// Usage: merge_path [n]    (elements of each array)
#include "../common.cuh"

constexpr int kThreads = 128;
constexpr int kItems = 8;  // outputs per thread
constexpr int kTile = kThreads * kItems;

// How many of the first `diagonal` merged elements come from a.
__device__ int pathSplit(const int* a, int aLength, const int* b, int bLength, int diagonal) {
    int low = max(0, diagonal - bLength);
    int high = min(diagonal, aLength);
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

__global__ void findSplits(const int* a, int aLength, const int* b, int bLength, int* splits, int tiles) {
    const int tile = blockIdx.x * blockDim.x + threadIdx.x;
    if (tile <= tiles) {
        splits[tile] = pathSplit(a, aLength, b, bLength, min(tile * kTile, aLength + bLength));
    }
}

__global__ void mergeTiles(const int* a, int aLength, const int* b, int bLength, const int* splits,
                           int* out) {
    __shared__ int tile[kTile];  // the tile's part of a, then its part of b
    const int begin = blockIdx.x * kTile;
    const int count = min(kTile, aLength + bLength - begin);
    const int aBegin = splits[blockIdx.x];
    const int aCount = splits[blockIdx.x + 1] - aBegin;
    const int bBegin = begin - aBegin;
    for (int i = threadIdx.x; i < count; i += kThreads) {
        tile[i] = i < aCount ? a[aBegin + i] : b[bBegin + i - aCount];
    }
    __syncthreads();

    const int first = min(static_cast<int>(threadIdx.x) * kItems, count);
    int aNext = pathSplit(tile, aCount, tile + aCount, count - aCount, first);
    int bNext = aCount + first - aNext;
    int merged[kItems];
    for (int item = 0; item < kItems; ++item) {
        const bool fromA = bNext >= count || (aNext < aCount && tile[aNext] <= tile[bNext]);
        merged[item] = tile[min(fromA ? aNext : bNext, kTile - 1)];
        aNext += fromA;
        bNext += !fromA;
    }
    __syncthreads();
    for (int item = 0; item < kItems; ++item) {
        tile[threadIdx.x * kItems + item] = merged[item];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += kThreads) {
        out[begin + i] = tile[i];
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int tiles = (2 * n + kTile - 1) / kTile;

    std::vector<int> a(n), b(n), expected(2 * n);
    int aLast = 0, bLast = 0;
    for (int i = 0; i < n; ++i) {
        aLast += i * 2654435761u >> 28;
        bLast += i * 40503u >> 3 & 15;
        a[i] = aLast;
        b[i] = bLast;
    }
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
    const int* dA = toDevice(a);
    const int* dB = toDevice(b);
    int* dSplits = deviceZeros<int>(tiles + 1);
    int* dOut = deviceZeros<int>(2 * n);

    findSplits<<<(tiles + kThreads) / kThreads, kThreads>>>(dA, n, dB, n, dSplits, tiles);
    mergeTiles<<<tiles, kThreads>>>(dA, n, dB, n, dSplits, dOut);

    return report(toHost(dOut, 2 * n) == expected, "merged array");
}
