// Precompiled for those builds of the library and the fixture server that are only tested (and, by
// tests.hpp, for larger test programs), but for clang's without debug information (meson.build):
// what most of their files include anyway. The release build of the library does without, so that a
// missing #include shows there. (g++ warns of #pragma once in the file it is called with.)
#ifndef PILLION_TESTS_PCH_LIBRARY_HPP
#define PILLION_TESTS_PCH_LIBRARY_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <coroutine>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pillion/json.hpp>
#include <pillion/server.hpp>

#endif
