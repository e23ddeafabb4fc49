#include "sidecar/openapi_operation.hpp"

#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/number.hpp"
#include "json/document.hpp"
#include "schema/validator.hpp"
#include "sidecar/openapi_body.hpp"
#include "sidecar/openapi_parameters.hpp"
#include "sidecar/openapi_schema.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

constexpr std::size_t answers_max = 64;
constexpr std::size_t answer_text_max = 200;
constexpr std::string_view text_schema = R"({"type":"string"})";

class operation_reader {
 public:
    operation_reader(openapi_document& from, import_budget& budget, operation_request& to)
        : from_(from), budget_(budget), schemas_(from, budget), to_(to) {}

    bool read(std::string_view method, std::string_view path, json::view path_item,
              json::view operation, std::string& fault) {
        if (!read_parameters(from_, budget_, path_item, operation, parameters_, fault) ||
            !read_body(from_, budget_, method, operation, body_, fault)) {
            return false;
        }
        name_all();
        to_.http.method = method;
        to_.http.path.clear();
        if (!path_template(path, parameters_, taken_, to_.http.path, fault)) {
            return false;
        }
        place_parameters();
        place_body();
        place_accept(operation["responses"]);
        read_errors(operation["responses"]);
        if (!write_input()) {
            fault = schemas_.fault();
            return false;
        }
        collect_notes();
        return compiles(fault);
    }

 private:
    // The fields of a form are called what they are called; parameters make way.
    void name_all() {
        if (body_.kind == http_spec::body_kind::one || body_.kind == http_spec::body_kind::text) {
            taken_.take(std::string(body_argument));
        }
        for (const form_field& one : body_.fields) {
            taken_.take(std::string(one.name));
        }
        name_arguments(parameters_.all, taken_);
    }

    void place_parameters() {
        for (const openapi_parameter& one : parameters_.all) {
            if (one.in != openapi_parameter::place::path) {
                auto& list =
                    one.in == openapi_parameter::place::query ? to_.http.query : to_.http.headers;
                list.emplace_back(std::string(one.name), "{" + one.argument + "}");
            }
        }
    }

    void place_body() {
        to_.http.sends = body_.kind;
        to_.http.content_type = body_.content_type;
        if (body_.kind == http_spec::body_kind::one) {
            to_.http.body = body_argument;
        } else if (body_.kind == http_spec::body_kind::text) {
            to_.http.body = "{" + std::string(body_argument) + "}";
        }
    }

    // What a good answer may be; JSON where there is a choice.
    void place_accept(json::view responses) {
        std::string_view chosen;
        std::size_t left = answers_max;
        std::string ignored;
        for (const json::member m : responses.members()) {
            if (left-- == 0) {
                break;
            }
            if (!m.key.starts_with('2') && m.key != "default") {
                continue;
            }
            std::size_t types = answers_max;
            for (const json::member media : from_.follow(m.value, ignored)["content"].members()) {
                if (types-- > 0 && is_json_media_type(media.key) &&
                    (chosen.empty() || media.key == "application/json")) {
                    chosen = media.key;
                }
            }
        }
        // What stands behind the type is the document's: neither a place nor a line of its own.
        if (!chosen.empty() && base::is_field_value(chosen) &&
            chosen.find_first_of("{}") == chosen.npos) {
            to_.http.headers.emplace_back("accept", std::string(chosen));
        }
    }

    void read_errors(json::view responses) {
        std::size_t left = answers_max;
        std::string ignored;
        for (const json::member m : responses.members()) {
            if (left-- == 0) {
                break;
            }
            const auto status = m.key.size() == 3 ? base::parse_u64(m.key) : std::nullopt;
            const std::string text =
                one_line(from_.follow(m.value, ignored)["description"].str(), answer_text_max);
            if (status && *status >= 400 && *status < 600 && !text.empty()) {
                to_.http.errors[static_cast<int>(*status)] = text;
            }
        }
    }

