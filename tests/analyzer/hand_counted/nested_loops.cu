// Difficulty: a loop in a loop, trip counts multiply.
__global__ void sumMatrix(const float* a, float* sums, int rows, int cols) {
    float sum = 0.0f;
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            sum += a[i * cols + j];
        }
    }
    sums[threadIdx.x] = sum;
}

void run(const float* a, float* sums) { sumMatrix<<<1, 32>>>(a, sums, 6, 10); }
