// Black-Scholes prices of European call and put options, one option per thread and pass.
// Usage: black_scholes [options]
#include "../common.cuh"

constexpr int kThreads = 128;
constexpr int kBlocks = 480;

// Cumulative normal distribution: polynomial of Abramowitz and Stegun, formula 26.2.17.
__device__ float cumulativeNormal(float x) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    const float tail =
        0.39894228f * expf(-0.5f * x * x) * k *
        (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return x > 0.0f ? 1.0f - tail : tail;
}

__global__ void blackScholes(const float* price, const float* strike, const float* years, float* call, float* put,
                             float rate, float volatility, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const float s = price[i];
        const float x = strike[i];
        const float t = years[i];
        const float deviation = volatility * sqrtf(t);
        const float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
        const float d2 = d1 - deviation;
        const float n1 = cumulativeNormal(d1);
        const float n2 = cumulativeNormal(d2);
        const float discounted = x * expf(-rate * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
    const float rate = 0.02f;
    const float volatility = 0.3f;

    std::vector<float> price(n), strike(n), years(n);
    for (int i = 0; i < n; ++i) {
        price[i] = 5.0f + 25.0f * static_cast<float>(i % 101) / 101.0f;
        strike[i] = 1.0f + 99.0f * static_cast<float>(i % 89) / 89.0f;
        years[i] = 0.25f + 9.75f * static_cast<float>(i % 67) / 67.0f;
    }

    float* dPrice = toDevice(price);
    float* dStrike = toDevice(strike);
    float* dYears = toDevice(years);
    float* dCall = deviceZeros<float>(n);
    float* dPut = deviceZeros<float>(n);

    blackScholes<<<kBlocks, kThreads>>>(dPrice, dStrike, dYears, dCall, dPut, rate, volatility, n);
    const std::vector<float> call = toHost(dCall, n);
    const std::vector<float> put = toHost(dPut, n);

    bool ok = true;
    for (int i = 0; i < n; ++i) {
        const double deviation = volatility * std::sqrt(static_cast<double>(years[i]));
        const double d1 =
            (std::log(static_cast<double>(price[i]) / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) /
            deviation;
        const double n1 = 0.5 * std::erfc(-d1 / std::sqrt(2.0));
        const double n2 = 0.5 * std::erfc(-(d1 - deviation) / std::sqrt(2.0));
        const double discounted = strike[i] * std::exp(-static_cast<double>(rate) * years[i]);
        ok = ok && std::fabs(call[i] - (price[i] * n1 - discounted * n2)) < 1e-3;
        ok = ok && std::fabs(put[i] - (discounted * (1.0 - n2) - price[i] * (1.0 - n1))) < 1e-3;
    }
    cudaFree(dPrice);
    cudaFree(dStrike);
    cudaFree(dYears);
    cudaFree(dCall);
    cudaFree(dPut);
    return report(ok, "black_scholes");
}
