#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

template <typename scalar_t> __device__ __forceinline__ scalar_t sigmoid(scalar_t z) { return 1.0f / (1.0f + expf(-z)); }

template <typename scalar_t>
__global__ void gate_kernel(torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> input,
                            const scalar_t *__restrict__ bias,
                            torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> output)
{
    const int row = blockIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < input.size(1)) output[row][column] = sigmoid(input[row][column] + bias[column]);
}

torch::Tensor gate_cuda(torch::Tensor input, torch::Tensor bias)
{
    const auto rows = input.size(0);
    const auto columns = input.size(1);
    auto output = torch::empty_like(input);
    const int threads = 256;
    const dim3 blocks((columns + threads - 1) / threads, rows);
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "gate", ([&] {
        gate_kernel<scalar_t><<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            input.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            bias.data_ptr<scalar_t>(),
            output.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
    }));
    return output;
}
