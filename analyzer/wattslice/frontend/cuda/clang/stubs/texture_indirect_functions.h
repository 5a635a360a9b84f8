#pragma once  // part of the prelude
