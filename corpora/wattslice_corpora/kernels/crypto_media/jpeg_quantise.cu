// Quantisation of 8 x 8 blocks of transform coefficients as in JPEG: rounded quotients in zigzag order and a
// bit mask of those that are not zero, a thread per coefficient. Twice: with an integer division, some
// twenty instructions, and with a multiplication by the reciprocal; both stream their input.
// Usage: jpeg_quantise [tiles]    (a multiple of 4)
#include <cstdint>

#include "../common.cuh"

constexpr int kTile = 64;  // coefficients
constexpr int kTilesPerBlock = 4;
constexpr int kThreads = kTilesPerBlock * kTile;

__constant__ uint32_t divisors[kTile];
__constant__ uint32_t reciprocals[kTile];  // rounded up, in units of 2^-32
__constant__ uint8_t zigzag[kTile];        // place of each coefficient

// Puts the quotient, given its magnitude, at its place of the tile; `masks` has two words per tile.
__device__ void storeQuotient(int16_t coefficient, uint32_t magnitude, int16_t* out, uint32_t* masks) {
    __shared__ int16_t ordered[kThreads];
    const int tid = threadIdx.x;
    const int position = tid % kTile;
    const int quotient = static_cast<int>(magnitude);
    ordered[tid - position + zigzag[position]] = static_cast<int16_t>(coefficient < 0 ? -quotient : quotient);
    __syncthreads();
    const int16_t mine = ordered[tid];
    const int i = blockIdx.x * kThreads + tid;
    out[i] = mine;
    const uint32_t present = __ballot_sync(0xffffffffu, mine != 0);
    if (tid % 32 == 0) {
        masks[i / 32] = present;
    }
}

__global__ void quantiseDivide(const int16_t* coefficients, int16_t* out, uint32_t* masks) {
    const int16_t coefficient = coefficients[blockIdx.x * kThreads + threadIdx.x];
    const uint32_t divisor = divisors[threadIdx.x % kTile];
    storeQuotient(coefficient, (abs(coefficient) + divisor / 2) / divisor, out, masks);
}

__global__ void quantiseMultiply(const int16_t* coefficients, int16_t* out, uint32_t* masks) {
    const int16_t coefficient = coefficients[blockIdx.x * kThreads + threadIdx.x];
    const int position = threadIdx.x % kTile;
    const uint32_t rounded = abs(coefficient) + divisors[position] / 2;
    storeQuotient(coefficient, __umulhi(rounded, reciprocals[position]), out, masks);
}

int main(int argc, char** argv) {
    const int tiles = argc > 1 ? atoi(argv[1]) : 32400;
    const int n = tiles * kTile;
    if (tiles % kTilesPerBlock != 0) {
        fprintf(stderr, "tiles must be a multiple of %d\n", kTilesPerBlock);
        return 1;
    }

    // Coarser for higher frequencies, along the anti-diagonals that the zigzag follows.
    std::vector<uint32_t> hDivisors(kTile), hReciprocals(kTile);
    std::vector<uint8_t> hZigzag(kTile);
    uint8_t place = 0;
    for (int diagonal = 0; diagonal < 15; ++diagonal) {
        for (int step = 0; step <= diagonal; ++step) {
            const int row = diagonal % 2 == 0 ? diagonal - step : step;
            const int column = diagonal - row;
            if (row < 8 && column < 8) {
                hZigzag[8 * row + column] = place++;
                hDivisors[8 * row + column] = 11 + 6 * diagonal;
                hReciprocals[8 * row + column] = 0xffffffffu / (11 + 6 * diagonal) + 1;
            }
        }
    }
    std::vector<int16_t> coefficients(n);
    for (int i = 0; i < n; ++i) {
        const int position = i % kTile;
        const int scale = 2048 / (1 + (position / 8 + position % 8) * (position / 8 + position % 8));
        const int spread = static_cast<int>(i * 2654435761u >> 20) % (scale + 1);
        coefficients[i] = static_cast<int16_t>(spread - scale / 2);
    }
    CUDA_CHECK(cudaMemcpyToSymbol(divisors, hDivisors.data(), sizeof(divisors)));
    CUDA_CHECK(cudaMemcpyToSymbol(reciprocals, hReciprocals.data(), sizeof(reciprocals)));
    CUDA_CHECK(cudaMemcpyToSymbol(zigzag, hZigzag.data(), sizeof(zigzag)));
    const int16_t* dCoefficients = toDevice(coefficients);
    int16_t* dDivided = deviceZeros<int16_t>(n);
    int16_t* dMultiplied = deviceZeros<int16_t>(n);
    uint32_t* dDividedMasks = deviceZeros<uint32_t>(n / 32);
    uint32_t* dMultipliedMasks = deviceZeros<uint32_t>(n / 32);

    quantiseDivide<<<tiles / kTilesPerBlock, kThreads>>>(dCoefficients, dDivided, dDividedMasks);
    quantiseMultiply<<<tiles / kTilesPerBlock, kThreads>>>(dCoefficients, dMultiplied, dMultipliedMasks);

    std::vector<int16_t> expected(n);
    std::vector<uint32_t> masks(n / 32);
    for (int i = 0; i < n; ++i) {
        const int position = i % kTile;
        const int quotient =
            static_cast<int>(lround(static_cast<double>(coefficients[i]) / hDivisors[position]));
        const int at = i - position + hZigzag[position];
        expected[at] = static_cast<int16_t>(quotient);
        masks[at / 32] |= static_cast<uint32_t>(quotient != 0) << at % 32;
    }
    return report(toHost(dDivided, n) == expected && toHost(dMultiplied, n) == expected &&
                      toHost(dDividedMasks, n / 32) == masks && toHost(dMultipliedMasks, n / 32) == masks,
                  "quantised tiles");
}
