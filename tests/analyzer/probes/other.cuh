#pragma once
__device__ inline int from_header(int i) { return i > 3 ? 1 : 0; }
