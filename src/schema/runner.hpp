// runner: one validation of one value against a program.
//
// Recursion follows the schema and the value; it is bounded by depth_max, the work by steps_max.
// The path to the current value is a chain of frames on the stack, turned into text only when
// something is refused.
//
// Thread-safety: an object for one call on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "schema/program.hpp"
#include "schema/validator.hpp"

namespace pillion::schema_check {

class runner {
 public:
    runner(const program& from, base::arena& memory, failure& first) noexcept
        : from_(from), memory_(memory), first_(first) {}

    // Whether `instance` satisfies the root schema; if not, the failure is set.
    bool run(json::view instance) noexcept;

 private:
    // One step from the root to the current value; `key` counts when in_object.
    struct frame {
        const frame* parent = nullptr;
        std::string_view key{};
        std::size_t index = 0;
        bool in_object = false;
        bool declared = true;  // the key is a name of the schema
    };

    bool block_holds(std::uint32_t index, json::view value, const frame* at) noexcept;
    bool step_holds(const step& one, json::view value, const frame* at) noexcept;
    bool value_holds(const step& one, json::view value) noexcept;
    bool bound_holds(const step& one, json::view value) const noexcept;
    bool count_holds(const step& one, json::view value) noexcept;
    bool required(const step& one, json::view value, const frame* at) noexcept;
    bool properties(const step& one, json::view value, const frame* at) noexcept;
    bool property_names(const step& one, json::view value, const frame* at) noexcept;
    bool items(const step& one, json::view value, const frame* at) noexcept;
    bool contains(const step& one, json::view value, const frame* at) noexcept;
    bool unique(json::view value) noexcept;
    bool combine(const step& one, json::view value, const frame* at) noexcept;
    bool condition(const step& one, json::view value, const frame* at) noexcept;
    bool child(const step& one, std::uint32_t index, json::view value, const frame& at) noexcept;
    bool probe(std::uint32_t index, json::view value, const frame* at) noexcept;
    json::view member(json::view object, std::string_view name) noexcept;
    const property* find(const step& one, std::string_view name) const noexcept;
    bool spend(std::size_t steps) noexcept;
    bool fail(op code, const frame* at) noexcept;
    void render_path(const frame* at) noexcept;

    const program& from_;
    base::arena& memory_;
    failure& first_;
    std::size_t steps_left_ = steps_max;
    std::size_t depth_ = 0;
    std::size_t probes_ = 0;  // open probes: failures in them are answers, not reported
    bool exhausted_ = false;
};

}  // namespace pillion::schema_check
