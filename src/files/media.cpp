#include "files/media.hpp"

#include <algorithm>
#include <iterator>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "files/path.hpp"

namespace pillion::files {

namespace {

struct known_type {
    std::string_view extension;
    std::string_view mime;
};

// Sorted by extension.
constexpr known_type known_types[] = {
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"adoc", "text/asciidoc"},
    {"avif", "image/avif"},
    {"bash", "text/x-shellscript"},
    {"bat", "application/x-bat"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"cc", "text/x-c++"},
    {"cfg", "text/plain"},
    {"cjs", "text/javascript"},
    {"cmake", "text/x-cmake"},
    {"conf", "text/plain"},
    {"cpp", "text/x-c++"},
    {"cs", "text/x-csharp"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"cxx", "text/x-c++"},
    {"dart", "text/x-dart"},
    {"diff", "text/x-diff"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"eml", "message/rfc822"},
    {"eot", "application/vnd.ms-fontobject"},
    {"epub", "application/epub+zip"},
    {"erl", "text/x-erlang"},
    {"ex", "text/x-elixir"},
    {"exs", "text/x-elixir"},
    {"flac", "audio/flac"},
    {"geojson", "application/geo+json"},
    {"gif", "image/gif"},
    {"go", "text/x-go"},
    {"gradle", "text/x-gradle"},
    {"graphql", "application/graphql"},
    {"gz", "application/gzip"},
    {"h", "text/x-c"},
    {"heic", "image/heic"},
    {"hh", "text/x-c++"},
    {"hpp", "text/x-c++"},
    {"hs", "text/x-haskell"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"hxx", "text/x-c++"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar"},
    {"ini", "text/plain"},
    {"ipynb", "application/x-ipynb+json"},
    {"jar", "application/java-archive"},
    {"java", "text/x-java"},
    {"jl", "text/x-julia"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"json5", "application/json5"},
    {"jsonl", "application/jsonl"},
    {"jsonld", "application/ld+json"},
    {"jsx", "text/jsx"},
    {"kt", "text/x-kotlin"},
    {"less", "text/x-less"},
    {"log", "text/plain"},
    {"lua", "text/x-lua"},
    {"m4a", "audio/mp4"},
    {"markdown", "text/markdown"},
    {"md", "text/markdown"},
    {"mdx", "text/mdx"},
    {"mid", "audio/midi"},
    {"mjs", "text/javascript"},
    {"mkv", "video/x-matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpeg", "video/mpeg"},
    {"mpg", "video/mpeg"},
    {"ndjson", "application/x-ndjson"},
    {"nix", "text/x-nix"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"parquet", "application/vnd.apache.parquet"},
    {"patch", "text/x-diff"},
    {"pdf", "application/pdf"},
    {"php", "text/x-php"},
    {"pl", "text/x-perl"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"proto", "text/x-protobuf"},
    {"ps1", "text/x-powershell"},
    {"py", "text/x-python"},
    {"r", "text/x-r"},
    {"rar", "application/vnd.rar"},
    {"rb", "text/x-ruby"},
    {"rs", "text/x-rust"},
    {"rst", "text/x-rst"},
    {"rtf", "application/rtf"},
    {"sass", "text/x-sass"},
    {"scala", "text/x-scala"},
    {"scss", "text/x-scss"},
    {"sh", "text/x-shellscript"},
    {"sql", "application/sql"},
    {"sqlite", "application/vnd.sqlite3"},
    {"srt", "application/x-subrip"},
    {"svelte", "text/x-svelte"},
    {"svg", "image/svg+xml"},
    {"swift", "text/x-swift"},
    {"tar", "application/x-tar"},
    {"tex", "text/x-tex"},
    {"tf", "text/x-terraform"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"ts", "text/x-typescript"},
    {"tsv", "text/tab-separated-values"},
    {"tsx", "text/tsx"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain"},
    {"vtt", "text/vtt"},
    {"vue", "text/x-vue"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zig", "text/x-zig"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};
constexpr std::size_t extension_bytes_max = 8;

static_assert(std::is_sorted(std::begin(known_types), std::end(known_types),
                             [](const known_type& a, const known_type& b) {
                                 return a.extension < b.extension;
                             }));

// Appends `value` in decimal, at least `width` digits.
void append_padded(std::string& out, std::int64_t value, std::size_t width) {
    const std::string digits = std::to_string(value);
    out.append(width > digits.size() ? width - digits.size() : 0, '0');
    out.append(digits);
}

}  // namespace

std::string_view mime_by_name(std::string_view path) noexcept {
    const std::string_view name = name_of(path);
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0 || name.size() - dot - 1 > extension_bytes_max) {
        return {};
    }
    char folded[extension_bytes_max];
    const std::string_view extension = name.substr(dot + 1);
    std::transform(extension.begin(), extension.end(), folded, base::to_lower);
    const std::string_view wanted(folded, extension.size());
    const auto* const found = std::lower_bound(
        std::begin(known_types), std::end(known_types), wanted,
        [](const known_type& type, std::string_view text) { return type.extension < text; });
    return found != std::end(known_types) && found->extension == wanted ? found->mime
                                                                        : std::string_view{};
}

std::size_t text_prefix(std::string_view bytes) noexcept {
    return base::utf8::valid_prefix(bytes.substr(0, bytes.find('\0')));
}

bool is_text_start(std::string_view bytes) noexcept {
    const std::size_t good = text_prefix(bytes);
    if (good == bytes.size()) {
        return true;
    }
    const std::string_view rest = bytes.substr(good);
    // A lead byte and what follows it, all of it one bad sequence: the end was cut off.
    const auto lead = static_cast<unsigned char>(rest[0]);
    return lead >= 0xC2 && lead <= 0xF4 && rest.size() < 4 &&
           base::utf8::invalid_length(rest) == rest.size();
}

std::string iso8601(std::int64_t unix_s) {
    constexpr std::int64_t day_s = 86'400;
    constexpr std::int64_t year_0 = -62'167'219'200;
    constexpr std::int64_t year_10000 = 253'402'300'800;
    std::string out;
    if (unix_s < year_0 || unix_s >= year_10000) {
        return out;
    }
    // Days since 1 March of the year -400, so that the leap day ends a year and eras of 400 years
    // end with the calendar's (proleptic Gregorian).
    const std::int64_t days = (unix_s - year_0) / day_s - 60 + 146'097;
    const std::int64_t second = (unix_s - year_0) % day_s;
    const std::int64_t era = days / 146'097;
    const std::int64_t day_of_era = days % 146'097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
    const std::int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    append_padded(out, (era - 1) * 400 + year_of_era + (month <= 2 ? 1 : 0), 4);
    out.push_back('-');
    append_padded(out, month, 2);
    out.push_back('-');
    append_padded(out, day_of_year - (153 * month_from_march + 2) / 5 + 1, 2);
    out.push_back('T');
    append_padded(out, second / 3600, 2);
    out.push_back(':');
    append_padded(out, second / 60 % 60, 2);
    out.push_back(':');
    append_padded(out, second % 60, 2);
    out.push_back('Z');
    return out;
}

}  // namespace pillion::files
