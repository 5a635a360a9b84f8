// Difficulty: constant expressions cost nothing, conditions that are constant decide nothing.
enum { kColumns = 4 };
constexpr int kRows = 3 * kColumns;

__global__ void folded(float* x) {
    const int base = kRows * kColumns - 1;
    int i = threadIdx.x + (sizeof(float) * kRows + base);
    if (kRows > 10) {
        x[i] = x[i] * (2.0f * 3.0f) + -1.0f;
    }
    for (;;) {
        i += 16 << 2;
        if (i > 1000) {
            break;
        }
        x[i] = kColumns == 4 ? 1.0f : x[0];
    }
}

void run(float* x) { folded<<<1, 32>>>(x); }
