// Difficulty: matrix product on a two-dimensional grid built with dim3.
__global__ void matMul(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) {
        sum += a[row * n + k] * b[k * n + col];
    }
    c[row * n + col] = sum;
}

void run(const float* a, const float* b, float* c) {
    const int n = 32;
    dim3 block(16, 8);
    dim3 grid(n / block.x, n / block.y);
    matMul<<<grid, block>>>(a, b, c, n);
}
