// Exclusive prefix sum: work-efficient scan of each block in shared memory, a scan of the block
// totals, and a pass that adds the offsets.
// Usage: scan [n]    (at most 1024 * 1024)
#include "../common.cuh"

constexpr int kElements = 1024;  // per block, two per thread
constexpr int kThreads = kElements / 2;

__global__ void scanBlocks(const int* in, int* out, int* totals, int n) {
    extern __shared__ int temp[];
    const int tid = threadIdx.x;
    const int base = blockIdx.x * kElements;
    temp[2 * tid] = base + 2 * tid < n ? in[base + 2 * tid] : 0;
    temp[2 * tid + 1] = base + 2 * tid + 1 < n ? in[base + 2 * tid + 1] : 0;

    int offset = 1;
    for (int active = kElements >> 1; active > 0; active >>= 1) {  // up-sweep
        __syncthreads();
        if (tid < active) {
            const int left = offset * (2 * tid + 1) - 1;
            const int right = offset * (2 * tid + 2) - 1;
            temp[right] += temp[left];
        }
        offset *= 2;
    }
    if (tid == 0) {
        if (totals != nullptr) {
            totals[blockIdx.x] = temp[kElements - 1];
        }
        temp[kElements - 1] = 0;
    }
    for (int active = 1; active < kElements; active *= 2) {  // down-sweep
        offset >>= 1;
        __syncthreads();
        if (tid < active) {
            const int left = offset * (2 * tid + 1) - 1;
            const int right = offset * (2 * tid + 2) - 1;
            const int value = temp[left];
            temp[left] = temp[right];
            temp[right] += value;
        }
    }
    __syncthreads();
    if (base + 2 * tid < n) {
        out[base + 2 * tid] = temp[2 * tid];
    }
    if (base + 2 * tid + 1 < n) {
        out[base + 2 * tid + 1] = temp[2 * tid + 1];
    }
}

__global__ void addOffsets(int* out, const int* offsets, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] += offsets[i / kElements];
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const int blocks = (n + kElements - 1) / kElements;
    if (blocks > kElements) {
        fprintf(stderr, "n must be at most %d\n", kElements * kElements);
        return 1;
    }

    std::vector<int> in(n);
    for (int i = 0; i < n; ++i) {
        in[i] = (i * 7) % 10;
    }

    int* dIn = toDevice(in);
    int* dOut = deviceZeros<int>(n);
    int* dTotals = deviceZeros<int>(blocks);
    int* dOffsets = deviceZeros<int>(blocks);

    const size_t sharedBytes = kElements * sizeof(int);
    scanBlocks<<<blocks, kThreads, sharedBytes>>>(dIn, dOut, dTotals, n);
    scanBlocks<<<1, kThreads, sharedBytes>>>(dTotals, dOffsets, nullptr, blocks);
    addOffsets<<<(n + kThreads - 1) / kThreads, kThreads>>>(dOut, dOffsets, n);
    const std::vector<int> out = toHost(dOut, n);

    bool ok = true;
    int running = 0;
    for (int i = 0; i < n; ++i) {
        ok = ok && out[i] == running;
        running += in[i];
    }
    cudaFree(dIn);
    cudaFree(dOut);
    cudaFree(dTotals);
    cudaFree(dOffsets);
    return report(ok, "scan");
}
