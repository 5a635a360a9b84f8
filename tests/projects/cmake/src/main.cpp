#include "waves.h"
#include <cuda_runtime.h>

int main(int argc, char **argv)
{
    Options options = parse(argc, argv);
    float *from, *to;
    cudaMalloc((void **)&from, options.cells * sizeof(float));
    cudaMalloc((void **)&to, options.cells * sizeof(float));
    for (int step = 0; step < steps; step++) run(from, to, options);
    return 0;
}
