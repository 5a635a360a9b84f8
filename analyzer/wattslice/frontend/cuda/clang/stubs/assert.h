#include "wattslice_std_c.h"
#include "wattslice_assert.h"
