#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <kernels.cuh>

int main(int argc, char *argv[])
{
    if (argc < 2) {
        printf("usage: %s SIZE [--repeat N]\n", argv[0]);
        return 1;
    }
    int n = atoi(argv[1]), repeat = 1;
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "--repeat")) repeat = atoi(argv[++i]);
    float *in, *out;
    cudaMalloc(&in, sizeof(float) * n * n);
    cudaMalloc(&out, sizeof(float) * n * n);
    for (int i = 0; i < repeat; i++) transpose(in, out, n);
    cudaDeviceSynchronize();
    return 0;
}
