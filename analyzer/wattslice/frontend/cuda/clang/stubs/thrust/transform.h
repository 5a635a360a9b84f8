#pragma once
#include "wattslice_thrust.h"
