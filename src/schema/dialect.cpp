#include "schema/dialect.hpp"

#include <utility>

#include "schema/metaschemas.hpp"
#include "schema/uri.hpp"

namespace pillion::schema_check {

namespace {

// Metaschemas that name a further metaschema as theirs.
constexpr int chain_max = 8;

constexpr std::string_view vocabulary_prefix = "https://json-schema.org/draft/2020-12/vocab/";
constexpr std::pair<std::string_view, vocabulary> vocabulary_names[] = {
    {"core", vocabulary_core},
    {"applicator", vocabulary_applicator},
    {"unevaluated", vocabulary_unevaluated},
    {"validation", vocabulary_validation},
    {"meta-data", vocabulary_meta_data},
    {"format-annotation", vocabulary_format_annotation},
    {"format-assertion", vocabulary_format_assertion},
    {"content", vocabulary_content},
};

std::uint32_t find_vocabulary(std::string_view uri) {
    if (!uri.starts_with(vocabulary_prefix)) {
        return 0;
    }
    uri.remove_prefix(vocabulary_prefix.size());
    for (const auto& [name, bit] : vocabulary_names) {
        if (name == uri) {
            return bit;
        }
    }
    return 0;
}

// Both are met with either scheme.
bool is_metaschema(std::string_view uri, std::string_view metaschema) {
    const auto rest = [](std::string_view text) { return text.substr(text.find(':') + 1); };
    return (uri.starts_with("http:") || uri.starts_with("https:")) && rest(uri) == rest(metaschema);
}

// The core vocabulary cannot be left out (2020-12 core §8.1.2).
bool read_vocabularies(std::string_view uri, json::view vocabularies, dialect& out,
                       std::string& fault) {
    out.draft7 = false;
    out.vocabularies = vocabulary_core;
    for (const json::member m : vocabularies.members()) {
        const std::uint32_t bit = find_vocabulary(m.key);
        if (bit == 0 && m.value.boolean()) {
            fault = "the metaschema " + std::string(uri) + " requires the vocabulary " +
                    std::string(m.key) + ", which is not known";
            return false;
        }
        out.vocabularies |= bit;
    }
    return true;
}

}  // namespace

bool find_dialect(std::string_view uri, find_document find, dialect& out, std::string& fault) {
    std::string at(uri.ends_with('#') ? uri.substr(0, uri.size() - 1) : uri);
    for (int i = 0; i < chain_max; ++i) {
        if (is_metaschema(at, metaschema_2020_12) || is_metaschema(at, metaschema_draft_07)) {
            out = dialect();
            out.draft7 = is_metaschema(at, metaschema_draft_07);
            return true;
        }
        const json::view found = find(at);
        if (!found.is_object()) {
            fault = "the dialect " + at +
                    " is not supported: known are 2020-12, draft-07 and metaschemas that are given"
                    " along";
            return false;
        }
        if (found["$vocabulary"].is_object()) {
            return read_vocabularies(at, found["$vocabulary"], out, fault);
        }
        const std::string_view next = found["$schema"].str();
        at = next.ends_with('#') ? next.substr(0, next.size() - 1) : next;
    }
    fault = "the metaschemas of " + std::string(uri) + " come to no end";
    return false;
}

}  // namespace pillion::schema_check
