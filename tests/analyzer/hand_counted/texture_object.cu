// Difficulty: loads through a texture object.
__global__ void blur(cudaTextureObject_t image, float* out, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            sum += tex2D<float>(image, x + dx, y + dy);
        }
    }
    out[y * width + x] = sum / 9.0f;
}

void run(cudaTextureObject_t image, float* out) { blur<<<dim3(2, 4), dim3(16, 8)>>>(image, out, 32); }
