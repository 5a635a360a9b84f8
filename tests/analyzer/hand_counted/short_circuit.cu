// Difficulty: the right side of && runs only where the left side holds.
__global__ void copyInside(const float* x, float* y, int width, int height) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) {
        y[row * width + col] = x[row * width + col];
    }
    if (col == 0 || row == 0) {
        y[col + row] = 0.0f;
    }
}

void run(const float* x, float* y) {
    dim3 block(16, 4);
    copyInside<<<dim3(2, 3), block>>>(x, y, 20, 10);
}
