// compiler: JSON Schema to program. The rules of keywords that hold values only are in
// compiler.cpp, those that hold subschemas in applicators.cpp.
//
// Thread-safety: no state between calls; for start-up, allocates freely.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

#include "schema/program.hpp"

namespace pillion::schema_check {

// `token` as part of a JSON Pointer.
std::string escape_token(std::string_view token);

// A subschema becomes a block when the queue reaches it, so neither deep schemas nor circles of
// references recurse here.
class compiler {
 public:
    // REQUIRES: out.schema is set, the rest of `out` is empty.
    compiler(program& out, std::string& fault)
        : out_(out), fault_(fault), root_(out.schema->root()) {}

    // Compiles out.schema. False with the fault set when it is malformed.
    bool run();

 private:
    struct pending {
        json::view schema;
        std::string at;
    };
    using rule = bool (compiler::*)(std::string_view keyword, json::view value);
    struct keyword_rule {
        std::string_view keyword;
        rule apply;
    };

    bool compile_block(std::size_t index);
    template <std::size_t Count>
    bool apply(const keyword_rule (&rules)[Count]);
    bool fail(std::string_view keyword, std::string_view message);
    bool block_of(json::view schema, std::string at, std::uint32_t& index);
    bool child(std::string_view keyword, json::view value, std::uint32_t& index);
    bool child_list(std::string_view keyword, json::view value, step& into);
    bool name_list(std::string_view keyword, json::view value, step& into);
    void add(op code, std::size_t a = 0, std::size_t b = 0, std::uint32_t c = no_block);

    bool type(std::string_view keyword, json::view value);
    bool enumeration(std::string_view keyword, json::view value);
    bool constant(std::string_view keyword, json::view value);
    bool bound_rule(std::string_view keyword, json::view value);
    bool multiple_of(std::string_view keyword, json::view value);
    bool count_rule(std::string_view keyword, json::view value);
    bool unique_items(std::string_view keyword, json::view value);
    bool required(std::string_view keyword, json::view value);
    bool dependent_required(std::string_view keyword, json::view value);
    bool dependent_schemas(std::string_view keyword, json::view value);
    bool dependencies(std::string_view keyword, json::view value);
    bool properties();
    bool property_names(std::string_view keyword, json::view value);
    bool items();
    bool contains(std::string_view keyword, json::view value);
    bool combination(std::string_view keyword, json::view value);
    bool negation(std::string_view keyword, json::view value);
    bool condition(std::string_view keyword, json::view value);
    bool reference(std::string_view keyword, json::view value);
    bool annotation(std::string_view keyword, json::view value);
    bool count_of(std::string_view keyword, json::view value, std::uint64_t& count);
    bool find_target(std::string_view ref, json::view& target, std::string& at);
    void find_embedded(json::view value);
    bool find_circle();
    void in_place(const step& one, std::vector<std::uint32_t>& next) const;

    static const keyword_rule before_children[17];
    static const keyword_rule after_children[16];

    program& out_;
    std::string& fault_;
    json::view root_;
    bool draft7_ = false;
    std::vector<pending> queue_;  // block i is made from queue_[i]
    std::map<const json::node*, std::uint32_t> known_;
    std::vector<json::view> embedded_;  // subschemas with an "$id" of their own
    json::view here_;                   // the subschema being compiled
    std::string at_;                    // its pointer
};

}  // namespace pillion::schema_check
