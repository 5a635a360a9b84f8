// Difficulty: the size is a command-line argument with a default.
#include <cstdlib>

__global__ void sumRows(const float* a, float* sums, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        sum += a[row * n + i];
    }
    sums[row] = sum;
}

int main(int argc, char** argv) {
    int n = 64;
    if (argc > 1) {
        n = atoi(argv[1]);
    }
    float *a, *sums;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&sums, n * sizeof(float));
    sumRows<<<n / 32, 32>>>(a, sums, n);
    return cudaDeviceSynchronize() != cudaSuccess;
}
