// Seven-point stencil on a cube. Each thread walks along z and keeps the column's three values in registers, so
// every point costs five loads instead of seven; the four neighbours in the plane come through the L1 cache.
// Bound by DRAM bandwidth: its power is that of the memory.
// Usage: stencil_3d [n]
#include "../common.cuh"

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
constexpr int kPlanes = 32;  // along z, for one thread

__global__ void stencil3d(const float* __restrict__ in, float* __restrict__ out, float centre, float side, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) {
        return;
    }
    const int plane = n * n;
    const int first = max(static_cast<int>(blockIdx.z) * kPlanes, 1);
    const int end = min(static_cast<int>(blockIdx.z) * kPlanes + kPlanes, n - 1);
    int i = first * plane + y * n + x;
    float below = in[i - plane];
    float here = in[i];
    for (int z = first; z < end; ++z) {
        const float above = in[i + plane];
        out[i] = centre * here + side * (below + above + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
        below = here;
        here = above;
        i += plane;
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 256;
    const size_t plane = static_cast<size_t>(n) * n;
    const size_t count = plane * n;
    const float centre = 0.4f;
    const float side = 0.1f;

    std::vector<float> in(count);
    for (size_t i = 0; i < count; ++i) {
        in[i] = static_cast<float>(i * 7919 % 2003) * 0.001f;
    }
    float* dIn = toDevice(in);
    float* dOut = deviceZeros<float>(count);

    const dim3 block(kBlockX, kBlockY);
    const dim3 grid((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY, (n + kPlanes - 1) / kPlanes);
    stencil3d<<<grid, block>>>(dIn, dOut, centre, side, n);

    const std::vector<float> out = toHost(dOut, count);
    bool ok = true;
    for (int z = 1; z < n - 1; ++z) {
        for (int y = 1; y < n - 1; ++y) {
            const float* row = in.data() + z * plane + static_cast<size_t>(y) * n;
            const float* result = out.data() + z * plane + static_cast<size_t>(y) * n;
            for (int x = 1; x < n - 1; ++x) {
                const double sides = static_cast<double>(row[x - 1]) + row[x + 1] + row[x - n] + row[x + n] +
                                     *(row + x - plane) + row[x + plane];
                ok = ok && near(result[x], centre * row[x] + side * sides, 1e-5);
            }
        }
    }
    cudaFree(dIn);
    cudaFree(dOut);
    return report(ok, "seven-point stencil");
}
