// Difficulty: the inner trip count depends on the outer counter.
__global__ void sumLower(const double* a, double* out, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
            sum += a[i * n + j];
        }
    }
    out[threadIdx.x] = sum;
}

void run(const double* a, double* out) { sumLower<<<1, 32>>>(a, out, 12); }
