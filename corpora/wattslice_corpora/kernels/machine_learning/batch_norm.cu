// Batch normalisation: mean and variance of each channel over all images of the batch, one block a channel, then the
// normalised images. With as many blocks as channels the statistics leave much of a large GPU idle when the channels
// are few: SM saturation decides their power, DRAM bandwidth that of the second kernel.
// Usage: batch_norm [images] [channels] [pixels]
#include "../common.cuh"

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr float kEpsilon = 1e-5f;

__device__ float warpSum(float value) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
}

__global__ void channelStatistics(const float* __restrict__ in, float* __restrict__ means,
                                  float* __restrict__ variances, int images, int channels, int pixels) {
    __shared__ float sums[kWarps];
    __shared__ float squares[kWarps];
    const int channel = blockIdx.x;
    float sum = 0.0f;
    float sumOfSquares = 0.0f;
    for (int image = 0; image < images; ++image) {
        const float* plane = in + static_cast<size_t>(image * channels + channel) * pixels;
        for (int i = threadIdx.x; i < pixels; i += kThreads) {
            const float value = plane[i];
            sum += value;
            sumOfSquares += value * value;
        }
    }
    sum = warpSum(sum);
    sumOfSquares = warpSum(sumOfSquares);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
        squares[threadIdx.x / 32] = sumOfSquares;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < kWarps; ++warp) {
            sum += sums[warp];
            sumOfSquares += squares[warp];
        }
        const float count = static_cast<float>(images) * static_cast<float>(pixels);
        const float mean = sum / count;
        means[channel] = mean;
        variances[channel] = sumOfSquares / count - mean * mean;
    }
}

__global__ void normalise(const float* __restrict__ in, const float* __restrict__ means,
                          const float* __restrict__ variances, float* __restrict__ out, int channels, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int plane = blockIdx.y;  // image * channels + channel
    if (i < pixels) {
        const int channel = plane % channels;
        const size_t at = static_cast<size_t>(plane) * pixels + i;
        out[at] = (in[at] - means[channel]) * rsqrtf(variances[channel] + kEpsilon);
    }
}

int main(int argc, char** argv) {
    const int images = argc > 1 ? atoi(argv[1]) : 16;
    const int channels = argc > 2 ? atoi(argv[2]) : 128;
    const int pixels = argc > 3 ? atoi(argv[3]) : 3136;
    const size_t count = static_cast<size_t>(images) * channels * pixels;

    std::vector<float> in(count);
    for (size_t i = 0; i < count; ++i) {
        const size_t channel = i / pixels % channels;
        in[i] = static_cast<float>(i * 7919 % 1999) / 1000.0f - 1.0f + static_cast<float>(channel % 5) * 0.2f;
    }
    float* dIn = toDevice(in);
    float* dMeans = deviceZeros<float>(channels);
    float* dVariances = deviceZeros<float>(channels);
    float* dOut = deviceZeros<float>(count);

    channelStatistics<<<channels, kThreads>>>(dIn, dMeans, dVariances, images, channels, pixels);
    const dim3 grid((pixels + kThreads - 1) / kThreads, images * channels);
    normalise<<<grid, kThreads>>>(dIn, dMeans, dVariances, dOut, channels, pixels);

    const std::vector<float> means = toHost(dMeans, channels);
    const std::vector<float> variances = toHost(dVariances, channels);
    const std::vector<float> out = toHost(dOut, count);
    const double perChannel = static_cast<double>(images) * pixels;
    bool ok = true;
    for (int channel = 0; channel < channels; ++channel) {
        double sum = 0.0, squares = 0.0;
        for (int image = 0; image < images; ++image) {
            const float* plane = in.data() + (static_cast<size_t>(image) * channels + channel) * pixels;
            for (int i = 0; i < pixels; ++i) {
                sum += plane[i];
                squares += static_cast<double>(plane[i]) * plane[i];
            }
        }
        const double mean = sum / perChannel;
        const double variance = squares / perChannel - mean * mean;
        const double scale = 1.0 / std::sqrt(variance + kEpsilon);
        ok = ok && near(means[channel], mean, 1e-4) && near(variances[channel], variance, 1e-4);
        for (int image = 0; image < images; ++image) {
            const size_t start = (static_cast<size_t>(image) * channels + channel) * pixels;
            for (int i = 0; i < pixels; ++i) {
                ok = ok && near(out[start + i], (in[start + i] - mean) * scale, 1e-3);
            }
        }
    }
    cudaFree(dIn);
    cudaFree(dMeans);
    cudaFree(dVariances);
    cudaFree(dOut);
    return report(ok, "batch normalisation");
}
