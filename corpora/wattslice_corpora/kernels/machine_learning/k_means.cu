// One round of k-means, 16 clusters of points with 8 coordinates: the nearest centroid of each point, then the sums
// and sizes of the clusters. The sums are built with atomics on global memory, where all blocks meet at the same 144
// words, or first in a copy of the block's own in shared memory. Contention of the atomics decides time and power.
// Usage: k_means [n]
#include "../common.cuh"

constexpr int kThreads = 256;
constexpr int kBlocks = 264;  // of the kernel with private sums: each goes over many points
constexpr int kClusters = 16;
constexpr int kDimensions = 8;
constexpr int kSums = kClusters * kDimensions;

__constant__ float centroids[kSums];

// `points` holds one coordinate of all points after the other.
__global__ void assignPoints(const float* __restrict__ points, int* __restrict__ nearest, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float point[kDimensions];
#pragma unroll
    for (int d = 0; d < kDimensions; ++d) {
        point[d] = points[d * n + i];
    }
    int best = 0;
    float bestDistance = 1e30f;
    for (int cluster = 0; cluster < kClusters; ++cluster) {
        float distance = 0.0f;
#pragma unroll
        for (int d = 0; d < kDimensions; ++d) {
            const float difference = point[d] - centroids[cluster * kDimensions + d];
            distance += difference * difference;
        }
        if (distance < bestDistance) {
            bestDistance = distance;
            best = cluster;
        }
    }
    nearest[i] = best;
}

__global__ void accumulateGlobal(const float* __restrict__ points, const int* __restrict__ nearest, float* sums,
                                 int* sizes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const int cluster = nearest[i];
    for (int d = 0; d < kDimensions; ++d) {
        atomicAdd(&sums[cluster * kDimensions + d], points[d * n + i]);
    }
    atomicAdd(&sizes[cluster], 1);
}

__global__ void accumulateShared(const float* __restrict__ points, const int* __restrict__ nearest, float* sums,
                                 int* sizes, int n) {
    __shared__ float ownSums[kSums];
    __shared__ int ownSizes[kClusters];
    for (int i = threadIdx.x; i < kSums; i += kThreads) {
        ownSums[i] = 0.0f;
    }
    if (threadIdx.x < kClusters) {
        ownSizes[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) {
        const int cluster = nearest[i];
        for (int d = 0; d < kDimensions; ++d) {
            atomicAdd(&ownSums[cluster * kDimensions + d], points[d * n + i]);
        }
        atomicAdd(&ownSizes[cluster], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kSums; i += kThreads) {
        atomicAdd(&sums[i], ownSums[i]);
    }
    if (threadIdx.x < kClusters) {
        atomicAdd(&sizes[threadIdx.x], ownSizes[threadIdx.x]);
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;

    // Points scatter about the centroid of their cluster, by less than half the distance to the next one.
    std::vector<float> centres(kSums), points(static_cast<size_t>(n) * kDimensions);
    for (int cluster = 0; cluster < kClusters; ++cluster) {
        for (int d = 0; d < kDimensions; ++d) {
            centres[cluster * kDimensions + d] = static_cast<float>((cluster * 5 + d * 3) % kClusters);
        }
    }
    std::vector<int> expectedNearest(n), expectedSizes(kClusters);
    std::vector<double> expectedSums(kSums);
    for (int i = 0; i < n; ++i) {
        const int cluster = static_cast<int>(static_cast<unsigned>(i) * 2654435761u >> 28);
        expectedNearest[i] = cluster;
        ++expectedSizes[cluster];
        for (int d = 0; d < kDimensions; ++d) {
            const float offset = static_cast<float>((i + 131 * d) % 257) / 257.0f - 0.5f;
            const float coordinate = centres[cluster * kDimensions + d] + offset;
            points[static_cast<size_t>(d) * n + i] = coordinate;
            expectedSums[cluster * kDimensions + d] += coordinate;
        }
    }
    float* dPoints = toDevice(points);
    int* dNearest = deviceZeros<int>(n);
    float* dGlobalSums = deviceZeros<float>(kSums);
    int* dGlobalSizes = deviceZeros<int>(kClusters);
    float* dSharedSums = deviceZeros<float>(kSums);
    int* dSharedSizes = deviceZeros<int>(kClusters);
    CUDA_CHECK(cudaMemcpyToSymbol(centroids, centres.data(), sizeof(centroids)));

    const int blocks = (n + kThreads - 1) / kThreads;
    assignPoints<<<blocks, kThreads>>>(dPoints, dNearest, n);
    accumulateGlobal<<<blocks, kThreads>>>(dPoints, dNearest, dGlobalSums, dGlobalSizes, n);
    accumulateShared<<<kBlocks, kThreads>>>(dPoints, dNearest, dSharedSums, dSharedSizes, n);

    bool ok = toHost(dNearest, n) == expectedNearest && toHost(dGlobalSizes, kClusters) == expectedSizes &&
              toHost(dSharedSizes, kClusters) == expectedSizes;
    const std::vector<float> globalSums = toHost(dGlobalSums, kSums);
    const std::vector<float> sharedSums = toHost(dSharedSums, kSums);
    for (int i = 0; i < kSums; ++i) {
        // The sum of many numbers in single precision: its error grows with their count.
        ok = ok && near(globalSums[i], expectedSums[i], 1e-2) && near(sharedSums[i], expectedSums[i], 1e-2);
    }
    cudaFree(dPoints);
    cudaFree(dNearest);
    cudaFree(dGlobalSums);
    cudaFree(dGlobalSizes);
    cudaFree(dSharedSums);
    cudaFree(dSharedSizes);
    return report(ok, "a round of k-means");
}
