// Difficulty: a loop that counts down to zero, bounds included.
__global__ void horner(const float* coefficients, const float* x, float* y, int degree) {
    float value = 0.0f;
    for (int i = degree; i >= 0; --i) {
        value = value * x[threadIdx.x] + coefficients[i];
    }
    y[threadIdx.x] = value;
}

void run(const float* coefficients, const float* x, float* y) { horner<<<2, 64>>>(coefficients, x, y, 9); }
