// Difficulty: macros are what they expand to; those of literals fold.
#define WIDTH 16
#define AREA (WIDTH * WIDTH)
#define INDEX(row, col) ((row) * WIDTH + (col))
#define SQUARE(v) ((v) * (v))

__global__ void distances(const float* x, float* y) {
    int tid = threadIdx.x;
    for (int k = 0; k < AREA / 32; ++k) {
        y[INDEX(k, tid)] = SQUARE(x[tid] - x[k]) * (float)AREA;
    }
}

void run(const float* x, float* y) { distances<<<1, WIDTH>>>(x, y); }
