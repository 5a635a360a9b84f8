// Monte Carlo price of a call option on the geometric mean of a share's price: every thread follows its own paths
// with normal deviates from the counter-based generator Philox 4x32-10 and the Box-Muller transform. No memory traffic
// but the sums: 32-bit multiplications of the generator and the special function unit decide the power.
// Usage: asian_option [paths] [steps]    (steps: a multiple of 4)
#include "../common.cuh"

#include <cstdint>

constexpr int kThreads = 256;
constexpr int kMaxBlocks = 1024;
constexpr unsigned kSeed = 2013;

struct Option {
    float logPrice;  // of the share today
    float drift;     // of the logarithm in one step
    float spread;    // standard deviation of the logarithm in one step
    float strike;
    float discount;
};

// Ten rounds of Philox (Salmon et al. 2011): four random words for each counter and key.
__host__ __device__ uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t first = static_cast<uint64_t>(0xD2511F53u) * counter.x;
        const uint64_t second = static_cast<uint64_t>(0xCD9E8D57u) * counter.z;
        counter = make_uint4(static_cast<uint32_t>(second >> 32) ^ counter.y ^ key.x, static_cast<uint32_t>(second),
                             static_cast<uint32_t>(first >> 32) ^ counter.w ^ key.y, static_cast<uint32_t>(first));
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

// Two standard normal deviates from two random words.
__device__ float2 boxMuller(uint32_t first, uint32_t second) {
    const float uniform = (static_cast<float>(first >> 8) + 0.5f) * (1.0f / 16777216.0f);
    const float angle = static_cast<float>(second) * (6.2831853f / 4294967296.0f);
    const float radius = sqrtf(-2.0f * logf(uniform));
    return make_float2(radius * cosf(angle), radius * sinf(angle));
}

__global__ void asianOption(Option option, float* payoffs, float* squares, int paths, int steps) {
    __shared__ float sums[2][kThreads];
    float sum = 0.0f;
    float sumOfSquares = 0.0f;
    for (int path = blockIdx.x * blockDim.x + threadIdx.x; path < paths; path += gridDim.x * blockDim.x) {
        float logPrice = option.logPrice;
        float logMean = 0.0f;
        for (int step = 0; step < steps; step += 4) {
            const uint4 random = philox(make_uint4(path, step, 0u, 0u), make_uint2(kSeed, 0u));
            const float2 one = boxMuller(random.x, random.y);
            const float2 two = boxMuller(random.z, random.w);
            logPrice += option.drift + option.spread * one.x;
            logMean += logPrice;
            logPrice += option.drift + option.spread * one.y;
            logMean += logPrice;
            logPrice += option.drift + option.spread * two.x;
            logMean += logPrice;
            logPrice += option.drift + option.spread * two.y;
            logMean += logPrice;
        }
        const float mean = expf(logMean / static_cast<float>(steps));
        const float payoff = option.discount * fmaxf(mean - option.strike, 0.0f);
        sum += payoff;
        sumOfSquares += payoff * payoff;
    }
    const int tid = threadIdx.x;
    sums[0][tid] = sum;
    sums[1][tid] = sumOfSquares;
    __syncthreads();
    for (int stride = kThreads / 2; stride > 0; stride >>= 1) {
        if (tid < stride) {
            sums[0][tid] += sums[0][tid + stride];
            sums[1][tid] += sums[1][tid + stride];
        }
        __syncthreads();
    }
    if (tid == 0) {
        payoffs[blockIdx.x] = sums[0][0];
        squares[blockIdx.x] = sums[1][0];
    }
}

// Payoff of one path in double precision.
static double payoffOnHost(const Option& option, int path, int steps) {
    const double pi = 3.14159265358979;
    double logPrice = option.logPrice;
    double logMean = 0.0;
    for (int step = 0; step < steps; step += 4) {
        const uint4 random = philox(make_uint4(path, step, 0u, 0u), make_uint2(kSeed, 0u));
        const uint32_t words[4] = {random.x, random.y, random.z, random.w};
        for (int i = 0; i < 4; ++i) {
            const double uniform = ((words[i / 2 * 2] >> 8) + 0.5) / 16777216.0;
            const double angle = words[i / 2 * 2 + 1] * (2.0 * pi / 4294967296.0);
            const double radius = std::sqrt(-2.0 * std::log(uniform));
            const double normal = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
            logPrice += option.drift + option.spread * normal;
            logMean += logPrice / steps;
        }
    }
    return option.discount * std::fmax(std::exp(logMean) - option.strike, 0.0);
}

static double cumulativeNormal(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

int main(int argc, char** argv) {
    const int paths = argc > 1 ? atoi(argv[1]) : 1 << 18;
    const int steps = argc > 2 ? atoi(argv[2]) : 64;
    if (steps % 4 != 0) {
        fprintf(stderr, "the number of steps must be a multiple of 4\n");
        return 1;
    }
    const double price = 100.0, strike = 95.0, rate = 0.05, volatility = 0.2, years = 1.0;
    const double dt = years / steps;
    const Option option = {static_cast<float>(std::log(price)),
                           static_cast<float>((rate - 0.5 * volatility * volatility) * dt),
                           static_cast<float>(volatility * std::sqrt(dt)), static_cast<float>(strike),
                           static_cast<float>(std::exp(-rate * years))};

    int blocks = (paths + kThreads - 1) / kThreads;
    if (blocks > kMaxBlocks) {
        blocks = kMaxBlocks;
    }
    float* dPayoffs = deviceZeros<float>(blocks);
    float* dSquares = deviceZeros<float>(blocks);
    asianOption<<<blocks, kThreads>>>(option, dPayoffs, dSquares, paths, steps);

    // The paths of the first block, one by one.
    const std::vector<float> payoffs = toHost(dPayoffs, blocks);
    double firstBlock = 0.0;
    for (int path = 0; path < paths; ++path) {
        if (path / kThreads % blocks == 0) {
            firstBlock += payoffOnHost(option, path, steps);
        }
    }
    // The published test vector of the generator.
    const uint4 zero = philox(make_uint4(0u, 0u, 0u, 0u), make_uint2(0u, 0u));
    const bool known = zero.x == 0x6627e8d5u && zero.y == 0xe169c58du && zero.z == 0xbc57ac4cu && zero.w == 0x9b00dbd8u;

    double sum = 0.0, sumOfSquares = 0.0;
    for (const float payoff : payoffs) {
        sum += payoff;
    }
    for (const float square : toHost(dSquares, blocks)) {
        sumOfSquares += square;
    }
    const double mean = sum / paths;
    const double error = std::sqrt((sumOfSquares / paths - mean * mean) / paths);

    // The logarithm of the geometric mean is normal: the price has a closed form (Kemna & Vorst 1990).
    const double logMean = std::log(price) + (rate - 0.5 * volatility * volatility) * dt * (steps + 1) / 2.0;
    const double variance = volatility * volatility * dt * (steps + 1.0) * (2.0 * steps + 1.0) / (6.0 * steps);
    const double d = (logMean - std::log(strike) + variance) / std::sqrt(variance);
    const double expected = std::exp(-rate * years) * (std::exp(logMean + 0.5 * variance) * cumulativeNormal(d) -
                                                       strike * cumulativeNormal(d - std::sqrt(variance)));
    printf("price %.4f, closed form %.4f, standard error %.4f\n", mean, expected, error);
    const bool ok = known && near(payoffs[0], firstBlock, 1e-3) && near(mean, expected, 4.0 * error / expected);
    cudaFree(dPayoffs);
    cudaFree(dSquares);
    return report(ok, "Monte Carlo price of an Asian option");
}
