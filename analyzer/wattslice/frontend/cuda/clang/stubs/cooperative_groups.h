#pragma once
#include "wattslice_cooperative_groups.cuh"
