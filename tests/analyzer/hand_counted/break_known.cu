// Difficulty: the loop ends by a break long before its bound.
__global__ void sumUntilSquare(const float* x, float* out, int n, int limit) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        if (i * i > limit) {
            break;
        }
        sum += x[i];
    }
    out[threadIdx.x] = sum;
}

void run(const float* x, float* out) { sumUntilSquare<<<1, 32>>>(x, out, 1000, 150); }
