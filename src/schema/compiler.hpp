// compiler: JSON Schema to program. The table of keywords is in compiler.cpp; the rules of keywords
// that hold values only are in assertions.cpp, of those that hold subschemas in applicators.cpp,
// and of references in references.cpp.
//
// Thread-safety: an object for one compilation; for start-up, allocates freely.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <pillion/json.hpp>

#include "schema/catalog.hpp"
#include "schema/program.hpp"

namespace pillion::schema_check {

// A subschema becomes a block when the queue reaches it, so neither deep schemas nor circles of
// references recurse here.
class compiler {
 public:
    // REQUIRES: `out` is empty.
    compiler(program& out, std::string& fault, const compile_options& how);

    // Compiles `schema`. False with the fault set when it is malformed.
    bool run(json::view schema);

 private:
    using rule = bool (compiler::*)(std::string_view keyword, json::view value);
    struct keyword_rule {
        std::string_view keyword;
        std::uint32_t vocabulary;
        bool in_draft7;
        bool in_2020;
        rule apply;
    };
    struct dynamic_use {
        std::string name;
        std::uint32_t jump;
    };

    bool compile_block(std::size_t index);
    bool compile_queue();
    bool keywords();
    bool knows(std::uint32_t vocabulary) const;
    bool fail(std::string_view keyword, std::string_view message);
    bool fail_at(json::view value, std::string_view message);
    bool block_of(const place& target, std::uint32_t& index);
    bool child(json::view value, std::uint32_t& index);
    bool child_list(json::view value, step& into);
    bool name_list(std::string_view keyword, json::view value, step& into);
    void add(op code, std::size_t a = 0, std::size_t b = 0, std::uint32_t c = no_block);

    bool type(std::string_view keyword, json::view value);
    bool enumeration(std::string_view keyword, json::view value);
    bool constant(std::string_view keyword, json::view value);
    bool bound_rule(std::string_view keyword, json::view value);
    bool multiple_of(std::string_view keyword, json::view value);
    bool count_rule(std::string_view keyword, json::view value);
    bool unique_items(std::string_view keyword, json::view value);
    bool pattern_rule(std::string_view keyword, json::view value);
    bool format(std::string_view keyword, json::view value);
    bool dependent_required(std::string_view keyword, json::view value);
    bool dependent_schemas(std::string_view keyword, json::view value);
    bool dependencies(std::string_view keyword, json::view value);
    bool property_names(std::string_view keyword, json::view value);
    bool contains(std::string_view keyword, json::view value);
    bool combination(std::string_view keyword, json::view value);
    bool negation(std::string_view keyword, json::view value);
    bool condition(std::string_view keyword, json::view value);
    bool unevaluated(std::string_view keyword, json::view value);
    bool reference(std::string_view keyword, json::view value);
    bool dynamic_reference(std::string_view keyword, json::view value);
    bool annotation(std::string_view keyword, json::view value);
    bool dialect_rule(std::string_view keyword, json::view value);

    bool objects();
    bool collect_properties(std::vector<property>& found);
    bool collect_required(std::vector<std::string_view>& found);
    void need(std::span<const std::string_view> names, std::vector<property>& found,
              object_rule& made);
    void add_object_rule(object_rule made, std::vector<property>& found);
    bool collect_patterns(object_rule& made);
    bool items();
    bool pattern_of(json::view at, std::string_view text, std::uint32_t& index);
    bool count_of(std::string_view keyword, json::view value, std::uint64_t& count);
    bool add_dynamic_targets(bool& added);
    void finish_dynamics();
    bool find_circle();
    void in_place(const step& one, std::vector<std::uint32_t>& next) const;

    static const keyword_rule rules[];
    static const std::size_t rules_before_children;
    static const std::size_t rules_count;

    program& out_;
    std::string& fault_;
    bool assert_formats_;
    catalog catalog_;
    std::vector<place> queue_;  // block i is made from queue_[i]
    std::unordered_map<const json::node*, std::uint32_t> known_;
    std::map<std::string_view, std::uint32_t> patterns_;
    std::size_t patterns_weight_ = 0;
    std::vector<dynamic_use> dynamic_uses_;
    std::map<std::uint32_t, std::set<std::string>> dynamic_done_;  // by resource
    std::set<std::uint32_t> entered_;                              // resources with a block
    place here_;                                                   // what is being compiled
    dialect speaks_;                                               // its dialect
};

}  // namespace pillion::schema_check
