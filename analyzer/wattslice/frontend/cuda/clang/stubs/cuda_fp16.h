#pragma once
#include "wattslice_fp16.cuh"
