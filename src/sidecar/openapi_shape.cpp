#include "sidecar/openapi_shape.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace pillion::sidecar {

namespace {

constexpr std::size_t levels_max = 8;
// Members and values that are looked at; what takes more is no plain value.
constexpr std::size_t looks_max = 4096;

class shape_reader {
 public:
    shape_reader(openapi_document& in, import_budget& budget) : in_(in), budget_(budget) {}

    value_shape read(json::view schema, std::size_t level) {
        value_shape out;
        std::string ignored;
        if (level <= levels_max && look(1)) {
            schema = in_.follow(schema, ignored);
        }
        if (level > levels_max || !look(schema.size())) {
            out.other = true;
            return out;
        }
        const json::view type = schema["type"];
        note_type(type.str(), schema, level, out);
        for (const json::view one : type.elements()) {
            if (!look(1)) {
                break;
            }
            note_type(one.str(), schema, level, out);
        }
        if (out.typed) {
            return out;
        }
        for (const json::view one : schema["enum"].elements()) {
            if (!look(1)) {
                break;
            }
            note_value(one, out);
        }
        note_value(schema["const"], out);
        for (const std::string_view keyword : {"oneOf", "anyOf", "allOf"}) {
            for (const json::view one : schema[keyword].elements()) {
                if (looks_ > looks_max) {
                    break;
                }
                add(read(one, level + 1), out);
            }
        }
        out.other = out.other || schema["properties"].is_object();
        if (schema["items"].exists()) {
            note_type("array", schema, level, out);
        }
        out.typed = out.typed || out.other;
        return out;
    }

 private:
    bool look(std::size_t members) {
        looks_ += 1 + members;
        if (looks_ > looks_max || budget_.steps <= members) {
            looks_ = looks_max + 1;
            return false;
        }
        budget_.steps -= 1 + members;
        return true;
    }

    static void add(const value_shape& from, value_shape& to) {
        to.scalar = to.scalar || from.scalar;
        to.list = to.list || from.list;
        to.other = to.other || from.other;
        to.typed = to.typed || from.typed;
    }

    static void note_value(json::view value, value_shape& to) {
        if (value.exists() && !value.is_null()) {
            const bool nested = value.is_object() || value.is_array();
            (nested ? to.other : to.scalar) = true;
            to.typed = true;
        }
    }

    void note_type(std::string_view name, json::view schema, std::size_t level, value_shape& to) {
        if (name.empty() || name == "null") {
            return;
        }
        to.typed = true;
        if (name == "array") {
            const json::view items = schema["items"];
            const bool plain = !items.is_object() || read(items, level + 1).plain();
            (plain ? to.list : to.other) = true;
        } else if (name == "object") {
            to.other = true;
        } else {
            to.scalar = true;
        }
    }

    openapi_document& in_;
    import_budget& budget_;
    std::size_t looks_ = 0;
};

}  // namespace

value_shape shape_of(openapi_document& in, json::view schema, import_budget& budget) {
    return shape_reader(in, budget).read(schema, 0);
}

}  // namespace pillion::sidecar
