// Reads of columns of a 32 x 32 tile in shared memory, twice: with rows of 32 words, where the 32 lanes of a
// warp meet in one bank and are served one after the other, and with rows of 33, where each has a bank to
// itself. Loads and arithmetic are the same; the shared-memory pipe is busy 32 times as long or is not.
// Usage: bank_conflicts [tiles] [rounds]
#include "../common.cuh"

constexpr int kSide = 32;
constexpr int kWarps = 8;

__global__ void columnsConflicting(const float* in, float* out, int rounds) {
    __shared__ float tile[kSide][kSide];
    const float* from = in + blockIdx.x * kSide * kSide;
    for (int row = threadIdx.y; row < kSide; row += kWarps) {
        tile[row][threadIdx.x] = from[row * kSide + threadIdx.x];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        sum = 0.5f * sum + tile[threadIdx.x][(round + threadIdx.y) % kSide];
    }
    out[(blockIdx.x * kWarps + threadIdx.y) * kSide + threadIdx.x] = sum;
}

__global__ void columnsPadded(const float* in, float* out, int rounds) {
    __shared__ float tile[kSide][kSide + 1];
    const float* from = in + blockIdx.x * kSide * kSide;
    for (int row = threadIdx.y; row < kSide; row += kWarps) {
        tile[row][threadIdx.x] = from[row * kSide + threadIdx.x];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        sum = 0.5f * sum + tile[threadIdx.x][(round + threadIdx.y) % kSide];
    }
    out[(blockIdx.x * kWarps + threadIdx.y) * kSide + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
    const int tiles = argc > 1 ? atoi(argv[1]) : 4096;
    const int rounds = argc > 2 ? atoi(argv[2]) : 256;
    const int outputs = tiles * kWarps * kSide;

    std::vector<float> in(static_cast<size_t>(tiles) * kSide * kSide);
    for (size_t i = 0; i < in.size(); ++i) {
        in[i] = (static_cast<unsigned>(i) * 2654435761u >> 16) / 65536.0f;
    }
    const float* dIn = toDevice(in);
    float* dConflicting = deviceZeros<float>(outputs);
    float* dPadded = deviceZeros<float>(outputs);
    const dim3 block(kSide, kWarps);

    columnsConflicting<<<tiles, block>>>(dIn, dConflicting, rounds);
    columnsPadded<<<tiles, block>>>(dIn, dPadded, rounds);

    const std::vector<float> conflicting = toHost(dConflicting, outputs);
    const std::vector<float> padded = toHost(dPadded, outputs);
    bool ok = true;
    for (int i = 0; i < outputs; i += 1 + outputs / 65536) {  // a sample of many sums
        const int lane = i % kSide;
        const int warp = i / kSide % kWarps;
        const size_t tile = static_cast<size_t>(i) / (kSide * kWarps);
        double sum = 0.0;
        for (int round = 0; round < rounds; ++round) {
            sum = 0.5 * sum + in[(tile * kSide + lane) * kSide + (round + warp) % kSide];
        }
        ok = ok && near(conflicting[i], sum, 1e-5) && near(padded[i], sum, 1e-5);
    }
    return report(ok, "sums");
}
