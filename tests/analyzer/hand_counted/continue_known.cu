// Difficulty: continue skips the rest of the body but not the step.
__global__ void sumNotThird(const float* x, float* out, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        if (i % 3 == 0) {
            continue;
        }
        sum += x[i];
    }
    out[threadIdx.x] = sum;
}

void run(const float* x, float* out) { sumNotThird<<<1, 32>>>(x, out, 20); }
