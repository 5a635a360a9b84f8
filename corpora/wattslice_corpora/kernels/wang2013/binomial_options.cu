// European call options on a binomial (Cox-Ross-Rubinstein) tree: one block per option, the values
// of one time step in shared memory, option data in constant memory.
// Usage: binomial_options [options]    (at most 1024)
#include "../common.cuh"

constexpr int kSteps = 1024;
constexpr int kThreads = 256;
constexpr int kMaxOptions = 1024;

struct OptionData {
    float price;        // of the share today
    float strike;
    float logStep;      // volatility * sqrt(dt): logarithm of one step up
    float discountUp;   // discount factor times probability of a step up
    float discountDown;
};

__constant__ OptionData options[kMaxOptions];

__global__ void binomialOptions(float* values) {
    __shared__ float calls[kSteps + 1];
    const int tid = threadIdx.x;
    const OptionData option = options[blockIdx.x];
    for (int i = tid; i <= kSteps; i += blockDim.x) {
        const float terminal = option.price * expf(option.logStep * (2.0f * i - kSteps));
        calls[i] = fmaxf(terminal - option.strike, 0.0f);
    }
    __syncthreads();
    for (int step = kSteps; step > 0; --step) {
        // Everybody reads before anybody writes; rounds of kThreads nodes from low to high.
        for (int start = 0; start < step; start += kThreads) {
            const int i = start + tid;
            float value = 0.0f;
            if (i < step) {
                value = option.discountUp * calls[i + 1] + option.discountDown * calls[i];
            }
            __syncthreads();
            if (i < step) {
                calls[i] = value;
            }
            __syncthreads();
        }
    }
    if (tid == 0) {
        values[blockIdx.x] = calls[0];
    }
}

static double cumulativeNormal(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

int main(int argc, char** argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 512;
    if (count > kMaxOptions) {
        fprintf(stderr, "at most %d options\n", kMaxOptions);
        return 1;
    }
    const double rate = 0.06;
    const double volatility = 0.1;

    std::vector<OptionData> data(count);
    std::vector<double> expected(count);
    for (int i = 0; i < count; ++i) {
        const double price = 5.0 + 25.0 * (i % 97) / 97.0;
        const double strike = price * (0.8 + 0.4 * (i % 31) / 31.0);
        const double years = 0.25 + 9.75 * (i % 53) / 53.0;
        const double dt = years / kSteps;
        const double logStep = volatility * std::sqrt(dt);
        const double up = std::exp(logStep);
        const double down = std::exp(-logStep);
        const double probabilityUp = (std::exp(rate * dt) - down) / (up - down);
        const double discount = std::exp(-rate * dt);
        data[i].price = static_cast<float>(price);
        data[i].strike = static_cast<float>(strike);
        data[i].logStep = static_cast<float>(logStep);
        data[i].discountUp = static_cast<float>(discount * probabilityUp);
        data[i].discountDown = static_cast<float>(discount * (1.0 - probabilityUp));
        // The tree converges to the closed form of Black and Scholes.
        const double d1 = (std::log(price / strike) + (rate + 0.5 * volatility * volatility) * years) /
                          (volatility * std::sqrt(years));
        const double d2 = d1 - volatility * std::sqrt(years);
        expected[i] = price * cumulativeNormal(d1) - strike * std::exp(-rate * years) * cumulativeNormal(d2);
    }

    float* dValues = deviceZeros<float>(count);
    CUDA_CHECK(cudaMemcpyToSymbol(options, data.data(), count * sizeof(OptionData)));
    binomialOptions<<<count, kThreads>>>(dValues);
    const std::vector<float> values = toHost(dValues, count);

    bool ok = true;
    for (int i = 0; i < count; ++i) {
        ok = ok && std::fabs(values[i] - expected[i]) < 5e-3 * (1.0 + expected[i]);
    }
    cudaFree(dValues);
    return report(ok, "binomial_options");
}
