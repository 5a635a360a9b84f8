#pragma once
#include "wattslice_posix.h"
