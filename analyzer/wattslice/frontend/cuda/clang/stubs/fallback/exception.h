#pragma once
#include "helper_cuda.h"
