// Lattice Boltzmann D2Q9 with BGK collisions on a periodic square, pull scheme: a step reads nine distributions from
// the neighbours, relaxes them towards equilibrium and writes them. Twice, with the distributions of a cell side by
// side (array of structures: a warp touches nine times the cache lines it uses at once) and with one array for each
// direction (structure of arrays: coalesced). Bandwidth decides the power, coalescing decides the bandwidth.
// Usage: lbm [n] [steps]
#include "../common.cuh"

constexpr int kDirections = 9;
constexpr int kBlockX = 64;
constexpr int kBlockY = 4;

__device__ void collide(float f[kDirections], float relaxation) {
    const float density = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    const float inverse = 1.0f / density;
    const float u = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) * inverse;
    const float v = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) * inverse;
    const float rest = 1.0f - 1.5f * (u * u + v * v);
    const float axis = density / 9.0f;
    const float diagonal = density / 36.0f;
    const float sum = u + v;
    const float difference = u - v;
    f[0] += relaxation * (4.0f * axis * rest - f[0]);
    f[1] += relaxation * (axis * (rest + 3.0f * u + 4.5f * u * u) - f[1]);
    f[2] += relaxation * (axis * (rest + 3.0f * v + 4.5f * v * v) - f[2]);
    f[3] += relaxation * (axis * (rest - 3.0f * u + 4.5f * u * u) - f[3]);
    f[4] += relaxation * (axis * (rest - 3.0f * v + 4.5f * v * v) - f[4]);
    f[5] += relaxation * (diagonal * (rest + 3.0f * sum + 4.5f * sum * sum) - f[5]);
    f[6] += relaxation * (diagonal * (rest - 3.0f * difference + 4.5f * difference * difference) - f[6]);
    f[7] += relaxation * (diagonal * (rest - 3.0f * sum + 4.5f * sum * sum) - f[7]);
    f[8] += relaxation * (diagonal * (rest + 3.0f * difference + 4.5f * difference * difference) - f[8]);
}

// Cells from which the distributions of the nine directions come, for the cell (x, y).
__device__ void sources(int cell[kDirections], int x, int y, int n) {
    const int west = x > 0 ? x - 1 : n - 1;
    const int east = x < n - 1 ? x + 1 : 0;
    const int south = (y > 0 ? y - 1 : n - 1) * n;
    const int north = (y < n - 1 ? y + 1 : 0) * n;
    cell[0] = y * n + x;
    cell[1] = y * n + west;
    cell[2] = south + x;
    cell[3] = y * n + east;
    cell[4] = north + x;
    cell[5] = south + west;
    cell[6] = south + east;
    cell[7] = north + east;
    cell[8] = north + west;
}

__global__ void lbmArrayOfStructures(const float* __restrict__ before, float* __restrict__ after, float relaxation,
                                     int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) {
        return;
    }
    int cell[kDirections];
    sources(cell, x, y, n);
    float f[kDirections];
#pragma unroll
    for (int q = 0; q < kDirections; ++q) {
        f[q] = before[cell[q] * kDirections + q];
    }
    collide(f, relaxation);
#pragma unroll
    for (int q = 0; q < kDirections; ++q) {
        after[(y * n + x) * kDirections + q] = f[q];
    }
}

__global__ void lbmStructureOfArrays(const float* __restrict__ before, float* __restrict__ after, float relaxation,
                                     int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) {
        return;
    }
    int cell[kDirections];
    sources(cell, x, y, n);
    float f[kDirections];
#pragma unroll
    for (int q = 0; q < kDirections; ++q) {
        f[q] = before[q * n * n + cell[q]];
    }
    collide(f, relaxation);
#pragma unroll
    for (int q = 0; q < kDirections; ++q) {
        after[q * n * n + y * n + x] = f[q];
    }
}

// One step with the equilibrium in its textbook form; array of structures.
static void stepOnHost(const float* before, float* after, double relaxation, int n) {
    const int cx[kDirections] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int cy[kDirections] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const double weight[kDirections] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                        1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
            double f[kDirections];
            double density = 0.0, u = 0.0, v = 0.0;
            for (int q = 0; q < kDirections; ++q) {
                const size_t from = static_cast<size_t>((y - cy[q] + n) % n) * n + (x - cx[q] + n) % n;
                f[q] = before[from * kDirections + q];
                density += f[q];
                u += cx[q] * f[q];
                v += cy[q] * f[q];
            }
            u /= density;
            v /= density;
            float* cell = after + (static_cast<size_t>(y) * n + x) * kDirections;
            for (int q = 0; q < kDirections; ++q) {
                const double along = cx[q] * u + cy[q] * v;
                const double equilibrium =
                    weight[q] * density * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * (u * u + v * v));
                cell[q] = static_cast<float>(f[q] + relaxation * (equilibrium - f[q]));
            }
        }
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1024;
    const int steps = argc > 2 ? atoi(argv[2]) : 2;
    const size_t cells = static_cast<size_t>(n) * n;
    const float relaxation = 1.2f;

    std::vector<float> structures(cells * kDirections), arrays(cells * kDirections), scratch(cells * kDirections);
    for (size_t cell = 0; cell < cells; ++cell) {
        for (int q = 0; q < kDirections; ++q) {
            const float f = 0.05f + 0.1f * static_cast<float>((cell * kDirections + q) * 7919 % 997) / 997.0f;
            structures[cell * kDirections + q] = f;
            arrays[q * cells + cell] = f;
        }
    }
    float* dStructures = toDevice(structures);
    float* dArrays = toDevice(arrays);
    float* dNextStructures = deviceZeros<float>(cells * kDirections);
    float* dNextArrays = deviceZeros<float>(cells * kDirections);

    const dim3 block(kBlockX, kBlockY);
    const dim3 grid((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY);
    for (int step = 0; step < steps; ++step) {
        lbmArrayOfStructures<<<grid, block>>>(dStructures, dNextStructures, relaxation, n);
        lbmStructureOfArrays<<<grid, block>>>(dArrays, dNextArrays, relaxation, n);
        std::swap(dStructures, dNextStructures);
        std::swap(dArrays, dNextArrays);
        stepOnHost(structures.data(), scratch.data(), relaxation, n);
        std::swap(structures, scratch);
    }

    const std::vector<float> fromStructures = toHost(dStructures, cells * kDirections);
    const std::vector<float> fromArrays = toHost(dArrays, cells * kDirections);
    bool ok = true;
    for (size_t cell = 0; cell < cells; ++cell) {
        for (int q = 0; q < kDirections; ++q) {
            const float expected = structures[cell * kDirections + q];
            ok = ok && near(fromStructures[cell * kDirections + q], expected, 1e-5);
            ok = ok && near(fromArrays[q * cells + cell], expected, 1e-5);
        }
    }
    cudaFree(dStructures);
    cudaFree(dArrays);
    cudaFree(dNextStructures);
    cudaFree(dNextArrays);
    return report(ok, "lattice Boltzmann D2Q9");
}
