// Difficulty: a value parameter is the trip count, and folds where it stands in a constant expression.
template <int kTaps>
__global__ void movingSum(const float* x, float* y) {
    int i = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 2 * kTaps + 1; ++k) {
        sum += x[i + k];
    }
    y[i] = sum / kTaps;
}

void run(const float* x, float* y) { movingSum<5><<<1, 64>>>(x, y); }
