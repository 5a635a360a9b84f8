// Difficulty: the grid comes from a helper function.
__host__ __device__ inline int ceilDiv(int a, int b) { return (a + b - 1) / b; }

__global__ void rowMeans(const float* a, float* means, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int start = 0; start < ceilDiv(cols, 4); ++start) {
            sum += a[row * cols + start * 4];
        }
        means[row] = sum;
    }
}

void run(const float* a, float* means) {
    const int rows = 300, cols = 18, threads = 128;
    rowMeans<<<ceilDiv(rows, threads), threads>>>(a, means, rows, cols);
}
