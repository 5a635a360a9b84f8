// Launches one kernel of a cubin: PROGRAM CUBIN VALUES BLOCKS THREADS ITERATIONS. Linked with loop.cpp, which repeats
// the launch. VALUES is a file of 64-bit numbers that the kernel reads. Needs CUDA 12.8 or newer.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

bool failed(const char* doing, cudaError_t status) {
    if (status != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(status));
    }
    return status != cudaSuccess;
}

std::vector<unsigned long long> numbers(const char* path) {
    std::vector<unsigned long long> found;
    if (FILE* file = fopen(path, "rb")) {
        unsigned long long value;
        while (fread(&value, sizeof value, 1, file) == 1) {
            found.push_back(value);
        }
        fclose(file);
    }
    return found;
}

}  // namespace

#define TRY(call)                \
    if (failed(#call, (call))) { \
        return 1;                \
    }

int main(int count, char** arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: CUBIN VALUES BLOCKS THREADS ITERATIONS\n");
        return 2;
    }
    const std::vector<unsigned long long> operands = numbers(arguments[2]);
    const unsigned blocks = atoi(arguments[3]), threads = atoi(arguments[4]);
    unsigned iterations = atoi(arguments[5]);
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *values, *results;
    TRY(cudaMalloc(&values, operands.size() * sizeof operands[0]));
    TRY(cudaMalloc(&results, sizeof(unsigned) * blocks * threads));
    TRY(cudaMemcpy(values, operands.data(), operands.size() * sizeof operands[0], cudaMemcpyHostToDevice));
    TRY(cudaLibraryLoadFromFile(&library, arguments[1], nullptr, nullptr, 0, nullptr, nullptr, 0));
    TRY(cudaLibraryGetKernel(&kernel, library, "chain"));
    void* parameters[] = {&values, &results, &iterations};
    TRY(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads), parameters, 0, nullptr));
    TRY(cudaDeviceSynchronize());
    return 0;
}
