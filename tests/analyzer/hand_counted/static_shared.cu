// Difficulty: a static shared array with a halo that only some threads load.
#define THREADS 64
#define RADIUS 2

__global__ void stencil(const float* x, float* y) {
    __shared__ float tile[THREADS + 2 * RADIUS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    int at = threadIdx.x + RADIUS;
    tile[at] = x[i];
    if (threadIdx.x < RADIUS) {
        tile[at - RADIUS] = x[i - RADIUS];
        tile[at + THREADS] = x[i + THREADS];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; ++k) {
        sum += tile[at + k];
    }
    y[i] = sum;
}

void run(const float* x, float* y) { stencil<<<5, THREADS>>>(x, y); }
