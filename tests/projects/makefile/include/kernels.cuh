#pragma once
void transpose(const float *in, float *out, int n);
