// The names of Unicode properties in ECMA-262 (table 67 and PropertyValueAliases) and in RE2.
#include <algorithm>
#include <iterator>

#include "schema/ecma_pattern.hpp"

namespace pillion::schema_check {

namespace {

struct alias {
    std::string_view name;
    std::string_view re2;
};

constexpr alias categories[] = {
    {"Letter", "L"},
    {"Cased_Letter", "LC"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Surrogate", "Cs"},
    {"Private_Use", "Co"},
    {"Any", "Any"},
};
// RE2 has neither Cn nor, with it, the whole of C.
constexpr std::string_view short_categories[] = {
    "L",  "LC", "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",
    "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",
    "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co",
};
constexpr alias scripts[] = {
    {"Arab", "Arabic"},     {"Armn", "Armenian"}, {"Beng", "Bengali"},  {"Bopo", "Bopomofo"},
    {"Cher", "Cherokee"},   {"Copt", "Coptic"},   {"Qaac", "Coptic"},   {"Cyrl", "Cyrillic"},
    {"Deva", "Devanagari"}, {"Ethi", "Ethiopic"}, {"Geor", "Georgian"}, {"Grek", "Greek"},
    {"Gujr", "Gujarati"},   {"Guru", "Gurmukhi"}, {"Hang", "Hangul"},   {"Hani", "Han"},
    {"Hebr", "Hebrew"},     {"Hira", "Hiragana"}, {"Kana", "Katakana"}, {"Khmr", "Khmer"},
    {"Knda", "Kannada"},    {"Laoo", "Lao"},      {"Latn", "Latin"},    {"Mlym", "Malayalam"},
    {"Mong", "Mongolian"},  {"Mymr", "Myanmar"},  {"Orya", "Oriya"},    {"Qaai", "Inherited"},
    {"Sinh", "Sinhala"},    {"Syrc", "Syriac"},   {"Taml", "Tamil"},    {"Telu", "Telugu"},
    {"Thaa", "Thaana"},     {"Tibt", "Tibetan"},  {"Yiii", "Yi"},       {"Zinh", "Inherited"},
    {"Zyyy", "Common"},
};

template <std::size_t Count>
std::string_view find(const alias (&table)[Count], std::string_view name) noexcept {
    for (const alias& one : table) {
        if (one.name == name) {
            return one.re2;
        }
    }
    return {};
}

std::string_view category(std::string_view name) noexcept {
    const auto* const found =
        std::find(std::begin(short_categories), std::end(short_categories), name);
    return found != std::end(short_categories) ? *found : find(categories, name);
}

}  // namespace

std::string_view re2_property(std::string_view type, std::string_view name) noexcept {
    if (type.empty()) {
        return category(name);
    }
    if (type == "General_Category" || type == "gc") {
        return name == "Any" ? std::string_view() : category(name);
    }
    if (type == "Script" || type == "sc") {
        const std::string_view long_name = find(scripts, name);
        return long_name.empty() ? name : long_name;
    }
    return {};
}

}  // namespace pillion::schema_check
