// Precompiled for the larger test programs.
#ifndef PILLION_TESTS_PCH_TESTS_HPP
#define PILLION_TESTS_PCH_TESTS_HPP

#include <deque>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "library.hpp"

#endif
