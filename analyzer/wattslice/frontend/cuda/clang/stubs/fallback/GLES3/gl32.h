#pragma once
#include "../wattslice_graphics.h"
