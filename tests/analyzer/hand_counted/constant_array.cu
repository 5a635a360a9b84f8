// Difficulty: an array and a scalar in constant memory.
__constant__ float weights[9];
__constant__ float bias;

__global__ void convolve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = bias;
    for (int k = 0; k < 9; ++k) {
        sum += weights[k] * x[i + k];
    }
    y[i] = sum * bias;
}

void run(const float* x, float* y) { convolve<<<2, 64>>>(x, y, 128); }
