#include "stencil.cuh"
#include "waves.h"

void run(float *from, float *to, const Options &options)
{
    int blocks = (options.cells + options.threads - 1) / options.threads;
    stencil<RADIUS><<<blocks, options.threads>>>(from, to, options.cells);
}
