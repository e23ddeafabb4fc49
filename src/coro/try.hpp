// Two macros that hand an error on to the caller, one for functions and one for coroutines.
//
//   PILLION_TRY(size, parse_size(text));              // `return` on error, else `size` is the
//   value PILLION_CO_TRY(head, co_await read_head());       // the same with `co_return`
//
// `var` names the value inside a local `var_result`. `expr` is a result<T> other than result<void>;
// inside it the rules for statements with co_await hold (no braces, no ?:).
#pragma once

#include <pillion/result.hpp>

#define PILLION_TRY(var, expr)       \
    auto var##_result = expr;        \
    if (!var##_result) {             \
        return var##_result.error(); \
    }                                \
    auto& var = *var##_result

#define PILLION_CO_TRY(var, expr)       \
    auto var##_result = expr;           \
    if (!var##_result) {                \
        co_return var##_result.error(); \
    }                                   \
    auto& var = *var##_result
