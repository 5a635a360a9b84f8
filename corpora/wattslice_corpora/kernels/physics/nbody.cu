// Gravitational accelerations of n bodies, all pairs: every thread reads all bodies from global memory, or the block
// brings them through shared memory in tiles. Eighteen operations and a reciprocal square root a pair: bound by
// the fp32 pipe, near the power limit of the board.
// Usage: nbody [n]
#include "../common.cuh"

constexpr int kThreads = 256;
constexpr float kSoftening = 1e-2f;

// Adds what `other` (position, mass in w) does to `body`.
__device__ float3 attract(float3 acceleration, float4 body, float4 other) {
    const float dx = other.x - body.x;
    const float dy = other.y - body.y;
    const float dz = other.z - body.z;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
    const float pull = other.w * inverse * inverse * inverse;
    acceleration.x += dx * pull;
    acceleration.y += dy * pull;
    acceleration.z += dz * pull;
    return acceleration;
}

__global__ void nbodyNaive(const float4* __restrict__ bodies, float4* __restrict__ accelerations, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float4 body = bodies[i];
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int j = 0; j < n; ++j) {
        sum = attract(sum, body, bodies[j]);
    }
    accelerations[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
}

__global__ void nbodyTiled(const float4* __restrict__ bodies, float4* __restrict__ accelerations, int n) {
    __shared__ float4 tile[kThreads];
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const float4 body = bodies[min(i, n - 1)];
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start < n; start += kThreads) {
        const int j = start + threadIdx.x;
        // Behind the last body stand bodies without mass.
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
        for (int k = 0; k < kThreads; ++k) {
            sum = attract(sum, body, tile[k]);
        }
        __syncthreads();
    }
    if (i < n) {
        accelerations[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
    }
}

static bool isAcceleration(float4 actual, const std::vector<float4>& bodies, int i) {
    double x = 0.0, y = 0.0, z = 0.0;
    for (const float4& other : bodies) {
        const double dx = static_cast<double>(other.x) - bodies[i].x;
        const double dy = static_cast<double>(other.y) - bodies[i].y;
        const double dz = static_cast<double>(other.z) - bodies[i].z;
        const double distance = std::sqrt(dx * dx + dy * dy + dz * dz + kSoftening);
        const double pull = other.w / (distance * distance * distance);
        x += dx * pull;
        y += dy * pull;
        z += dz * pull;
    }
    // Pulls from all sides cancel: the error is relative to the sum of their sizes, which is near 1.
    return near(actual.x, x, 1e-3) && near(actual.y, y, 1e-3) && near(actual.z, z, 1e-3);
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 16384;

    std::vector<float4> bodies(n);
    for (int i = 0; i < n; ++i) {
        const unsigned seed = static_cast<unsigned>(i) * 2654435761u;
        bodies[i].x = static_cast<float>(seed % 1021) / 1021.0f - 0.3f;
        bodies[i].y = static_cast<float>(seed / 1021 % 1019) / 1019.0f - 0.5f;
        bodies[i].z = static_cast<float>(seed / 1040399 % 1013) / 1013.0f - 0.7f;
        bodies[i].w = (1.0f + static_cast<float>(i % 5)) / (3.0f * static_cast<float>(n));
    }
    float4* dBodies = toDevice(bodies);
    float4* dNaive = deviceZeros<float4>(n);
    float4* dTiled = deviceZeros<float4>(n);

    const int blocks = (n + kThreads - 1) / kThreads;
    nbodyNaive<<<blocks, kThreads>>>(dBodies, dNaive, n);
    nbodyTiled<<<blocks, kThreads>>>(dBodies, dTiled, n);

    const std::vector<float4> naive = toHost(dNaive, n);
    const std::vector<float4> tiled = toHost(dTiled, n);
    const int step = n > 128 ? n / 128 + 1 : 1;  // the reference checks about 128 bodies
    bool ok = true;
    for (int i = 0; i < n; i += step) {
        ok = ok && isAcceleration(naive[i], bodies, i) && isAcceleration(tiled[i], bodies, i);
    }
    cudaFree(dBodies);
    cudaFree(dNaive);
    cudaFree(dTiled);
    return report(ok, "all-pairs gravitation");
}
