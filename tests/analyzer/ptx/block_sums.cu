// The source of block_sums.ptx, which is written by hand.
__global__ void block_sums(const float *x, float *sums, int n) {
  __shared__ float tile[256];
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  tile[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) tile[t] += tile[t + s];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = tile[0];
}
