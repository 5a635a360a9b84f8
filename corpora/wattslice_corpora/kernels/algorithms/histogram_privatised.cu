// Histogram of integers in 1024 bins, twice: every thread adds to the bins in global memory, and every block
// adds to bins of its own in shared memory and merges them at the end. The values pile up in few bins, so
// the first is limited by atomics on the same L2 lines, the second streams its input.
// Usage: histogram_privatised [n]
#include "../common.cuh"

constexpr int kBins = 1024;
constexpr int kThreads = 256;
constexpr int kBlocks = 528;

__global__ void histogramGlobal(const int* values, int* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[values[i]], 1);
    }
}

__global__ void histogramShared(const int* values, int* bins, int n) {
    __shared__ int blockBins[kBins];
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
        blockBins[bin] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&blockBins[values[i]], 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
        if (blockBins[bin] > 0) {
            atomicAdd(&bins[bin], blockBins[bin]);
        }
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 22;

    std::vector<int> values(n), expected(kBins);
    for (int i = 0; i < n; ++i) {
        const unsigned hash = i * 2654435761u;
        values[i] = static_cast<int>((hash >> 22) * (hash >> 12 & 1023) / kBins);  // small ones abound
        ++expected[values[i]];
    }
    const int* dValues = toDevice(values);
    int* dGlobal = deviceZeros<int>(kBins);
    int* dShared = deviceZeros<int>(kBins);

    histogramGlobal<<<kBlocks, kThreads>>>(dValues, dGlobal, n);
    histogramShared<<<kBlocks, kThreads>>>(dValues, dShared, n);

    return report(toHost(dGlobal, kBins) == expected && toHost(dShared, kBins) == expected, "histograms");
}
