// Batch of complex radix-2 FFTs of 1024 points by Stockham's algorithm (no bit reversal), twice: with a
// launch per stage, which moves all points through DRAM for one butterfly a thread, and with a block per
// transform, which keeps them in shared memory for all ten stages and pays in barriers instead.
// Usage: fft_radix2 [batch]
#include <complex>

#include "../common.cuh"

constexpr int kLog2Length = 10;
constexpr int kLength = 1 << kLog2Length;
constexpr int kThreads = kLength / 2;

__device__ float2 twiddle(int k, int half) {
    float sine, cosine;
    sincospif(-static_cast<float>(k) / half, &sine, &cosine);
    return make_float2(cosine, sine);
}

__device__ float2 product(float2 a, float2 b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__global__ void fftStage(const float2* in, float2* out, int stage) {
    const int i = threadIdx.x;
    const int half = 1 << stage;
    const int k = i & (half - 1);  // place within the sub-transforms that are done
    const float2* x = in + blockIdx.x * kLength;
    float2* y = out + blockIdx.x * kLength;
    const float2 a = x[i];
    const float2 b = product(twiddle(k, half), x[i + kLength / 2]);
    const int place = 2 * i - k;
    y[place] = make_float2(a.x + b.x, a.y + b.y);
    y[place + half] = make_float2(a.x - b.x, a.y - b.y);
}

__global__ void fftShared(const float2* in, float2* out) {
    __shared__ float2 buffers[2][kLength];
    const int i = threadIdx.x;
    const int base = blockIdx.x * kLength;
    buffers[0][i] = in[base + i];
    buffers[0][i + kThreads] = in[base + i + kThreads];
    __syncthreads();
    for (int stage = 0; stage < kLog2Length; ++stage) {
        const float2* x = buffers[stage % 2];
        float2* y = buffers[(stage + 1) % 2];
        const int half = 1 << stage;
        const int k = i & (half - 1);
        const float2 a = x[i];
        const float2 b = product(twiddle(k, half), x[i + kLength / 2]);
        const int place = 2 * i - k;
        y[place] = make_float2(a.x + b.x, a.y + b.y);
        y[place + half] = make_float2(a.x - b.x, a.y - b.y);
        __syncthreads();
    }
    out[base + i] = buffers[kLog2Length % 2][i];
    out[base + i + kThreads] = buffers[kLog2Length % 2][i + kThreads];
}

using Spectrum = std::vector<std::complex<double>>;

// Recursive decimation in time, in double.
Spectrum reference(const float2* x, int length, int stride) {
    if (length == 1) {
        return {std::complex<double>(x->x, x->y)};
    }
    const Spectrum even = reference(x, length / 2, 2 * stride);
    const Spectrum odd = reference(x + stride, length / 2, 2 * stride);
    Spectrum y(length);
    for (int k = 0; k < length / 2; ++k) {
        const std::complex<double> turned = std::polar(1.0, -2.0 * M_PI * k / length) * odd[k];
        y[k] = even[k] + turned;
        y[k + length / 2] = even[k] - turned;
    }
    return y;
}

bool matches(const float2* out, const Spectrum& expected) {
    for (int k = 0; k < kLength; ++k) {
        if (!near(out[k].x, expected[k].real(), 1e-3) || !near(out[k].y, expected[k].imag(), 1e-3)) {
            return false;
        }
    }
    return true;
}

int main(int argc, char** argv) {
    const int batch = argc > 1 ? atoi(argv[1]) : 1024;
    const int n = batch * kLength;

    std::vector<float2> in(n);
    for (int i = 0; i < n; ++i) {
        const unsigned hash = i * 2654435761u;
        in[i] = make_float2((hash >> 16) / 65536.0f - 0.5f, (hash >> 12 & 0xffff) / 65536.0f - 0.5f);
    }
    const float2* dIn = toDevice(in);
    float2* dShared = deviceZeros<float2>(n);
    float2* dStage = toDevice(in);
    float2* dOther = deviceZeros<float2>(n);

    fftShared<<<batch, kThreads>>>(dIn, dShared);
    for (int stage = 0; stage < kLog2Length; ++stage) {
        fftStage<<<batch, kThreads>>>(dStage, dOther, stage);
        std::swap(dStage, dOther);
    }

    const std::vector<float2> shared = toHost(dShared, n);
    const std::vector<float2> staged = toHost(dStage, n);
    bool ok = true;
    for (int transform = 0; transform < batch; transform += 1 + batch / 256) {  // a sample of a large batch
        const Spectrum expected = reference(&in[transform * kLength], kLength, 1);
        ok = ok && matches(&shared[transform * kLength], expected) &&
             matches(&staged[transform * kLength], expected);
    }
    return report(ok, "spectra");
}
