#pragma once
#include "wattslice_std_c.h"
