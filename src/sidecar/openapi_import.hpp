// openapi_import: an OpenAPI description (3.0, 3.1, 3.2; JSON) as tools, each of which is one
// request to the service described.
//
// A tool is called what its operationId says, as far as that can be a name, else METHOD_path. Its
// arguments are the parameters by their names, and `body`: see openapi_parameters and openapi_body.
// What cannot be offered is skipped, and the report says why. The description may be hostile: what
// it can cost is bounded (openapi_document, import_budget).
//
// Thread-safety: plain data and a function that keeps no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sidecar/http_spec.hpp"

namespace pillion::sidecar {

struct import_options {
    // Patterns of operation_filter. Nothing included means all.
    std::vector<std::string> include;
    std::vector<std::string> exclude;
    // From a pattern that is like one operation to the name of its tool, which is that and nothing
    // else: no prefix.
    std::vector<std::pair<std::string, std::string>> rename;
    std::string prefix;  // of all other names
    std::size_t tools_max = 512;
};

struct imported_tool {
    std::string name;
    std::string title;
    std::string description;
    std::string input_json;
    // RFC 9110 §9.2: what the method promises.
    bool read_only = false;
    bool destructive = false;
    bool idempotent = false;
    bool deprecated = false;  // the description says so as well
    std::string operation;    // "GET /users/{id}"
    http_spec http;           // without its upstream
};

struct import_note {
    enum class kind : std::uint8_t {
        skipped,   // the operation is no tool
        note,      // it is one, but something was left out or may be in the way
        document,  // of no operation
    };
    kind what = kind::note;
    std::string operation;  // "GET /users/{id}", on one line
    std::string reason;     // one line
};

struct openapi_import {
    static constexpr std::size_t operations_max = 10'000;
    static constexpr std::size_t notes_max = 20'000;

    std::vector<imported_tool> tools;  // in the order of the description
    std::vector<import_note> notes;
    std::size_t operations = 0;  // in the description
    std::size_t not_asked = 0;   // by include and exclude
    std::size_t skipped = 0;
    std::string title;
    std::string version;
    // servers[0].url with the defaults of its variables: what an upstream could be, if the operator
    // says none. May be relative (OpenAPI 3.1 §4.8.5); empty when there is none.
    std::string server_url;
};

// "GET /users/{id}: skipped: ...", one line of the report.
std::string describe(const import_note& note);

// False with a fault in words where nothing can be read of it, or the options are wrong.
bool import_openapi(std::string_view json, const import_options& options, openapi_import& to,
                    std::string& fault);

}  // namespace pillion::sidecar
