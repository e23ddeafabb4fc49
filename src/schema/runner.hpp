// runner: one validation of one value against a program.
//
// Recursion follows the schema and the value; it is bounded by depth_max, the work by steps_max.
// The path to the current value is a chain of frames on the stack, turned into text only when
// something is refused. Validation goes on behind a refusal until there is no room for more of
// them; inside a probe, whose refusal is an answer, it ends at the first.
//
// Thread-safety: an object for one call on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "schema/equality.hpp"
#include "schema/program.hpp"
#include "schema/reporter.hpp"
#include "schema/validator.hpp"

namespace pillion::schema_check {

class runner {
 public:
    // `errors` is not empty; `count` says how many of them were set.
    runner(const program& from, base::arena& memory, std::span<failure> errors,
           std::size_t& count) noexcept;

    // Whether `instance` satisfies the root schema; if not, at least one error is set.
    bool run(json::view instance) noexcept;

 private:
    // The members or elements of a value that some keyword has looked at, for unevaluated….
    struct marks {
        std::uint64_t* words = nullptr;
        std::size_t count = 0;
        std::uint64_t local = 0;

        void set(std::size_t i) noexcept { words[i / 64] |= std::uint64_t{1} << (i % 64); }
        bool has(std::size_t i) const noexcept { return (words[i / 64] >> (i % 64) & 1) != 0; }
        void set_all() noexcept;
        void merge(const marks& other) noexcept;
    };
    // While parts of a value are looked at, nobody's marks are at hand.
    class hidden_marks {
     public:
        explicit hidden_marks(marks*& current) noexcept : current_(current), kept_(current) {
            current_ = nullptr;
        }
        ~hidden_marks() { current_ = kept_; }
        hidden_marks(const hidden_marks&) = delete;
        hidden_marks& operator=(const hidden_marks&) = delete;
        marks* get() const noexcept { return kept_; }

     private:
        marks*& current_;
        marks* kept_;
    };

    bool block_holds(std::uint32_t index, json::view value, const frame* at) noexcept;
    bool tracked_steps_hold(std::span<const step> steps, json::view value,
                            const frame* at) noexcept;
    bool steps_hold(std::span<const step> steps, json::view value, const frame* at) noexcept;
    bool step_holds(const step& one, json::view value, const frame* at) noexcept;
    bool container_holds(const step& one, json::view value, const frame* at) noexcept;
    bool value_holds(const step& one, json::view value) noexcept;
    bool bound_holds(const step& one, json::view value) noexcept;
    bool length_holds(const step& one, json::view value) noexcept;
    bool among(const step& one, json::view value) noexcept;
    bool dependent_required(const step& one, json::view value, const frame* at) noexcept;
    bool properties(const step& one, json::view value, const frame* at) noexcept;
    bool member_holds(const step& one, const json::member& m, std::uint32_t index, bool declared,
                      const frame* at) noexcept;
    bool by_pattern(const object_rule& rule, const step& one, const json::member& m, bool declared,
                    const frame* at, bool& looked) noexcept;
    bool all_there(const object_rule& rule, std::uint64_t seen, const frame* at) noexcept;
    bool property_names(const step& one, json::view value, const frame* at) noexcept;
    bool pattern_holds(std::uint32_t index, std::string_view text) noexcept;
    bool items(const step& one, json::view value, const frame* at) noexcept;
    bool contains(const step& one, json::view value, const frame* at) noexcept;
    bool unique(json::view value) noexcept;
    bool unevaluated(const step& one, json::view value, const frame* at) noexcept;
    bool all_of(const step& one, json::view value, const frame* at) noexcept;
    bool some_of(const step& one, json::view value, const frame* at) noexcept;
    void explain(const step& one, json::view value, const frame* at) noexcept;
    bool condition(const step& one, json::view value, const frame* at) noexcept;
    bool dynamic_reference(const step& one, json::view value, const frame* at) noexcept;
    // The block of a part of the value. The schema false speaks with the voice of its keyword.
    bool child(const step& one, std::uint32_t index, json::view value, const frame& at) noexcept {
        return from_.blocks[index].never ? fail(one, &at) : block_holds(index, value, &at);
    }
    bool probe(std::uint32_t index, json::view value, const frame* at) noexcept;
    bool branch(std::uint32_t index, json::view value, const frame* at) noexcept;
    void open(marks& made, json::view value) noexcept;
    void close(marks& made) noexcept;
    json::view member(json::view object, std::string_view name) noexcept;
    const property* find(const object_rule& rule, std::string_view name,
                         std::uint32_t hint) const noexcept;
    // Whether a refusal ends what is under way.
    bool ends() const noexcept {
        return probes_ > 0 || reporter_.full() || budget_.exhausted() || too_deep_;
    }
    bool fail(const step& one, const frame* at) noexcept;

    const program& from_;
    scratch scratch_;
    step_budget budget_;
    reporter reporter_;
    std::size_t depth_ = 0;
    std::size_t probes_ = 0;  // open probes
    bool too_deep_ = false;
    bool choosing_ = false;               // among alternatives, to explain one
    const json::node* number_ = nullptr;  // the last one that was compared, and its value
    short_decimal brief_{};
    marks* marks_ = nullptr;           // of the current value, when anybody wants them
    std::uint32_t* scopes_ = nullptr;  // resources that validation is in, when anybody asks
    std::size_t scope_count_ = 0;
};

}  // namespace pillion::schema_check
