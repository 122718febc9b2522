// Catch2 v2 and v3 under one name; INFO, CHECK, SECTION and Approx are the same in both.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
