// Difficulty: the last block is only partly used.
__global__ void square(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] * x[i];
    }
}

void run(const float* x, float* y) {
    int n = 1000;
    square<<<(n + 255) / 256, 256>>>(x, y, n);
}
