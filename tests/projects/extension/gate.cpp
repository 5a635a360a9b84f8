#include <torch/extension.h>

torch::Tensor gate_cuda(torch::Tensor input, torch::Tensor bias);

torch::Tensor gate(torch::Tensor input, torch::Tensor bias)
{
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    return gate_cuda(input.contiguous(), bias);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("gate", &gate, "A gate");
}
