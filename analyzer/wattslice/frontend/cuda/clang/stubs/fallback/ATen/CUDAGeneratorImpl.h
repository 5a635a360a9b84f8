#pragma once
#include "../torch/wattslice_torch.h"
