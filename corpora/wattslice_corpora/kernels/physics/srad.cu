// Speckle-reducing anisotropic diffusion (Yu & Acton 2002) of an ultrasound image: one kernel finds the diffusion
// coefficient of every pixel from its gradients, the next one moves the image by the divergence.
// The first holds several divisions, which become long instruction sequences; the second is bound by bandwidth.
// Usage: srad [n] [iterations]
#include "../common.cuh"

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;

// q0Squared: squared coefficient of variation of the speckle, above which a pixel counts as an edge.
__global__ void diffusionCoefficient(const float* __restrict__ image, float* __restrict__ coefficient,
                                     float q0Squared, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) {
        return;
    }
    const int i = y * n + x;
    const float here = image[i];
    const float north = image[max(y - 1, 0) * n + x] - here;
    const float south = image[min(y + 1, n - 1) * n + x] - here;
    const float west = image[y * n + max(x - 1, 0)] - here;
    const float east = image[y * n + min(x + 1, n - 1)] - here;
    const float gradientSquared =
        (north * north + south * south + west * west + east * east) / (here * here);
    const float laplacian = (north + south + west + east) / here;
    const float denominator = 1.0f + 0.25f * laplacian;
    const float qSquared =
        (0.5f * gradientSquared - 0.0625f * laplacian * laplacian) / (denominator * denominator);
    const float c = 1.0f / (1.0f + (qSquared - q0Squared) / (q0Squared * (1.0f + q0Squared)));
    coefficient[i] = fminf(fmaxf(c, 0.0f), 1.0f);
}

__global__ void diffuse(const float* __restrict__ image, const float* __restrict__ coefficient,
                        float* __restrict__ result, float rate, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) {
        return;
    }
    const int i = y * n + x;
    const int below = min(y + 1, n - 1) * n + x;
    const int right = y * n + min(x + 1, n - 1);
    const float here = image[i];
    const float c = coefficient[i];
    const float divergence = c * (image[max(y - 1, 0) * n + x] - here) + coefficient[below] * (image[below] - here) +
                             c * (image[y * n + max(x - 1, 0)] - here) + coefficient[right] * (image[right] - here);
    result[i] = here + 0.25f * rate * divergence;
}

static void diffuseOnHost(std::vector<float>& image, std::vector<float>& coefficient, float q0Squared, float rate,
                          int n) {
    const std::vector<float> before = image;
    const float* pixels = before.data();
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
            const size_t i = static_cast<size_t>(y) * n + x;
            const double here = pixels[i];
            const double north = y > 0 ? pixels[i - n] - here : 0.0;
            const double south = y < n - 1 ? pixels[i + n] - here : 0.0;
            const double west = x > 0 ? pixels[i - 1] - here : 0.0;
            const double east = x < n - 1 ? pixels[i + 1] - here : 0.0;
            const double g = (north * north + south * south + west * west + east * east) / (here * here);
            const double l = (north + south + west + east) / here;
            const double q = (0.5 * g - 0.0625 * l * l) / ((1.0 + 0.25 * l) * (1.0 + 0.25 * l));
            const double c = 1.0 / (1.0 + (q - q0Squared) / (q0Squared * (1.0 + q0Squared)));
            coefficient[i] = static_cast<float>(std::fmin(std::fmax(c, 0.0), 1.0));
        }
    }
    const float* c = coefficient.data();
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
            const size_t i = static_cast<size_t>(y) * n + x;
            const double here = pixels[i];
            double divergence = 0.0;
            divergence += y > 0 ? c[i] * (pixels[i - n] - here) : 0.0;
            divergence += y < n - 1 ? c[i + n] * (pixels[i + n] - here) : 0.0;
            divergence += x > 0 ? c[i] * (pixels[i - 1] - here) : 0.0;
            divergence += x < n - 1 ? c[i + 1] * (pixels[i + 1] - here) : 0.0;
            image[i] = static_cast<float>(here + 0.25 * rate * divergence);
        }
    }
}

int main(int argc, char** argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 2048;
    const int iterations = argc > 2 ? atoi(argv[2]) : 2;
    const size_t count = static_cast<size_t>(n) * n;
    const float rate = 0.5f;
    const float speckle = 0.15f;  // coefficient of variation at the start; it decays with the iterations

    std::vector<float> image(count), coefficient(count);
    for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
            const size_t i = static_cast<size_t>(y) * n + x;
            const float tissue = (x / 64 + y / 64) % 2 == 0 ? 1.0f : 2.5f;
            image[i] = tissue * (0.75f + 0.5f * static_cast<float>(i * 7919 % 1013) / 1013.0f);
        }
    }
    float* dImage = toDevice(image);
    float* dCoefficient = deviceZeros<float>(count);
    float* dResult = deviceZeros<float>(count);

    const dim3 block(kBlockX, kBlockY);
    const dim3 grid((n + kBlockX - 1) / kBlockX, (n + kBlockY - 1) / kBlockY);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        const float q0 = speckle * std::exp(-rate * static_cast<float>(iteration) / 6.0f);
        diffusionCoefficient<<<grid, block>>>(dImage, dCoefficient, q0 * q0, n);
        diffuse<<<grid, block>>>(dImage, dCoefficient, dResult, rate, n);
        std::swap(dImage, dResult);
        diffuseOnHost(image, coefficient, q0 * q0, rate, n);
    }

    const std::vector<float> result = toHost(dImage, count);
    bool ok = true;
    for (size_t i = 0; i < count; ++i) {
        ok = ok && near(result[i], image[i], 1e-4);
    }
    cudaFree(dImage);
    cudaFree(dCoefficient);
    cudaFree(dResult);
    return report(ok, "speckle-reducing anisotropic diffusion");
}
