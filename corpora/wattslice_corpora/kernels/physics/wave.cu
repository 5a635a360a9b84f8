// Acoustic waves in an inhomogeneous medium, double precision: second order in time, fourth in space, one launch a
// step with three wave fields that change roles. Fifteen fp64 operations and 32 bytes of DRAM traffic a point: the
// memory decides the power where fp64 units abound; where they are few, they work nearly as hard as the memory.
// Usage: wave [n] [steps]
#include "../common.cuh"

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
constexpr int kMargin = 2;  // where the wave stays zero

__global__ void waveStep(const double* __restrict__ previous, const double* __restrict__ current,
                         double* __restrict__ next, const double* __restrict__ courantSquared, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < kMargin || y < kMargin || x >= n - kMargin || y >= n - kMargin) {
        return;
    }
    const int i = y * n + x;
    const double adjacent = current[i - 1] + current[i + 1] + current[i - n] + current[i + n];
    const double distant = current[i - 2] + current[i + 2] + current[i - 2 * n] + current[i + 2 * n];
    const double laplacian = (16.0 * adjacent - distant - 60.0 * current[i]) * (1.0 / 12.0);
    next[i] = 2.0 * current[i] - previous[i] + courantSquared[i] * laplacian;
}

static void waveStepOnHost(const double* previous, const double* current, double* next, const double* courantSquared,
                           int n) {
    const double weight[3] = {-5.0 / 2.0, 4.0 / 3.0, -1.0 / 12.0};
    for (int y = kMargin; y < n - kMargin; ++y) {
        for (int x = kMargin; x < n - kMargin; ++x) {
            const double* point = current + static_cast<size_t>(y) * n + x;
            double laplacian = 2.0 * weight[0] * point[0];
            for (int r = 1; r <= 2; ++r) {
                laplacian += weight[r] * (point[-r] + point[r] + point[-r * n] + point[r * n]);
            }
            const size_t i = static_cast<size_t>(y) * n + x;
            next[i] = 2.0 * point[0] - previous[i] + courantSquared[i] * laplacian;
        }
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 2048;
    const int steps = argc > 2 ? atoi(argv[2]) : 4;
    const size_t count = static_cast<size_t>(n) * n;

    std::vector<double> previous(count), current(count), next(count), courantSquared(count);
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
            const size_t i = static_cast<size_t>(y) * n + x;
            courantSquared[i] = 0.1 + 0.2 * ((x / 32 + y / 48) % 3) / 3.0;
            const bool inside = x >= kMargin && y >= kMargin && x < n - kMargin && y < n - kMargin;
            current[i] = inside ? std::sin(0.05 * x) * std::cos(0.07 * y) : 0.0;
            previous[i] = current[i];
        }
    }
    double* dPrevious = toDevice(previous);
    double* dCurrent = toDevice(current);
    double* dNext = deviceZeros<double>(count);
    double* dCourantSquared = toDevice(courantSquared);

    const dim3 block(kBlockX, kBlockY);
    const dim3 grid((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY);
    for (int step = 0; step < steps; ++step) {
        waveStep<<<grid, block>>>(dPrevious, dCurrent, dNext, dCourantSquared, n);
        double* const oldest = dPrevious;
        dPrevious = dCurrent;
        dCurrent = dNext;
        dNext = oldest;
        waveStepOnHost(previous.data(), current.data(), next.data(), courantSquared.data(), n);
        previous.swap(current);
        current.swap(next);
    }

    const std::vector<double> result = toHost(dCurrent, count);
    bool ok = true;
    for (size_t i = 0; i < count; ++i) {
        ok = ok && near(result[i], current[i], 1e-12);
    }
    cudaFree(dPrevious);
    cudaFree(dCurrent);
    cudaFree(dNext);
    cudaFree(dCourantSquared);
    return report(ok, "acoustic waves");
}
