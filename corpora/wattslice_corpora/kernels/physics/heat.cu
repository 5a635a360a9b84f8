// Heat conduction in a plate with insulated edges: explicit time steps, one launch each, between two buffers that
// change roles. Five loads and one store for seven operations: bound by DRAM bandwidth once the plate is larger
// than the L2 cache, and by the cache while it is not.
// Usage: heat [n] [steps]
#include "../common.cuh"

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;

__global__ void heatStep(const float* __restrict__ before, float* __restrict__ after, float diffusion, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) {
        return;
    }
    // At an edge the neighbour outside is the point itself: no heat flows through.
    const int left = max(x - 1, 0);
    const int right = min(x + 1, n - 1);
    const int up = max(y - 1, 0);
    const int down = min(y + 1, n - 1);
    const float here = before[y * n + x];
    const float around = before[y * n + left] + before[y * n + right] + before[up * n + x] + before[down * n + x];
    after[y * n + x] = here + diffusion * (around - 4.0f * here);
}

static void heatStepOnHost(const float* before, float* after, float diffusion, int n) {
    for (int y = 0; y < n; ++y) {
        const float* row = before + static_cast<size_t>(y) * n;
        const float* above = y > 0 ? row - n : row;
        const float* below = y < n - 1 ? row + n : row;
        for (int x = 0; x < n; ++x) {
            const double left = row[x > 0 ? x - 1 : x];
            const double right = row[x < n - 1 ? x + 1 : x];
            const double change = left + right + above[x] + below[x] - 4.0 * row[x];
            after[static_cast<size_t>(y) * n + x] = static_cast<float>(row[x] + diffusion * change);
        }
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 2048;
    const int steps = argc > 2 ? atoi(argv[2]) : 8;
    const size_t count = static_cast<size_t>(n) * n;
    const float diffusion = 0.2f;

    std::vector<float> before(count), after(count);
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
            const bool hot = (x / 7 + y / 5) % 3 == 0;
            before[static_cast<size_t>(y) * n + x] = hot ? 80.0f : 20.0f;
        }
    }
    float* dBefore = toDevice(before);
    float* dAfter = deviceZeros<float>(count);

    const dim3 block(kBlockX, kBlockY);
    const dim3 grid((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY);
    for (int step = 0; step < steps; ++step) {
        heatStep<<<grid, block>>>(dBefore, dAfter, diffusion, n);
        std::swap(dBefore, dAfter);
        heatStepOnHost(before.data(), after.data(), diffusion, n);
        std::swap(before, after);
    }

    const std::vector<float> result = toHost(dBefore, count);
    bool ok = true;
    for (size_t i = 0; i < count; ++i) {
        ok = ok && near(result[i], before[i], 1e-5);
    }
    cudaFree(dBefore);
    cudaFree(dAfter);
    return report(ok, "heat conduction");
}