    bool survey() {
        for (const openapi_parameter& one : parameters_.all) {
            if (one.schema.exists() && !schemas_.survey(one.schema)) {
                return false;
            }
        }
        for (const form_field& one : body_.fields) {
            if (!schemas_.survey(one.schema)) {
                return false;
            }
        }
        return body_.kind != http_spec::body_kind::one || !body_.schema.exists() ||
               schemas_.survey(body_.schema);
    }

    bool write_parameter(json::builder& b, const openapi_parameter& one) {
        b.key(one.argument);
        schema_use how;
        how.description = one.description;
        how.never_null = true;
        how.any_text = !one.typed;
        if (one.schema.exists()) {
            return schemas_.write(b, one.schema, how);
        }
        b.begin_object().member("type", "string");
        if (!one.description.empty()) {
            b.member("description",
                     cut_text(one.description, openapi_schema::description_bytes_max));
        }
        b.end_object();
        return true;
    }

    bool write_body(json::builder& b) {
        if (body_.kind == http_spec::body_kind::text) {
            b.key(body_argument).raw(text_schema);
        }
        if (body_.kind == http_spec::body_kind::one) {
            b.key(body_argument);
            schema_use how;
            how.description = body_.description;
            if (!body_.schema.exists()) {
                b.value(true);
            } else if (!schemas_.write(b, body_.schema, how)) {
                return false;
            }
        }
        for (const form_field& one : body_.fields) {
            b.key(one.name);
            schema_use how;
            how.never_null = true;
            if (!schemas_.write(b, one.schema, how)) {
                return false;
            }
        }
        return true;
    }

    void write_required(json::builder& b) {
        b.key("required").begin_array();
        for (const openapi_parameter& one : parameters_.all) {
            if (one.required) {
                b.value(one.argument);
            }
        }
        // A text is a template with a place that cannot be missing.
        if ((body_.kind == http_spec::body_kind::one && body_.required) ||
            body_.kind == http_spec::body_kind::text) {
            b.value(body_argument);
        }
        for (const form_field& one : body_.fields) {
            if (one.required) {
                b.value(one.name);
            }
        }
        b.end_array();
    }

    bool write_input() {
        if (!survey()) {
            return false;
        }
        json::builder b;
        b.begin_object().member("type", "object").key("properties").begin_object();
        for (const openapi_parameter& one : parameters_.all) {
            if (!write_parameter(b, one)) {
                return false;
            }
        }
        if (!write_body(b)) {
            return false;
        }
        b.end_object();
        write_required(b);
        b.member("additionalProperties", false);
        if (!schemas_.write_definitions(b)) {
            return false;
        }
        b.end_object();
        to_.input_json = b.text();
        return true;
    }

    void collect_notes() {
        to_.notes = std::move(parameters_.notes);
        to_.notes.insert(to_.notes.end(), body_.notes.begin(), body_.notes.end());
        for (const std::string& one : schemas_.patterns_left_out()) {
            to_.notes.push_back("left out a pattern: " + one);
        }
    }

    // The last word has who will check the arguments.
    bool compiles(std::string& fault) {
        const auto parsed = json::document::parse(to_.input_json);
        if (!parsed) {
            fault = std::string("its schema: ") + parsed.error().detail;
            return false;
        }
        std::string detail;
        if (schema_check::validator::compile(parsed->root(), detail) == nullptr) {
            fault = "its schema is refused: " + one_line(detail, 200);
            return false;
        }
        return true;
    }

    openapi_document& from_;
    import_budget& budget_;
    openapi_schema schemas_;
    operation_request& to_;
    name_set taken_;  // names of arguments
    parameter_list parameters_;
    openapi_body body_;
};

}  // namespace

bool read_operation(openapi_document& from, import_budget& budget, std::string_view method,
                    std::string_view path, json::view path_item, json::view operation,
                    operation_request& to, std::string& fault) {
    return operation_reader(from, budget, to).read(method, path, path_item, operation, fault);
}

}  // namespace pillion::sidecar
