// Difficulty: mixed types are counted in the converted type.
__global__ void mixed(const float* x, double* y, int n) {
    int i = threadIdx.x;
    double sum = 0.0;
    for (int k = 0; k < n; k += 3) {
        sum += x[k] * 2.0f;
        sum = sum - x[k] * 0.5;
        if (k < 4.5f) {
            sum++;
        }
    }
    y[i] = i * sum;
}

void run(const float* x, double* y) { mixed<<<1, 32>>>(x, y, 20); }
