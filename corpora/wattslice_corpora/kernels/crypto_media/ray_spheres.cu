// Ray casting of 64 spheres, one pixel per thread: a primary ray looks for the nearest sphere, and where it
// hits, a shadow ray looks for any sphere before the light and stops at the first. The spheres come from
// constant memory, the same for the whole warp; square roots, and branches that follow the picture.
// Usage: ray_spheres [width] [height]
#include "../common.cuh"

constexpr int kSpheres = 64;
constexpr int kSide = 16;
constexpr float kFar = 1e30f;

__constant__ float4 scene[kSpheres];  // centre and radius

__host__ __device__ inline float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__host__ __device__ inline float3 pointOn(float3 origin, float3 direction, float distance) {
    return make_float3(origin.x + distance * direction.x, origin.y + distance * direction.y,
                       origin.z + distance * direction.z);
}

// Distance along the ray to the sphere; kFar when it misses.
__host__ __device__ inline float hitDistance(float4 sphere, float3 origin, float3 direction) {
    const float3 offset = make_float3(sphere.x - origin.x, sphere.y - origin.y, sphere.z - origin.z);
    const float along = dot(offset, direction);
    const float discriminant = along * along - dot(offset, offset) + sphere.w * sphere.w;
    if (discriminant < 0.0f) {
        return kFar;
    }
    const float distance = along - sqrtf(discriminant);
    return distance > 1e-3f ? distance : kFar;
}

__host__ __device__ inline float shade(const float4* spheres, int column, int row, int width, int height) {
    const float3 light = make_float3(0.6f, 0.64f, -0.48f);
    const float3 eye = make_float3(0.0f, 0.0f, -3.0f);
    const float dx = 2.0f * (column + 0.5f) / width - 1.0f;
    const float dy = 2.0f * (row + 0.5f) / height - 1.0f;
    const float length = sqrtf(dx * dx + dy * dy + 4.0f);
    const float3 direction = make_float3(dx / length, dy / length, 2.0f / length);

    float nearest = kFar;
    int hit = 0;
    for (int s = 0; s < kSpheres; ++s) {
        const float distance = hitDistance(spheres[s], eye, direction);
        if (distance < nearest) {
            nearest = distance;
            hit = s;
        }
    }
    if (nearest == kFar) {
        return 0.0f;
    }
    const float3 point = pointOn(eye, direction, nearest);
    const float4 sphere = spheres[hit];
    const float3 outward = make_float3(point.x - sphere.x, point.y - sphere.y, point.z - sphere.z);
    const float lit = dot(outward, light) / sphere.w;
    if (lit <= 0.0f) {
        return 0.1f;
    }
    for (int s = 0; s < kSpheres; ++s) {
        if (s != hit && hitDistance(spheres[s], point, light) < kFar) {
            return 0.1f;
        }
    }
    return 0.1f + 0.9f * lit;
}

__global__ void castRays(float* image, int width, int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        image[row * width + column] = shade(scene, column, row, width, height);
    }
}

int main(int argc, char** argv) {
    const int width = argc > 1 ? atoi(argv[1]) : 1280;
    const int height = argc > 2 ? atoi(argv[2]) : 720;

    std::vector<float4> spheres(kSpheres);
    for (int s = 0; s < kSpheres; ++s) {
        const unsigned hash = s * 2654435761u;
        spheres[s] = make_float4((hash >> 24) / 128.0f - 1.0f, (hash >> 16 & 255) / 128.0f - 1.0f,
                                 (hash >> 8 & 255) / 128.0f - 1.0f, 0.05f + (s % 5) * 0.04f);
    }
    CUDA_CHECK(cudaMemcpyToSymbol(scene, spheres.data(), sizeof(scene)));
    float* dImage = deviceZeros<float>(width * height);
    const dim3 block(kSide, kSide);
    const dim3 grid((width + kSide - 1) / kSide, (height + kSide - 1) / kSide);

    castRays<<<grid, block>>>(dImage, width, height);

    // On the outline of a sphere the rounding of a fused multiply-add decides: few pixels may differ.
    const std::vector<float> image = toHost(dImage, width * height);
    int pixels = 0, differing = 0;
    for (int row = 0; row < height; row += 1 + height / 256) {  // a sample of many rows
        for (int column = 0; column < width; ++column) {
            ++pixels;
            differing +=
                !near(image[row * width + column], shade(spheres.data(), column, row, width, height), 1e-3);
        }
    }
    return report(differing <= 0.01 * pixels, "image");
}
