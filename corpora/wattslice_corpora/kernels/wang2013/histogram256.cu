// 256-bin histogram of bytes: one private histogram per block in shared memory, then a merge.
// Usage: histogram256 [bytes]    (rounded down to a multiple of four)
#include "../common.cuh"

constexpr int kBins = 256;
constexpr int kThreads = 256;
constexpr int kBlocks = 120;

__global__ void histogramPartial(const unsigned int* words, unsigned int* partial, int wordCount) {
    __shared__ unsigned int bins[kBins];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < wordCount; i += blockDim.x * gridDim.x) {
        const unsigned int word = words[i];
        atomicAdd(&bins[word & 0xffu], 1u);
        atomicAdd(&bins[(word >> 8) & 0xffu], 1u);
        atomicAdd(&bins[(word >> 16) & 0xffu], 1u);
        atomicAdd(&bins[word >> 24], 1u);
    }
    __syncthreads();
    partial[blockIdx.x * kBins + threadIdx.x] = bins[threadIdx.x];
}

// One thread per bin adds the private histograms of all blocks.
__global__ void histogramMerge(const unsigned int* partial, unsigned int* histogram, int blocks) {
    unsigned int sum = 0;
    for (int b = 0; b < blocks; ++b) {
        sum += partial[b * kBins + threadIdx.x];
    }
    histogram[threadIdx.x] = sum;
}

int main(int argc, char** argv) {
    const int byteCount = (argc > 1 ? atoi(argv[1]) : 1 << 24) & ~3;
    const int wordCount = byteCount / 4;

    std::vector<unsigned char> bytes(byteCount);
    std::vector<unsigned int> expected(kBins, 0);
    unsigned int state = 12345u;
    for (int i = 0; i < byteCount; ++i) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = static_cast<unsigned char>(state >> 24);
        ++expected[bytes[i]];
    }

    unsigned int* dWords = reinterpret_cast<unsigned int*>(toDevice(bytes));
    unsigned int* dPartial = deviceZeros<unsigned int>(kBlocks * kBins);
    unsigned int* dHistogram = deviceZeros<unsigned int>(kBins);

    histogramPartial<<<kBlocks, kThreads>>>(dWords, dPartial, wordCount);
    histogramMerge<<<1, kBins>>>(dPartial, dHistogram, kBlocks);
    const std::vector<unsigned int> histogram = toHost(dHistogram, kBins);

    const bool ok = histogram == expected;
    cudaFree(dWords);
    cudaFree(dPartial);
    cudaFree(dHistogram);
    return report(ok, "histogram256");
}
