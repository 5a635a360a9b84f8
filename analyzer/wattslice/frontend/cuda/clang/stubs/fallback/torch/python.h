#pragma once
#include "wattslice_torch.h"
