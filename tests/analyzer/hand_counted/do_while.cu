// Difficulty: the test comes after the body, so it runs as often as the body.
__global__ void sumEvery(const float* x, float* out, int n, int step) {
    int i = 0;
    float sum = 0.0f;
    do {
        sum += x[i];
        i += step;
    } while (i < n);
    out[threadIdx.x] = sum;
}

void run(const float* x, float* out) { sumEvery<<<1, 32>>>(x, out, 50, 8); }
