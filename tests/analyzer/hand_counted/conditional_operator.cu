// Difficulty: ?: evaluates one of its arms.
__global__ void mirror(const float* x, float* y, int n) {
    int i = threadIdx.x;
    int from = i < n ? i : 2 * n - i - 1;
    y[i] = i >= n ? -x[from] : x[from];
}

void run(const float* x, float* y) { mirror<<<1, 128>>>(x, y, 100); }
